/** A process with a pool of the servers on its command line: calls what it reads on stdin, prints how each call ends.
 *  It must never end by itself: if it is gone, a server brought it down. */
import { createInterface } from 'node:readline';
import { createMcpPool } from '../../../src/mcp/pool.ts';
import type { McpServerOptions } from '../../../src/mcp/server-options.ts';
import { TRACEPARENT } from '../mcp-pool.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';

const print = (line: unknown): void => console.log(JSON.stringify(line));
const servers = JSON.parse(process.argv[2] ?? '[]') as McpServerOptions[];
const pool = createMcpPool({ servers, logger: SILENT });
pool.subscribe({ onStatus: (server, status, error) => print({ server, status, error }) });
pool.start();

createInterface({ input: process.stdin }).on('line', (line) => {
  const [server = '', tool = '', timeoutMs = '20000'] = line.split(' ');
  void call(server, tool, Number(timeoutMs));
});

async function call(server: string, tool: string, timeoutMs: number): Promise<void> {
  const outcome = await pool.call({
    server,
    tool,
    arguments: {},
    signal: new AbortController().signal,
    timeoutMs,
    maxTotalMs: 60_000,
    traceparent: TRACEPARENT,
    idempotencyKey: 'request/directive',
  });
  const end =
    outcome.kind === 'result'
      ? outcome.result.content
      : outcome.kind === 'failed'
        ? outcome.error
        : outcome.questions;
  const rssMb = Math.round(process.resourceUsage().maxRSS / 1024);
  print({ server, tool, end, rssMb });
}
