/** A server on the SDK's second generation, speaking the stateless protocol over stdio or HTTP.
 *  It must never serve the legacy handshake unasked: a client that reaches it negotiated the modern one.
 *  PEER_LOG names a file for its events; with PEER_LEGACY=serve it also serves the handshake over stdio;
 *  with PEER_GROWS=unseen it has one more tool, unannounced, once it has listed them over HTTP. */
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const events: string[] = [];
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
  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once('close', () => gone.abort());
    const hasBody = incoming.method === 'POST';
    const request = new Request(`http://127.0.0.1${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: incoming.headers as Record<string, string>,
      signal: gone.signal,
      ...(hasBody ? { body: Readable.toWeb(incoming) as globalThis.ReadableStream, duplex: 'half' } : {}),
    } as RequestInit);
    const isList = incoming.headers['mcp-method'] === 'tools/list' && process.env['PEER_GROWS'] === 'unseen';
    if (isList) outgoing.once('finish', () => (grown = true));
    void handler.fetch(request).then((response) => {
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body === null) outgoing.end();
      else
        Readable.fromWeb(response.body as ReadableStream)
          .on('error', () => {})
          .pipe(outgoing);
    });
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
