/** `npm test`: the checks and every test; ends with the line `N passed, N failed`. With arguments: only those tests; `--kills`: those of
 *  one kind of kill each, whose place the short chaos run takes otherwise.
 *  It must count a failed check, or an interrupted test run, as failed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHECKS, runChecks } from './checks.ts';
import { ensureConsole, ensureDocs } from './console-freshness.mjs';
import { writeTestProgram } from './test-program.ts';

interface Count {
  readonly passed: number;
  readonly failed: number;
}

/** The part of vitest's JSON report that is read here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

/** Long ones: `npm run test:console`, `npm run test:clients` and `npm run test:redis` have them. */
const OF_THEIR_OWN = [
  'test/clients/go.test.ts',
  'test/clients/python.test.ts',
  'test/console/frame.test.ts',
  'test/console/going-on.test.ts',
  'test/console/inbox.test.ts',
  'test/console/request.test.ts',
  'test/console/long-list.test.ts',
  'test/console/long-log.test.ts',
  'test/console/notices.test.ts',
  'test/console/phone.test.ts',
  'test/console/schedules.test.ts',
  'test/console/spend.test.ts',
  'test/integration/platform/redis/sentinel.test.ts',
];

/** Endings of the tests that each kill or stop one kind of process around one kind of work, or need a whole cluster. Pull requests run them
 *  (.github/workflows); the chaos run kills all kinds at once, and its judge expects the same. */
const KILLS = [
  'killed.test.ts',
  'kills.test.ts',
  'test/e2e/questions-outlive.test.ts',
  'test/e2e/rolling-restart.test.ts',
  'test/e2e/run-restart.test.ts',
  'test/e2e/spans-of-the-dead.test.ts',
  'test/e2e/worker-stopped.test.ts',
  'test/integration/agents/crash.test.ts',
  'test/integration/platform/redis/cluster.test.ts',
];

/** What runs once more on the minor version of BullMQ before the own one. */
const ON_PREVIOUS_BULLMQ = ['test/integration/queue/lane-loop.test.ts'];

const only = process.argv.slice(2);
// Before the tests: several would build them at the same time.
for (const ensure of [ensureConsole, ensureDocs]) ensure(process.cwd(), process.execPath, process.env);
const counts =
  only.length === 0 ? await runAll() : [await (only[0] === '--kills' ? runKills() : runTests(only, {}))];
const sum = (of: keyof Count): number => counts.reduce((total, count) => total + count[of], 0);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') === 0 ? 0 : 1;

/** The checks run beside the tests; what they say comes after those, whose output is long. */
async function runAll(): Promise<Count[]> {
  const program = await writeTestProgram();
  const said: string[] = [];
  const print = (text: string): void => void said.push(text);
  const others = [...OF_THEIR_OWN, ...KILLS].map((ending) => `--exclude=**/*${ending}`);
  const all = await Promise.all([
    runChecks(CHECKS, { atOnce: 1, aside: true, print }),
    runTests(others, { ADJUTANT_TEST_PROGRAM: program, ADJUTANT_TEST_POINTS: 'few' }),
    runTests(ON_PREVIOUS_BULLMQ, { ADJUTANT_TEST_BULLMQ: 'bullmq-previous' }),
  ]);
  console.log(said.join('\n'));
  return all;
}

async function runKills(): Promise<Count> {
  return runTests(KILLS, { ADJUTANT_TEST_PROGRAM: await writeTestProgram() });
}

async function runTests(args: readonly string[], more: Readonly<Record<string, string>>): Promise<Count> {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-test-'));
  const file = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const vitest = spawn('vitest', ['run', ...reporters, ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...more },
  });
  const [status] = (await once(vitest, 'close')) as [number | null];
  const count = countOf(file);
  rmSync(folder, { recursive: true });
  return { passed: count.passed, failed: status !== 0 && count.failed === 0 ? 1 : count.failed };
}

function countOf(file: string): Count {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
    return { passed: report.numPassedTests, failed: report.numFailedTests };
  } catch {
    return { passed: 0, failed: 1 };
  }
}
