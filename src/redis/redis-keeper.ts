/** Starts a private Redis again that ended by itself: at the same address, so that every connection comes back.
 *  It must never start a second one on the folder, nor end the service: workers keep their results until Redis is back. */
import { pause } from '../lifecycle.ts';
import { isAlive } from './private-lock.ts';
import {
  configOf,
  endRedisProcess,
  type Launch,
  logOf,
  loadedRedisPidAt,
  redisPidAt,
  type RedisProcess,
  runningProcess,
  startRedisProcess,
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
  /** A new process has its place. */
  readonly onStarted: (pid: number) => Promise<void>;
  readonly onNews: (news: RedisNews) => void;
}

export interface RedisKeeper {
  /** Ends the process that has the place now, also one that is just starting. */
  stop(): Promise<void>;
}

const PAUSES_MS = [100, 1_000, 3_000, 10_000, 30_000];
/** One that lived this long died of something else than the last one. */
const SOUND_AFTER_MS = 60_000;
const LOOK_MS = 250;

export function keepRedis(options: KeeperOptions): RedisKeeper {
  const { dir, url, pausesMs = PAUSES_MS, onStarted, onNews } = options;
  const stopped = new AbortController();
  const { signal } = stopped;
  let current = options.first;
  let startedAt = performance.now();
  /** How many tries the last minute had. */
  let tries = 0;

  async function keep(): Promise<void> {
    while (await untilItEnds()) {
      const endedAt = performance.now();
      const how = current.howItEnded();
      if (endedAt - startedAt >= SOUND_AFTER_MS) tries = 0;
      const next = await startedAgain(how === null ? '' : ` (${how})`);
      if (next === null) return;
      current = next;
      startedAt = performance.now();
      await onStarted(next.pid).catch(() => {});
      onNews({ says: againText(how, startedAt - endedAt), fix: null });
    }
  }

  /** False: the service stops. */
  async function untilItEnds(): Promise<boolean> {
    while (!signal.aborted && isAlive(current.pid)) await pause(LOOK_MS, signal);
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
      if (tries < pausesMs.length) onNews({ says: failedText(how), fix: null });
    }
    onNews(givenUp(how));
    return startedByHand();
  }

  function failedText(how: string): string {
    const nextMs = pausesMs[tries] ?? 0;
    return `The private Redis ended${how} and does not start: try ${tries + 1} of ${pausesMs.length} in ${nextMs / 1_000} s. Its log: ${logOf(dir)}`;
  }

  function givenUp(how: string): RedisNews {
    return {
      says: `The private Redis keeps ending${how}: it is not started again. Results wait in this process; nothing else works.`,
      fix: `Its log says why: ${logOf(dir)}. Then start it by hand: \`redis-server ${configOf(dir)}\`; or start this service again.`,
    };
  }

  /** null: it does not start. */
  async function tryOnce(): Promise<RedisProcess | null> {
    try {
      const other = await loadedRedisPidAt(url, signal);
      return other === null ? await startRedisProcess(dir, url, options, signal) : runningProcess(other);
    } catch {
      // Its program is gone, or its folder cannot be written to: as with one that ends at once.
      return null;
    }
  }

  async function startedByHand(): Promise<RedisProcess | null> {
    while (!signal.aborted) {
      const pid = await redisPidAt(url);
      if (pid !== null) return runningProcess(pid);
      await pause(LOOK_MS, signal);
    }
    return null;
  }

  const keeping = keep();
  return {
    async stop() {
      stopped.abort();
      await keeping;
      await endRedisProcess(current.pid);
    },
  };
}

function againText(how: string | null, afterMs: number): string {
  const reason = how === null ? '' : ` (${how})`;
  return `The private Redis ended${reason} and runs again, after ${(afterMs / 1_000).toFixed(1)} s, with what it had.`;
}
