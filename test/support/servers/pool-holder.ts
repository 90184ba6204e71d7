/** A process with a pool and one stdio server, for tests that kill it.
 *  It must never stop the pool by itself. */
import { createMcpPool } from '../../../src/mcp/pool.ts';
import { everything } from '../mcp-servers.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';

const pool = createMcpPool({
  servers: [everything()],
  logger: {
    ...SILENT,
    info: (fields) => console.log(`server ${String(fields['pid'])}`),
  },
});
pool.start();
