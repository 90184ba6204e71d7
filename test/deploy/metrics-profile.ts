// The profile `metrics` of the composition: its Prometheus finds every process, and is asked every query of deploy/.
// Must never ask a process for its metrics itself: only what Prometheus has scraped counts.
import type { Composition } from './composition.ts';
import { resultOf } from './prometheus.ts';
import { comparedBy, metricsIn, queriesOfDeployment } from './queries.ts';
import { demand, type Report } from './report.ts';
import { API, ask, ended, runsAgent, submit, until, untilTrue, workersOf } from './service-calls.ts';

const PROMETHEUS = 'http://127.0.0.1:9090';
/** Of calls that last while Prometheus scrapes twice. */
const LONG = { duration: 300, steps: 1 };
const CALLS = 7;

interface Target {
  readonly labels: { readonly job: string };
  readonly health: string;
}
interface Rules {
  readonly data: { readonly groups: readonly { readonly rules: readonly { readonly health: string }[] }[] };
}

export async function startsPrometheus(project: Composition): Promise<void> {
  // Not the whole profile: no package has Grafana.
  project.compose('--profile', 'metrics', 'up', '--detach', '--no-build', '--no-recreate', 'prometheus');
  await untilTargets('adjutant-api 1, adjutant-engine 1, adjutant-worker 2');
  await untilTrue('the evaluation of every rule', async () => {
    const { data } = await asked<Rules>('rules');
    return data.groups.flatMap(({ rules }) => rules).every(({ health }) => health === 'ok');
  });
}

export async function metricsProfile(report: Report): Promise<void> {
  await report.check('Prometheus finds the third worker', () =>
    untilTargets('adjutant-api 1, adjutant-engine 1, adjutant-worker 3'),
  );
  await report.check('Prometheus has counted the redelivery', () =>
    untilTrue('an increase', async () => {
      const [increase] = await resultOf(PROMETHEUS, 'sum(increase(adjutant_redeliveries_total[15m]))');
      return Number(increase?.value[1]) > 0;
    }),
  );
  await report.check(
    'the queries of dashboard, alerts and scaling are answered from the composition',
    answered,
  );
  await report.check('the scaling queries count what waits and runs, in one number', countsWork);
}

async function untilTargets(expected: string): Promise<void> {
  let found = '';
  await untilTrue(`the targets ${expected}`, async () => {
    const { data } = await asked<{ data: { activeTargets: Target[] } }>('targets?state=active');
    const up = data.activeTargets.filter(({ health }) => health === 'up');
    const counted = Object.entries(Object.groupBy(up, ({ labels: { job } }) => job));
    found = counted
      .map(([job, list]) => `${job} ${list?.length}`)
      .toSorted()
      .join(', ');
    return found === expected;
  }).catch((error: Error) => demand(false, `${error.message}; there are ${found}`));
}

async function asked<T>(path: string): Promise<T> {
  return (await (await fetch(`${PROMETHEUS}/api/v1/${path}`)).json()) as T;
}

/** Here no model has a price, no server is lost, and Jaeger takes every trace. */
const NOT_HERE = [
  'adjutant_model_cost_total',
  'adjutant_mcp_reconnects_total',
  'adjutant_telemetry_export_failures_total',
];

/** After a run, a directive that fails and a request that is refused, of processes that are there now. */
async function answered(): Promise<void> {
  const { status } = await ask(`${API}/v1/directives`, { type: 'tool_exec' });
  demand(status === 400, `a directive without a tool was answered with ${status}`);
  await runsAgent('watched');
  await submit('failing', 'everything.echo', {});
  demand((await ended('failing')).status === 'failed', 'a call without its argument did not fail');
  let open = queriesOfDeployment().filter(
    ({ expression }) => !metricsIn(expression).some((name) => NOT_HERE.includes(name)),
  );
  await untilTrue('the answers', async () => {
    const values = await Promise.all(
      open.map(({ expression }) => resultOf(PROMETHEUS, comparedBy(expression))),
    );
    open = open.filter((_, index) => values[index]?.length === 0);
    return open.length === 0;
  }).catch(() => demand(false, `no answer to ${open.map(({ of }) => of).join(', ')}`));
}

/** KEDA takes one number, and only one. */
async function countsWork(): Promise<void> {
  const scaling = queriesOfDeployment().filter(({ of }) => of.startsWith('scaling'));
  demand(scaling.length === 3, `${scaling.length} scaling queries`);
  demand((await workersOf('tool.everything')) === 3, 'a worker is away');
  const tool = 'everything.trigger-long-running-operation';
  for (let call = 1; call <= CALLS; call += 1)
    await submit(`scaled-${call}`, tool, LONG, { request_id: 'scaled' });
  for (const { of, expression } of scaling) {
    const expected = of.includes('models') ? '0' : String(CALLS);
    await until(`${expected} of ${of}`, async () => {
      const values = await resultOf(PROMETHEUS, expression);
      demand(values.length === 1, `${of} has ${values.length} values`);
      return values[0]?.value[1] === expected ? true : null;
    });
  }
  await ask(`${API}/v1/requests/scaled/cancel`, {});
}
