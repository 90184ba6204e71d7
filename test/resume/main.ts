/** The long form of the tests of runs that go on, and of lost answers that are found out: `npm run test:resume -- [--kills 200] [--runs 100] [--outage-ms 90000]`.
 *  It must never exit 0 when a tool acted twice, an answer was paid twice, or a run did not survive the outage. */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    runs: { type: 'string', default: '100' },
    'outage-ms': { type: 'string', default: '90000' },
  },
});

const TESTS = [
  'test/integration/agents/going-on-kills.test.ts',
  'test/integration/service/resume.test.ts',
  'test/integration/features/reconcile/reconcile-kills.test.ts',
];

const { status } = spawnSync('npx', ['vitest', 'run', ...TESTS], {
  env: {
    ...process.env,
    GOING_ON_KILLS: values.kills,
    RECONCILE_KILLS: values.kills,
    OUTAGE_RUNS: values.runs,
    OUTAGE_MS: values['outage-ms'],
  },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
