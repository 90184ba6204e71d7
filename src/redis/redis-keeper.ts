/** Starts a private Redis again that ended by itself: at the same address, so that every connection comes back.
 *  It must never start a second one on the folder, nor end the service: workers keep their results until Redis is back. */
import { pause } from '../lifecycle.ts';
import { configOf, logOf, ownRedisPid } from './redis-identity.ts';
import {
  endRedisProcess,
  foundProcess,
  isPortTaken,
  type Launch,
  type RedisProcess,
  startRedisProcess,
  untilItWorks,
} from './redis-process.ts';

/** Something that a person should read; `fix`: null when there is nothing to do. */
export interface RedisNews {
  readonly says: string;
  readonly fix: string | null;
}

export interface KeeperOptions extends Launch {
  readonly dir: string;
  readonly url: string;
  readonly first: RedisProcess;
  /** How long to wait before each try to start it again, milliseconds; after the last one it is given up. */
  readonly pausesMs?: readonly number[];
  readonly onNews: (news: RedisNews) => void;
}

export interface RedisKeeper {
  /** Ends the process that has the place now, also one that is just starting. The pid of one that goes on; null: none. */
  stop(): Promise<number | null>;
}

const PAUSES_MS = [100, 1_000, 3_000, 10_000, 30_000];
/** One that lived this long died of something else than the last one. */
const SOUND_AFTER_MS = 60_000;
const LOOK_MS = 250;
/** At the command line of one that another process started: on some systems this starts a program. */
const LOOK_AT_FOUND_MS = 1_000;

export function keepRedis(options: KeeperOptions): RedisKeeper {
  const { dir, url, pausesMs = PAUSES_MS, onNews } = options;
  const stopped = new AbortController();
  const { signal } = stopped;
  let current = options.first;
  let startedAt = performance.now();
  /** How many tries the last minute had. */
  let tries = 0;
  let isTaken = false;

  async function keep(): Promise<void> {
    while (await untilItEnds()) {
      const endedAt = performance.now();
      const how = current.howItEnded();
      if (endedAt - startedAt >= SOUND_AFTER_MS) tries = 0;
      const next = await startedAgain(how === null ? '' : ` (${how})`);
      if (next === null) return;
      current = next;
      startedAt = performance.now();
      if (!signal.aborted) onNews({ says: againText(how, startedAt - endedAt), fix: null });
    }
  }

  /** False: the service stops. */
  async function untilItEnds(): Promise<boolean> {
    const lookMs = current.isChild ? LOOK_MS : LOOK_AT_FOUND_MS;
    while (!signal.aborted && !(await current.hasEnded())) await pause(lookMs, signal);
    return !signal.aborted;
  }

  /** null: the service stops. */
  async function startedAgain(how: string): Promise<RedisProcess | null> {
    while (tries < pausesMs.length) {
      await pause(pausesMs[tries] ?? 0, signal);
      if (signal.aborted) return null;
      tries += 1;
      const next = await tryOnce();
      if (next !== null || signal.aborted) return next;
      if (tries < pausesMs.length) onNews(failedNews(how));
    }
    onNews(isTaken ? takenNews(how, url) : givenUpNews(how, dir));
    return startedByHand();
  }

  function failedNews(how: string): RedisNews {
    const why = isTaken ? takenText(url) : 'does not start';
    const next = `try ${tries + 1} of ${pausesMs.length} in ${(pausesMs[tries] ?? 0) / 1_000} s`;
    return { says: `The private Redis ended${how} and ${why}: ${next}. Its log: ${logOf(dir)}`, fix: null };
  }

  /** null: it does not start. */
  async function tryOnce(): Promise<RedisProcess | null> {
    try {
      const found = await foundRedis(options, signal);
      if (found !== null) return found;
      isTaken = await isPortTaken(url);
      return isTaken ? null : await startRedisProcess(dir, url, options, signal);
    } catch {
      // Its program is gone, or its folder cannot be written to: as with one that ends at once.
      return null;
    }
  }

  async function startedByHand(): Promise<RedisProcess | null> {
    while (!signal.aborted) {
      const found = await foundRedis(options, signal);
      if (found !== null) return found;
      await pause(LOOK_MS, signal);
    }
    return null;
  }

  const keeping = keep();
  return {
    async stop() {
      stopped.abort();
      await keeping;
      return (await endRedisProcess(current, options.limitMs)) ? null : current.pid;
    },
  };
}

function againText(how: string | null, afterMs: number): string {
  const reason = how === null ? '' : ` (${how})`;
  return `The private Redis ended${reason} and runs again, after ${(afterMs / 1_000).toFixed(1)} s, with what it had.`;
}

const WAITS = 'Results wait in this process; nothing else works.';

function givenUpNews(how: string, dir: string): RedisNews {
  return {
    says: `The private Redis keeps ending${how}: it is not started again. ${WAITS}`,
    fix: `Its log says why: ${logOf(dir)}. Then start it by hand: \`redis-server ${configOf(dir)}\`; or start this service again.`,
  };
}

function takenNews(how: string, url: string): RedisNews {
  return {
    says: `The private Redis ended${how} and ${takenText(url)}. ${WAITS}`,
    fix: 'Start this service again: its Redis takes another port and has what it had.',
  };
}

function takenText(url: string): string {
  return `another program holds its port ${new URL(url).port}`;
}

/** One that a person started, as soon as it works; also while it does not where the service stops, which ends it. */
async function foundRedis(options: KeeperOptions, interrupt: AbortSignal): Promise<RedisProcess | null> {
  const { dir, url } = options;
  const pid = await ownRedisPid(dir, url, null);
  if (pid === null) return null;
  const found = foundProcess(pid, dir, url);
  for (;;) {
    const state = await untilItWorks(found, url, { ...options, interrupt });
    if (state === 'ended') return null;
    if (state === 'silent' && !interrupt.aborted) continue;
    await options.onSpawned(pid).catch(() => {});
    return found;
  }
}
