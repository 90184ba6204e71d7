/** `npm run bench -- --only takeover`: from the SIGKILL of a worker to the next claim of what it had, quiet and in crash loops.
 *  It must kill only workers that it has started. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createDirectClient } from '../src/service/direct-client.ts';
import { table } from '../src/cli/table.ts';
import { type Child, spawnNode } from '../test/support/process.ts';
import type { TestRedis } from '../test/support/redis.ts';
import { summarizeLatencies } from './latency.ts';
import { stuck, TAKEN } from './stuck-directive.ts';

export interface TakeoverPlan {
  /** Takeovers of each case. */
  readonly takeovers: number;
  /** How long a worker of a crash loop works before it is killed, milliseconds. */
  readonly lifeMs: number;
}

interface Takeover {
  /** From SIGKILL to the next claim, milliseconds. */
  readonly ms: number;
  /** How long of it no worker was there to take over: on a busy machine they start slowly. */
  readonly unservedMs: number;
}

/** The end of a directive after its last redelivery is no takeover, so few are needed. */
const IN_FLIGHT = 4;
/** Longer than any takeover may take. */
const PATIENCE_MS = 120_000;

export async function benchTakeovers(redis: TestRedis, plan: TakeoverPlan): Promise<string> {
  const config = await writeConfig();
  const quiet = await measured(redis, config, plan.takeovers, async (scene) => {
    // One worker dies once; the others live.
    for (;;) {
      const holder = await scene.nextHolder();
      if (holder === null) return;
      await scene.kill(holder);
    }
  });
  const looping = await measured(redis, config, plan.takeovers, async (scene) => {
    await Promise.all([0, 1].map(async (half) => crashLoop(scene, plan.lifeMs, half)));
  });
  const rows = [
    row('quiet: one of two workers dies, then lives', quiet),
    row(`crash loops: both are killed after ${plan.lifeMs} ms, for ever`, looping),
  ];
  const note = 'served: without the time in which no worker was there';
  return `\nFrom SIGKILL to the next claim\n${[...table([COLUMNS, ...rows]), note].join('\n')}`;
}

const COLUMNS = ['', 'takeovers', 'p50 ms', 'max ms', 'p50 ms, served', 'max ms, served'] as const;

function row(name: string, takeovers: readonly Takeover[]): string[] {
  const whole = takeovers.map(({ ms }) => ms);
  const served = takeovers.map(({ ms, unservedMs }) => ms - unservedMs);
  return [name, String(takeovers.length), ...middleAndMost(whole), ...middleAndMost(served)];
}

function middleAndMost(latenciesMs: readonly number[]): string[] {
  return [summarizeLatencies(latenciesMs).p50Ms.toFixed(0), Math.max(...latenciesMs).toFixed(0)];
}

async function writeConfig(): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'adjutant-bench-')), 'adjutant.json');
  await writeFile(file, JSON.stringify({ directives: [resolve('bench/stuck-directive.ts')] }));
  return file;
}

type Scene = ReturnType<typeof sceneOn>;

function sceneOn(redis: TestRedis, config: string, wanted: number, prefix: string) {
  const workers: (Child | null)[] = [null, null];
  /** Who has a directive, by its id. */
  const holders = new Map<string, Child>();
  const killedAt = new Map<Child, number>();
  const attendance = attendanceBook();
  const takeovers: Takeover[] = [];
  const ending = new AbortController();

  /** Reads what the worker prints until it ends. */
  async function listen(worker: Child): Promise<void> {
    for (let read = 0; ;) {
      const ended = await Promise.race([worker.exited.then(() => true), delay(2, false)]);
      for (const line of worker.lines.slice(read))
        if (TAKEN.test(line)) note(worker, line.split(' ')[1] ?? '');
      read = worker.lines.length;
      if (ended) return;
    }
  }

  function note(by: Child, id: string): void {
    const before = holders.get(id);
    const deadAt = before && killedAt.get(before);
    const now = Date.now();
    if (deadAt !== undefined)
      takeovers.push({ ms: now - deadAt, unservedMs: attendance.emptyMs(deadAt, now) });
    holders.set(id, by);
    if (takeovers.length >= wanted) ending.abort();
  }

  async function start(place: number): Promise<Child> {
    const env = { REDIS_URL: redis.url, ADJUTANT_PREFIX: prefix, ADJUTANT_LOG_LEVEL: 'warn' };
    const worker = spawnNode([resolve('src/cli/main.ts'), 'worker', '--config', config], { env });
    workers[place] = worker;
    void listen(worker);
    await worker.waitForLine(/works/, PATIENCE_MS);
    attendance.comes(Date.now());
    return worker;
  }

  async function kill(place: number): Promise<void> {
    const worker = workers[place];
    if (!worker) return;
    killedAt.set(worker, Date.now());
    attendance.goes(Date.now());
    await worker.kill9();
    if (!ending.signal.aborted) await start(place);
  }

  /** The place of a living worker that has something; null when enough was measured. */
  async function nextHolder(): Promise<number | null> {
    for (;;) {
      if (ending.signal.aborted) return null;
      const holder = [...holders.values()].find((worker) => !killedAt.has(worker));
      if (holder) return workers.indexOf(holder);
      await delay(20);
    }
  }

  const stop = async (): Promise<void> =>
    void (await Promise.all(workers.map(async (worker) => worker?.kill9())));
  return { start, kill, nextHolder, stop, takeovers, ended: ending.signal };
}

/** When nobody was there. Instants are milliseconds since the epoch. */
function attendanceBook() {
  const empty: { from: number; until: number }[] = [];
  let present = 0;
  return {
    comes(at: number): void {
      present += 1;
      const last = empty.at(-1);
      if (present === 1 && last) last.until = at;
    },
    goes(at: number): void {
      present -= 1;
      if (present === 0) empty.push({ from: at, until: Infinity });
    },
    emptyMs: (from: number, until: number): number =>
      empty.reduce((sum, gap) => sum + Math.max(0, Math.min(gap.until, until) - Math.max(gap.from, from)), 0),
  };
}

/** Keeps some directives open while `act` kills. */
async function measured(
  redis: TestRedis,
  config: string,
  wanted: number,
  act: (scene: Scene) => Promise<void>,
): Promise<Takeover[]> {
  const prefix = `bench-${randomUUID().slice(0, 8)}`;
  const client = await createDirectClient({ redisUrl: redis.url, prefix, directives: [stuck] });
  const scene = sceneOn(redis, config, wanted, prefix);
  await Promise.all([scene.start(0), scene.start(1)]);
  const feeding = Array.from({ length: IN_FLIGHT }, async () => {
    while (!scene.ended.aborted) await executeOne(client, scene.ended);
  });
  try {
    await act(scene);
    await Promise.all(feeding);
  } finally {
    await scene.stop();
    await client.close();
  }
  return scene.takeovers;
}

/** Until it has been given up after its last redelivery. */
async function executeOne(
  client: Awaited<ReturnType<typeof createDirectClient>>,
  ended: AbortSignal,
): Promise<void> {
  const { request_id, directives } = await client.submit({ type: 'bench.stuck', id: randomUUID() } as never);
  const id = directives[0]?.id ?? '';
  while (!ended.aborted && (await client.directive(request_id, id))?.status !== 'failed') await delay(20);
}

async function crashLoop(scene: Scene, lifeMs: number, half: number): Promise<void> {
  await delay((half * lifeMs) / 2);
  while (!scene.ended.aborted) {
    await delay(lifeMs);
    await scene.kill(half);
  }
}
