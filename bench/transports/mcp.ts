/** The floor: the MCP call alone, from our pool to a server over stdio or HTTP, with nothing durable around it.
 *  It must end the server's process where it has started it. */
import { fileURLToPath } from 'node:url';
import { createMcpPool } from '../../src/mcp/pool.ts';
import type { Target, Transport } from '../transport.ts';
import { SILENT } from '../../src/platform/telemetry/logger.ts';

/** Longer than any call of a benchmark takes. */
const LIMIT_MS = 60_000;

const SERVER = fileURLToPath(new URL('../noop-server-process.ts', import.meta.url));

/** `baseUrl` empty: over stdio. */
export async function openMcp({ baseUrl }: Pick<Target, 'baseUrl'>): Promise<Transport> {
  const transport =
    baseUrl === ''
      ? ({ kind: 'stdio', command: process.execPath, args: [SERVER], env: {} } as const)
      : ({ kind: 'http', url: baseUrl, headers: {} } as const);
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
