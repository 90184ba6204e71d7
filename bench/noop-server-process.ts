/** An MCP server over stdio whose one tool does nothing: what is left of a call is the way there and back.
 *  It must not validate more than the protocol makes it. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const noop = { description: 'Does nothing.', inputSchema: z.object({}), annotations: { readOnlyHint: true } };

serveStdio(() => {
  const server = new McpServer({ name: 'noop', version: '1.0.0' });
  server.registerTool('noop', noop, () => ({ content: [{ type: 'text', text: 'ok' }] }));
  return server;
});
