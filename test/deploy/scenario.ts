// What the running composition must do: answer, survive, grow, be restarted and stop.
// Must never read the journal: only what a user sees, and what podman says.
import { setTimeout as pause } from 'node:timers/promises';
import { backupOf } from './backup.ts';
import type { Composition, Container } from './composition.ts';
import { isStored, PROMETHEUS } from './images.ts';
import { metricsProfile, startsPrometheus } from './metrics-profile.ts';
import { demand, type Report } from './report.ts';
import {
  callsTool,
  ended,
  endsOf,
  runsAgent,
  submit,
  until,
  untilReady,
  untilTrue,
  workersOf,
} from './service-calls.ts';

const JAEGER = 'http://127.0.0.1:16686';
const OURS = ['api', 'engine', 'worker'];

export async function scenario(report: Report, project: Composition): Promise<void> {
  await report.check('the composition starts: redis, api, engine, 2 workers, jaeger', () =>
    startsUp(project),
  );
  await report.check('every container with a health check is healthy', () => areHealthy(project));
  await report.check('the processes are not root, and cannot write to their image', () =>
    areConfined(project),
  );
  await report.check('a tool call through the API has its result', () => callsTool('echo'));
  await report.check('the command line works in a container', () => answersCommands(project));
  await report.check('a run of the default agent ends', () => runsAgent('deploy-run'));
  await report.check('Jaeger has the trace of the call, from the API and a worker', isTraced);
  const isWatched = isStored(PROMETHEUS);
  if (isWatched)
    await report.check('the profile `metrics`: Prometheus finds every process and takes the rules', () =>
      startsPrometheus(project),
    );
  else report.notRun('the profile `metrics`', 'neither a registry nor the program prometheus');
  await report.check('kill -9 of a worker: its directive is redelivered and ends once', () =>
    survivesWorker(project),
  );
  await report.check('kill -9 of Redis: what was acknowledged is there', () => survivesRedis(project));
  await report.check('scaled to 3 workers', () => scales(project));
  if (isWatched) await metricsProfile(report);
  const backup = backupOf(project);
  await report.check('a backup is copied while it works', () => backup.take());
  await report.check('a rolling restart under load loses and repeats nothing', () => rolls(project));
  await report.check('a clean stop: every exit code is 0', () => stops(project));
  await report.check('the backup is restored: what had ended is there, and it works', () => backup.restore());
}

async function startsUp(project: Composition): Promise<void> {
  project.compose('up', '--detach', '--no-build');
  await untilReady();
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

/** As the documents say to an operator. */
function answersCommands(project: Composition): void {
  const [api] = project.containers('api');
  const run = (verb: string): string => project.exec(api as Container, 'node', 'scripts/adjutant.mjs', verb);
  const listed = run('workers').trim().split('\n');
  demand(listed.length === 1 + 4, `an API, an engine and 2 workers are there:\n${listed.join('\n')}`);
  demand(run('lanes').includes('tool.everything'), 'the lane is not listed');
  run('doctor');
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
  await untilReady();
  demand((await ended('echo')).status === 'succeeded', 'an acknowledged result is gone');
  await callsTool('after');
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

/** In the order of Docker Compose: what depends on others stops before them. podman-compose stops all at once. */
function stops(project: Composition): void {
  const all = project.containers();
  project.compose('stop', ...OURS);
  // What was scaled up is not known to it.
  const ours = all.filter(({ service }) => OURS.includes(service));
  for (const container of [...ours, ...all]) project.stop(container);
  const codes = all.map((container) => `${container.name} ${project.stateOf(container).exitCode}`);
  demand(
    codes.every((line) => line.endsWith(' 0')),
    codes.join(', '),
  );
}
