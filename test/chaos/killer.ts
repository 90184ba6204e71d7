/** Kills processes at moments drawn from the seed, and makes sure that they run again.
 *  It must never leave anything dead or stopped when it has ended. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault, FaultKind, Replacement } from './history.ts';
import { chanceOf, type Chance } from './random.ts';
import type { Slot, System } from './system.ts';

export interface Killer {
  readonly faults: readonly Fault[];
  /** Resolves when everything runs again. */
  stop(): Promise<void>;
}

type Strike = Exclude<FaultKind, Replacement>;

const WEIGHTS: Readonly<Record<Exclude<Strike, keyof typeof CUTS>, number>> = {
  'worker killed': 3,
  'worker in a crash loop': 1,
  'worker stopped for a while': 3,
  'worker told to stop': 2,
  'engine killed': 3,
  'engine stopped for a while': 2,
  'engine told to stop': 1,
  'api killed': 2,
  'stdio server killed': 3,
  'http server killed': 2,
  'model server killed': 2,
  'redis killed': 2,
};
/** Between a process and Redis nothing passes, while it goes on with its work. */
const CUTS = { 'worker cut off': 6, 'engine cut off': 4 } as const;
const NO_CUTS = { 'worker cut off': 0, 'engine cut off': 0 } as const;
const BETWEEN_MS = { min: 1_000, max: 6_000 };
/** On a machine that takes long to start what was killed, more at once would leave nobody to do the work. */
const MOST_AT_ONCE = 4;
/** A crash loop: how long each life lasts from its start, and how many there are. */
const LIFE_MS = { min: 1_500, max: 2_500 };
const LIVES = { min: 3, max: 6 };
/** Long enough for the lease to expire, and for another worker to be in the middle of the same call. */
const STANDSTILL_MS = { min: 3_000, max: 13_000 };

/** Links are cut where there are links. */
export function startKiller(seed: string, system: System): Killer {
  const hasLinks = system.workers.some(({ link }) => link !== null);
  const weights = { ...WEIGHTS, ...(hasLinks ? CUTS : NO_CUTS) };
  const chance = chanceOf(`${seed}/killer`);
  const faults: Fault[] = [];
  const scene: Scene = { system, chance, faults, redisBusy: false };
  const stopping = new AbortController();
  const repairs = new Set<Promise<void>>();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const pauseMs = chance.between(BETWEEN_MS.min, BETWEEN_MS.max);
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      if (repairs.size >= MOST_AT_ONCE) continue;
      const repair: Promise<void> = strike(chance.weighted(weights), scene).finally(() =>
        repairs.delete(repair),
      );
      repairs.add(repair);
    }
  }

  const running = run();
  return {
    faults,
    async stop() {
      stopping.abort();
      await running;
      await Promise.all(repairs);
    },
  };
}

interface Scene {
  readonly system: System;
  readonly chance: Chance;
  readonly faults: Fault[];
  redisBusy: boolean;
}

async function strike(kind: Strike, scene: Scene): Promise<void> {
  const { system, chance } = scene;
  switch (kind) {
    case 'worker in a crash loop':
      return void (await Promise.all(system.workers.slice(0, 2).map((slot) => crashLoop(slot, scene))));
    case 'worker killed':
    case 'worker stopped for a while':
    case 'worker cut off':
    case 'worker told to stop':
      return strikeSlot(kind, chance.pick(system.workers), scene);
    case 'engine killed':
    case 'engine stopped for a while':
    case 'engine cut off':
    case 'engine told to stop':
      return strikeSlot(kind, chance.pick(system.engines), scene);
    case 'api killed':
      return strikeSlot(kind, chance.pick(system.apis), scene);
    case 'http server killed':
      return strikeSlot(kind, system.httpServer, scene);
    case 'model server killed':
      return strikeSlot(kind, chance.pick(system.modelServers), scene);
    case 'stdio server killed':
      return killStdioServer(scene);
    case 'redis killed':
      return killRedis(scene);
  }
}

/** At most one fault at a time in each place. */
async function strikeSlot(kind: Strike, slot: Slot, { chance, faults }: Scene): Promise<void> {
  const { child, busy, link } = slot;
  const [downMs, standstillMs] = [
    chance.between(0, 3_000),
    chance.between(STANDSTILL_MS.min, STANDSTILL_MS.max),
  ];
  if (busy || child === null) return;
  slot.busy = true;
  const fault: Fault = { kind, pid: child.pid, at: Date.now(), overAt: null };
  faults.push(fault);
  if (kind === 'worker stopped for a while' || kind === 'engine stopped for a while') {
    await standStill(child.pid, standstillMs);
  } else if (kind === 'worker cut off' || kind === 'engine cut off') {
    if (link !== null) await standStill(link.child.pid, standstillMs);
  } else if (kind === 'worker told to stop' || kind === 'engine told to stop') {
    await Promise.all([child.stop(15_000), slot.start()]);
  } else {
    await child.kill9();
    await delay(downMs);
    await slot.start();
  }
  fault.overAt = Date.now();
  slot.busy = false;
}

async function standStill(pid: number, forMs: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await delay(forMs);
  process.kill(pid, 'SIGCONT');
}

/** The workers live for a moment only, again and again: none is there long enough to see that another one has died. */
async function crashLoop(slot: Slot, { chance, faults }: Scene): Promise<void> {
  const lives = Array.from({ length: chance.between(LIVES.min, LIVES.max) }, () =>
    chance.between(LIFE_MS.min, LIFE_MS.max),
  );
  if (slot.busy || slot.child === null) return;
  slot.busy = true;
  for (const lifeMs of lives) {
    await delay(lifeMs);
    const fault: Fault = {
      kind: 'worker in a crash loop',
      pid: slot.child.pid,
      at: Date.now(),
      overAt: null,
    };
    faults.push(fault);
    await slot.child.kill9();
    await slot.start();
    fault.overAt = Date.now();
  }
  slot.busy = false;
}

/** Its worker starts another one by itself. */
async function killStdioServer({ system, chance, faults }: Scene): Promise<void> {
  const pids = system.stdioServers();
  if (pids.length === 0) return;
  const pid = chance.pick(pids);
  faults.push({ kind: 'stdio server killed', pid, at: Date.now(), overAt: Date.now() });
  process.kill(pid, 'SIGKILL');
}

async function killRedis(scene: Scene): Promise<void> {
  const { redis } = scene.system;
  const downMs = scene.chance.between(100, 3_000);
  if (scene.redisBusy) return;
  scene.redisBusy = true;
  const fault: Fault = { kind: 'redis killed', pid: redis.pid, at: Date.now(), overAt: null };
  scene.faults.push(fault);
  await redis.kill9();
  await delay(downMs);
  await redis.restart();
  fault.overAt = Date.now();
  scene.redisBusy = false;
}
