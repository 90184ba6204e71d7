/** Lets a sweeper look at everything it knows, again and again, as it would after a while.
 *  It must never change what is looked at. */
import { setTimeout } from 'node:timers/promises';
import type { EngineTest } from './engine.ts';

const EVERY_MS = 100;

/** Until `over` settles. */
export async function timePassesUntil<T>(engines: EngineTest, over: Promise<T>): Promise<T> {
  let passes = true;
  const passing = (async () => {
    while (passes) {
      await letTimePass(engines);
      await setTimeout(EVERY_MS);
    }
  })();
  const result = await over.finally(() => {
    passes = false;
  });
  await passing;
  return result;
}

/** What a sweeper has in hand (an odd eighth) stays, and so does what it has noted of an entry (a fraction). */
async function letTimePass({ connection, keys }: EngineTest): Promise<void> {
  const entries = await connection.zrange(keys.sweep, '0', '-1', 'WITHSCORES');
  const due = entries.flatMap((member, at) => {
    const score = Number(entries[at + 1]);
    return at % 2 === 1 || Math.floor(score * 8) % 2 === 1 ? [] : [1 + (score % 1), member];
  });
  if (due.length > 0) await connection.zadd(keys.sweep, 'XX', ...due);
}
