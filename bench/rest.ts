/** `npm run bench -- --only rest`: each role from its start until it is ready, and its memory when it does nothing.
 *  It must judge a start by processor time too: on a busy machine it takes longer than it works. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { table } from '../src/cli/table.ts';
import { freePort } from '../test/support/process.ts';
import type { TestRedis } from '../test/support/redis.ts';
import { MOST_START_MS, REST_MB } from './goals.ts';
import { processorTimeMs } from './processor-time.ts';
import { middle } from './report.ts';
import { startRole, writeFileOf } from './scenarios.ts';
import type { Section } from './sections.ts';

const ROLES = ['up', 'worker', 'api', 'engine'] as const;
type Role = (typeof ROLES)[number];

interface Rest {
  readonly role: Role;
  readonly readyMs: number;
  readonly cpuMs: number;
  /** Resident. */
  readonly mb: number;
  /** Of it without pages of files, as of the program of Node. */
  readonly ownMb: number;
}

/** The first start of a tree also writes the cache of compiled code, and does not count. */
export async function benchRest(redis: TestRedis, rounds: number): Promise<Section> {
  const config = await writeFileOf({});
  await measured(redis, 'up', config);
  const rests: Rest[] = [];
  for (let round = 1; round <= rounds; round += 1)
    for (const role of ROLES) rests.push(await measured(redis, role, config));
  const medians = ROLES.map((role) =>
    middle(
      rests.filter((rest) => rest.role === role),
      ({ mb }) => mb,
    ),
  );
  const figures = medians.flatMap(({ role, mb, readyMs }) => [
    [`${role}_mb`, mb],
    [`${role}_ready_ms`, readyMs],
  ]);
  const text = `\nRoles at rest, without servers or models\n${table([COLUMNS, ...medians.map(cells)]).join('\n')}`;
  return { text, figures: Object.fromEntries(figures) as Record<string, number> };
}

async function measured(redis: TestRedis, role: Role, config: string): Promise<Rest> {
  const hasPort = role === 'up' || role === 'api';
  const startedAt = performance.now();
  const options = hasPort ? ['--port', String(await freePort())] : [];
  const child = await startRole(redis, role, config, options);
  const readyMs = performance.now() - startedAt;
  const cpuMs = processorTimeMs(child.pid);
  await untilIdle(child.pid);
  const mb = memoryOf(child.pid, 'VmRSS');
  const ownMb = memoryOf(child.pid, 'RssAnon');
  await child.stop();
  return { role, readyMs, cpuMs, mb, ownMb };
}

const POLL_MS = 1_000;
const LONGEST_IDLING = 60;
/** V8 shrinks the heap of a thread that has been idle for about ten seconds (src/platform/heap.ts). */
const IDLE_POLLS = 15;
/** Of one poll. */
const IDLE_CPU_MS = 50;

async function untilIdle(pid: number): Promise<void> {
  for (let [polls, idle] = [0, 0]; polls < LONGEST_IDLING && idle < IDLE_POLLS; polls += 1) {
    const before = processorTimeMs(pid);
    await pause(POLL_MS);
    idle = processorTimeMs(pid) - before <= IDLE_CPU_MS ? idle + 1 : 0;
  }
}

function memoryOf(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_000;
}

const COLUMNS = ['', 'ready after ms', 'goal', 'CPU ms', 'MB', 'goal', 'of it anonymous'] as const;

function cells({ role, readyMs, cpuMs, mb, ownMb }: Rest): string[] {
  const figures = [readyMs.toFixed(0), String(MOST_START_MS), cpuMs.toFixed(0), mb.toFixed(0)];
  return [role, ...figures, String(REST_MB[role]), ownMb.toFixed(0)];
}
