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

async function letTimePass({ connection, keys }: EngineTest): Promise<void> {
  const members = await connection.zrange(keys.sweep, '0', '-1');
  if (members.length > 0)
    await connection.zadd(keys.sweep, 'XX', ...members.flatMap((member) => [1, member]));
}
