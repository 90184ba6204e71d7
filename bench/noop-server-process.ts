/** An MCP server whose tools do nothing: what is left of a call is the way there and back.
 *  It must not validate more than the protocol makes it. Arguments: how long a tool takes, milliseconds; the port of HTTP, default: stdio. */
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import { bridge } from '../test/support/mcp-bridge.ts';

/** The calls of an agent tell their turn: the same call again and again is refused to a model. */
const inputSchema = z.object({ turn: z.int().optional() });
const noop = { description: 'Does nothing.', inputSchema, annotations: { readOnlyHint: true } };

const content = [{ type: 'text' as const, text: 'ok' }];
const [takesMs = 0, port] = process.argv.slice(2).map(Number);

/** Nothing is awaited by a tool that takes no time. */
const answer = takesMs === 0 ? () => ({ content }) : () => pause(takesMs, { content });

function tools(): McpServer {
  const server = new McpServer({ name: 'noop', version: '1.0.0' });
  for (const name of ['noop', 'search', 'read']) server.registerTool(name, noop, answer);
  return server;
}

if (port === undefined) serveStdio(tools);
else createServer(bridge(createMcpHandler(tools))).listen(port, '127.0.0.1', () => console.log('ready'));
