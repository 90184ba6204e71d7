/** An MCP server over HTTP in the process of the test, whose tool counts by itself how many calls of a key are under way.
 *  It must never ask the service what it has counted. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { bridge } from './mcp-bridge.ts';

const inputSchema = z.object({
  key: z.string(),
  label: z.string(),
  ms: z.int().min(0).default(0),
  failures: z.int().min(0).default(0).describe('So many calls of this label fail first.'),
});
const FAILURE = { type: 'execution_error', message: 'it fails', retryable: true };

export interface KeyedCall {
  readonly key: string;
  readonly label: string;
  /** Of its key when it began, itself among them. */
  readonly underWay: number;
  readonly beganAt: number;
}

export async function startKeyedServer() {
  const calls: KeyedCall[] = [];
  const underWay = new Map<string, number>();
  const held = new Map<string, Promise<void>>();

  function tools(): McpServer {
    const server = new McpServer({ name: 'keyed', version: '1.0.0' });
    const annotations = { idempotentHint: true };
    server.registerTool('work', { inputSchema, annotations }, async ({ key, label, ms, failures }) => {
      const count = (underWay.get(key) ?? 0) + 1;
      underWay.set(key, count);
      calls.push({ key, label, underWay: count, beganAt: Date.now() });
      await delay(ms);
      await held.get(label);
      underWay.set(key, (underWay.get(key) ?? 0) - 1);
      const isFailed = calls.filter((call) => call.label === label).length <= failures;
      return isFailed
        ? { isError: true, content: [{ type: 'text', text: JSON.stringify(FAILURE) }] }
        : { content: [{ type: 'text', text: label }] };
    });
    return server;
  }

  const handler = createMcpHandler(tools);
  const server = createServer(bridge(handler));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    /** In the order in which they began. */
    calls,
    /** The call of `label` does not end before what is returned is called. */
    hold(label: string): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(label, promise);
      return resolve;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      server.close();
    },
  };
}
