/** The long form of the test of limits by key under kills: `npm run test:flow -- [faults]`, 60 by default.
 *  It must never exit 0 when a limit was exceeded, a call is missing, or a slot is left. */
import { spawnSync } from 'node:child_process';

const DEFAULT_FAULTS = 60;
const TEST = 'test/e2e/flow-killed.test.ts';

const faults = Number(process.argv[2] ?? DEFAULT_FAULTS);
const { status } = spawnSync('npx', ['vitest', 'run', TEST], {
  env: { ...process.env, FLOW_FAULTS: String(faults) },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
