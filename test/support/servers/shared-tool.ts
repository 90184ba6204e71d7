/** An MCP server whose one tool two tenants share: it answers at once, after a while, with many bytes, or with an error.
 *  It must not keep anything between calls. */
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const inputSchema = z.looseObject({
  delay_ms: z.int().min(0).max(10_000).default(0),
  bytes: z.int().min(1).max(1_000_000).default(1),
  fails: z.boolean().default(false),
});

serveStdio(() => {
  const server = new McpServer({ name: 'shared', version: '1.0.0' });
  const tool = { description: 'Answers.', inputSchema, annotations: { readOnlyHint: true } };
  server.registerTool('answer', tool, async ({ delay_ms, bytes, fails }) => {
    if (delay_ms > 0) await delay(delay_ms);
    return { isError: fails, content: [{ type: 'text', text: 'x'.repeat(bytes) }] };
  });
  return server;
});
