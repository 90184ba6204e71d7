/** A process with a pool and one stdio server, for tests that kill it.
 *  It must never stop the pool by itself. */
import { createMcpPool } from '../../../src/mcp/pool.ts';
import { everything } from '../mcp-servers.ts';

const silent = (): void => {};
const pool = createMcpPool({
  servers: [everything()],
  logger: {
    debug: silent,
    warn: silent,
    info: (fields) => console.log(`server ${String(fields['pid'])}`),
  },
});
pool.start();
