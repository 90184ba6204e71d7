/** A server on the SDK's second generation, speaking the stateless protocol over stdio or HTTP.
 *  It must never serve the legacy handshake unasked: a client that reaches it negotiated the modern one.
 *  PEER_LOG names a file for its events; with PEER_LEGACY=serve it also serves the handshake over stdio;
 *  with PEER_GROWS=unseen it has one more tool, unannounced, once it has listed them over HTTP. */
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import { bridge } from '../mcp-bridge.ts';

const events: string[] = [];
/** Between two beats, milliseconds: a host may begin to listen after the first of them. */
const BEAT_MS = 10;
let grown = false;
let announce = (): void => {};

function record(event: string): void {
  events.push(event);
  const file = process.env['PEER_LOG'];
  if (file !== undefined) appendFileSync(file, `${event}\n`);
}

function text(value: string): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text: value }] };
}

function createPeer(): McpServer {
  const server = new McpServer(
    { name: 'modern-peer', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Use add for sums.\u0007' },
  );
  const sum = z.object({ a: z.number(), b: z.number() });
  server.registerTool('add', { inputSchema: sum, annotations: { idempotentHint: true } }, ({ a, b }) =>
    text(String(a + b)),
  );
  server.registerTool('events', {}, () => text(JSON.stringify(events)));
  server.registerTool('meta', {}, (ctx) => text(JSON.stringify(ctx.mcpReq._meta)));
  server.registerTool('wait', {}, async (ctx) => {
    record('waiting');
    return new Promise((_, reject) => {
      const cancelled = (): void => {
        record('cancelled');
        reject(new Error('cancelled'));
      };
      if (ctx.mcpReq.signal.aborted) cancelled();
      else ctx.mcpReq.signal.addEventListener('abort', cancelled);
    });
  });
  server.registerTool('beat', { inputSchema: z.object({ beats: z.number() }) }, async ({ beats }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= beats; progress += 1) {
      await ctx.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: beats },
      });
      await pause(BEAT_MS);
    }
    return text('done');
  });
  server.registerTool('grow', {}, () => {
    grown = true;
    announce();
    return text('extra-1');
  });
  if (grown) server.registerTool('extra-1', {}, () => text('extra'));
  return server;
}

function serveHttp(): void {
  const handler = createMcpHandler(createPeer, { legacy: 'reject' });
  announce = () => handler.notify.toolsChanged();
  const answer = bridge(handler);
  const server = createServer((incoming, outgoing) => {
    const isList = incoming.headers['mcp-method'] === 'tools/list' && process.env['PEER_GROWS'] === 'unseen';
    if (isList) outgoing.once('finish', () => (grown = true));
    answer(incoming, outgoing);
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stderr.write(`loopback port ${typeof address === 'object' ? address?.port : ''}\n`);
  });
}

if (process.argv[2] === 'http') {
  serveHttp();
} else {
  serveStdio(
    () => {
      const server = createPeer();
      announce = () => {
        server.registerTool('extra-1', {}, () => text('extra'));
      };
      return server;
    },
    process.env['PEER_LEGACY'] === 'serve' ? {} : { legacy: 'reject' },
  );
}
