// What the running composition must do: answer, survive, grow, be restarted and stop.
// Must never read the journal: only what a user sees, and what podman says.
import { setTimeout as pause } from 'node:timers/promises';
import type { Composition, Container } from './composition.ts';
import { demand, type Report } from './report.ts';

const API = 'http://127.0.0.1:7420';
const JAEGER = 'http://127.0.0.1:16686';
const LONGEST_MS = 120_000;
const LONGEST_ANSWER_MS = 30_000;
const OURS = ['api', 'engine', 'worker'];

interface DirectiveView {
  readonly trace_id?: string;
  readonly status: string;
  readonly redeliveries: number;
  readonly attempts: number;
  readonly result: { readonly type: string } | null;
}

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** Asks again while nobody listens: a role may be restarting. */
async function ask<T>(url: string, body?: unknown): Promise<Answer<T>> {
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return until(`an answer of ${url}`, async () => {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(LONGEST_ANSWER_MS) });
    const read = { status: answer.status, body: (await answer.json()) as T };
    return answer.status >= 500 ? null : read;
  });
}

/** Repeats until it is not null; a rejection counts as null. */
async function until<T>(what: string, read: () => Promise<T | null>): Promise<T> {
  const endsAt = performance.now() + LONGEST_MS;
  let last = '';
  while (performance.now() < endsAt) {
    const found = await read().catch((error: Error) => void (last = error.message));
    if (found !== null && found !== undefined) return found;
    await pause(100);
  }
  throw new Error(`${what}: not within ${LONGEST_MS / 1_000} s ${last}`);
}

async function untilTrue(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await until(what, async () => ((await holds()) ? true : null));
}

async function submit(id: string, tool: string, args: object, more: object = {}): Promise<void> {
  const directive = {
    type: 'tool_exec',
    request_id: 'deploy',
    id,
    tool_name: tool,
    arguments: args,
    ...more,
  };
  const { status, body } = await ask(`${API}/v1/directives`, directive);
  demand(status === 202, `${id} was not accepted: ${status} ${JSON.stringify(body)}`);
}

async function ended(id: string): Promise<DirectiveView> {
  return until(`the end of ${id}`, async () => {
    const { status, body } = await ask<DirectiveView>(
      `${API}/v1/requests/deploy/directives/${id}?wait_ms=10000`,
    );
    return status === 200 && body.result !== null ? body : null;
  });
}

/** How many signals end the directive. */
async function endsOf(id: string): Promise<number> {
  const { body } = await ask<{ signals: { type: string; directive_id?: string; data?: unknown }[] }>(
    `${API}/v1/requests/deploy/signals?limit=1000`,
  );
  const ends = new Set(['ai.tool.result', 'ai.tool.error']);
  return body.signals.filter((signal) => ends.has(signal.type) && JSON.stringify(signal).includes(`"${id}"`))
    .length;
}

async function workersOf(lane: string): Promise<number> {
  const { body } = await ask<{ lanes: { name: string; workers: number }[] }>(`${API}/v1/lanes`);
  return body.lanes.find(({ name }) => name === lane)?.workers ?? 0;
}

export async function scenario(report: Report, project: Composition): Promise<void> {
  await report.check('the composition starts: redis, api, engine, 2 workers, jaeger', () =>
    startsUp(project),
  );
  await report.check('every container with a health check is healthy', () => areHealthy(project));
  await report.check('the processes are not root, and cannot write to their image', () =>
    areConfined(project),
  );
  await report.check('a tool call through the API has its result', callsTool);
  await report.check('a run of the default agent ends', runsAgent);
  await report.check('Jaeger has the trace of the call, from the API and a worker', isTraced);
  await report.check('kill -9 of a worker: its directive is redelivered and ends once', () =>
    survivesWorker(project),
  );
  await report.check('kill -9 of Redis: what was acknowledged is there', () => survivesRedis(project));
  await report.check('scaled to 3 workers', () => scales(project));
  await report.check('a rolling restart under load loses and repeats nothing', () => rolls(project));
  await report.check('a clean stop: every exit code is 0', () => stops(project));
}

async function startsUp(project: Composition): Promise<void> {
  project.compose('up', '--detach', '--no-build');
  await until('/readyz', async () => ((await fetch(`${API}/readyz`)).ok ? true : null));
  const counted = Object.entries(Object.groupBy(project.containers(), ({ service }) => service));
  const found = counted
    .map(([service, list]) => `${service} ${list?.length}`)
    .toSorted()
    .join(', ');
  demand(found === 'api 1, engine 1, jaeger 1, redis 1, worker 2', `it started ${found}`);
  await untilTrue('2 workers on the lane', async () => (await workersOf('tool.everything')) === 2);
}

async function areHealthy(project: Composition): Promise<void> {
  const checked = project.containers().filter(({ service }) => service !== 'jaeger');
  for (const container of checked)
    await untilTrue(`the health of ${container.name}`, () => project.isHealthy(container));
}

function areConfined(project: Composition): void {
  for (const container of project.containers().filter(({ service }) => OURS.includes(service))) {
    demand(project.exec(container, 'id', '-u').trim() === '1000', `${container.name} has another user`);
    const written = project.exec(
      container,
      'sh',
      '-c',
      'touch /app/x 2>/dev/null && echo written || echo refused',
    );
    demand(written.trim() === 'refused', `${container.name} can write to /app`);
  }
}

