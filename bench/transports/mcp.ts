/** The floor: the MCP call alone, from our pool to a server over stdio, with nothing durable around it.
 *  It must end the server's process. */
import { fileURLToPath } from 'node:url';
import { createMcpPool } from '../../src/mcp/pool.ts';
import type { Transport } from '../transport.ts';
import { SILENT } from '../../src/platform/telemetry/logger.ts';

/** Longer than any call of a benchmark takes. */
const LIMIT_MS = 60_000;

const SERVER = fileURLToPath(new URL('../noop-server-process.ts', import.meta.url));

export async function openMcp(): Promise<Transport> {
  const transport = { kind: 'stdio', command: process.execPath, args: [SERVER], env: {} } as const;
  const { promise: listed, resolve } = Promise.withResolvers<void>();
  const pool = createMcpPool({ servers: [{ name: 'noop', transport }], logger: SILENT });
  pool.subscribe({ onTools: () => resolve() });
  pool.start();
  await listed;
  const { signal } = new AbortController();
  return {
    operation: async (index) => {
      const outcome = await pool.call({
        server: 'noop',
        tool: 'noop',
        arguments: {},
        signal,
        timeoutMs: LIMIT_MS,
        maxTotalMs: LIMIT_MS,
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        idempotencyKey: String(index),
      });
      if (outcome.kind === 'failed') throw new Error(outcome.error.message);
    },
    close: async () => pool.stop(),
  };
}
