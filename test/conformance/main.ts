/** `npm run test:conformance`: the official conformance suite against the pool and `/mcp`, and clients of strangers.
 *  It must never count a scenario as passed that is not in the suite any more, nor hide one that fails unexpectedly. */
import { startFixtureService } from './fixture-service.ts';
import { requiredOfServers, type ServerRun, serverRuns, suiteRun } from './suite-run.ts';
import { AUTH_NOT_PASSED, AUTH_SCENARIOS } from './auth-scenarios.ts';
import { NOT_PASSED, SCENARIOS } from './scenarios.ts';
import { asAuthorizationServer } from './authorization.ts';
import { withStrangers } from './strangers.ts';
import { refusalsOf, REVISIONS, unexpectedOf } from './server-scenarios.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Resolves with what has to be looked at. */
async function asClient(scenarios: readonly string[]): Promise<string[]> {
  print('\nAdjutant as a client');
  const unexpected: string[] = [];
  for (const scenario of scenarios) {
    const { passed, summary, output } = await suiteRun(scenario);
    const why = NOT_PASSED[scenario] ?? AUTH_NOT_PASSED[scenario];
    print(`${passed ? 'passed' : 'NOT PASSED'}  ${scenario}  ${summary}`);
    if (!passed && why !== undefined) print(`            expected: ${why}`);
    if (passed !== (why !== undefined)) continue;
    unexpected.push(`${scenario} did not end as test/conformance/scenarios.ts says.`);
    print(output);
  }
  return unexpected;
}

async function asServer(): Promise<string[]> {
  await using service = await startFixtureService();
  const all: ServerRun[] = [];
  const missing: string[] = [];
  for (const revision of REVISIONS) {
    const runs = await serverRuns(service.url, revision);
    const required = await requiredOfServers(revision);
    printRevision(revision, runs, required);
    const ran = new Set(runs.map(({ scenario }) => scenario));
    missing.push(...required.filter((name) => !ran.has(name)).map((name) => `${name} has not run`));
    all.push(...runs);
  }
  return [...missing, ...unexpectedOf(all)];
}

function printRevision(revision: string, runs: readonly ServerRun[], required: readonly string[]): void {
  print(`\nAdjutant as a server, ${revision}`);
  for (const run of runs) {
    const { scenario, failed, passed, checks, output } = run;
    const isRequired = required.includes(scenario) ? '' : ' (not required)';
    const verdict = failed.length > 0 ? 'NOT PASSED' : passed > 0 ? 'passed' : 'skipped by the suite';
    print(`${verdict}  ${scenario}${isRequired}  ${passed} of ${checks} checks`);
    for (const why of refusalsOf(run))
      print(`            ${why === 'NOT EXPECTED' ? output : `expected: ${why}`}`);
  }
  const met = runs.filter(({ scenario, failed }) => required.includes(scenario) && failed.length === 0);
  print(`${met.length} of ${required.length} required scenarios`);
}

const asked = process.argv.slice(2);
const SIDES = ['client', 'server', 'authorization', 'strangers'];
const sides = asked.length === 0 ? SIDES : asked;
const scenarios = sides.includes('client')
  ? [...SCENARIOS, ...AUTH_SCENARIOS]
  : sides.filter((name) => !SIDES.includes(name));
const unexpected = [
  ...(scenarios.length > 0 ? await asClient(scenarios) : []),
  ...(sides.includes('server') ? await asServer() : []),
  ...(sides.includes('authorization') ? await asAuthorizationServer(print) : []),
  ...(sides.includes('strangers') ? await withStrangers(print) : []),
];
for (const line of unexpected) print(line);
process.exitCode = unexpected.length === 0 ? 0 : 1;
