/** An MCP server over stdio whose one tool does nothing: what is left of a call is the way there and back.
 *  It must not validate more than the protocol makes it. Argument: how long the tool takes, milliseconds; default: 0. */
import { setTimeout as pause } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const noop = { description: 'Does nothing.', inputSchema: z.object({}), annotations: { readOnlyHint: true } };

const content = [{ type: 'text' as const, text: 'ok' }];
const takesMs = Number(process.argv[2] ?? 0);

/** Nothing is awaited by a tool that takes no time. */
const answer = takesMs === 0 ? () => ({ content }) : () => pause(takesMs, { content });

serveStdio(() => {
  const server = new McpServer({ name: 'noop', version: '1.0.0' });
  server.registerTool('noop', noop, answer);
  return server;
});
