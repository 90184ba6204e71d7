/** An MCP server over stdio whose one tool takes as long as its caller says, and answers with the instant at which it began.
 *  It must not validate more than the protocol makes it. */
import { setTimeout as pause } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const inputSchema = z.object({ ms: z.int().min(0) });

serveStdio(() => {
  const server = new McpServer({ name: 'paced', version: '1.0.0' });
  server.registerTool('work', { inputSchema, annotations: { idempotentHint: true } }, ({ ms }) => {
    const beganAt = performance.timeOrigin + performance.now();
    return pause(ms, { content: [{ type: 'text', text: String(beganAt) }] });
  });
  return server;
});