async function callsTool(): Promise<void> {
  await submit('echo', 'everything.echo', { message: 'hello' });
  const { status, result } = await ended('echo');
  demand(status === 'succeeded' && JSON.stringify(result).includes('hello'), `it ended as ${status}`);
}

async function runsAgent(): Promise<void> {
  const start = { request_id: 'deploy-run', agent: 'default', query: 'What is 17*23?' };
  const { status } = await ask(`${API}/v1/requests`, start);
  demand(status === 202, `the run was not accepted: ${status}`);
  const run = await until('the end of the run', async () => {
    const { body } = await ask<{ status: string; run?: { status: string } }>(`${API}/v1/requests/deploy-run`);
    return body.status === 'closed' ? (body.run ?? null) : null;
  });
  demand(run.status === 'completed', `the run ended as ${run.status}`);
}

async function isTraced(): Promise<void> {
  const { trace_id: traceId } = await ended('echo');
  const instances = await until('the spans of the trace', async () => {
    const answer = await fetch(`${JAEGER}/api/traces/${traceId}`);
    const { data } = (await answer.json()) as { data: { processes: Record<string, unknown> }[] };
    const processes = Object.keys(data[0]?.processes ?? {});
    return processes.length >= 2 ? processes : null;
  });
  demand(instances.length === 2, `${instances.length} processes are in the trace`);
}

async function survivesWorker(project: Composition): Promise<void> {
  await submit(
    'long',
    'everything.trigger-long-running-operation',
    { duration: 10, steps: 10 },
    { effect: 'read' },
  );
  const busy = await until(
    'the worker that runs it',
    async () => project.containers('worker').find((worker) => runningIn(project, worker) === 1) ?? null,
  );
  process.kill(project.stateOf(busy).pid, 'SIGKILL');
  const { status, redeliveries } = await ended('long');
  demand(status === 'succeeded' && redeliveries === 1, `${status} after ${redeliveries} redeliveries`);
  demand((await endsOf('long')) === 1, 'it did not end once');
  await untilTrue('the restart of the worker', () => {
    const { isRunning, restarts } = project.stateOf(busy);
    return isRunning && restarts === 1;
  });
  await untilTrue('2 workers on the lane', async () => (await workersOf('tool.everything')) === 2);
}

/** Attempts under way in this worker, by its own metrics. */
function runningIn(project: Composition, worker: Container): number {
  const read = `fetch('http://127.0.0.1:7421/metrics').then((answer) => answer.text())
    .then((text) => console.log(/^adjutant_attempts_running (\\d+)/m.exec(text)?.[1]))`;
  return Number(project.exec(worker, 'node', '-e', read));
}

async function survivesRedis(project: Composition): Promise<void> {
  const [redis] = project.containers('redis');
  const { pid } = project.stateOf(redis as Container);
  process.kill(pid, 'SIGKILL');
  await untilTrue('the restart of Redis', () => {
    const state = project.stateOf(redis as Container);
    return state.isRunning && state.pid !== pid;
  });
  await until('/readyz', async () => ((await fetch(`${API}/readyz`)).ok ? true : null));
  demand((await ended('echo')).status === 'succeeded', 'an acknowledged result is gone');
  await submit('after', 'everything.echo', { message: 'after' });
  demand((await ended('after')).status === 'succeeded', 'a call after it failed');
}

async function scales(project: Composition): Promise<void> {
  project.compose('up', '--detach', '--no-build', '--no-recreate', '--scale', 'worker=3', 'worker');
  await untilTrue('3 workers on the lane', async () => (await workersOf('tool.everything')) === 3);
}

async function rolls(project: Composition): Promise<void> {
  const stop = new AbortController();
  const submitted: string[] = [];
  const load = (async () => {
    while (!stop.signal.aborted) {
      const id = `rolling-${submitted.length}`;
      await submit(id, 'everything.echo', { message: id });
      submitted.push(id);
      await pause(50);
    }
  })();
  for (const service of ['worker', 'engine', 'api'])
    for (const container of project.containers(service)) {
      project.restart(container);
      await untilTrue(`the health of ${container.name}`, () => project.isHealthy(container));
    }
  stop.abort();
  await load;
  for (const id of submitted) {
    const { status, attempts } = await ended(id);
    demand(status === 'succeeded' && attempts === 1, `${id} ended as ${status} after ${attempts} attempts`);
  }
  demand(submitted.length > 10, `only ${submitted.length} calls were made`);
}

function stops(project: Composition): void {
  const all = project.containers();
  project.compose('stop');
  // What was scaled up is not known to it.
  const left = all.filter((container) => project.stateOf(container).isRunning);
  demand(left.length <= 1, `${left.map(({ name }) => name).join(', ')} still run`);
  for (const container of left) project.stop(container);
  const codes = all.map((container) => `${container.name} ${project.stateOf(container).exitCode}`);
  demand(
    codes.every((line) => line.endsWith(' 0')),
    codes.join(', '),
  );
}
