/** Engines that are killed at every command of a resumed run: another engine takes over, and nothing is called twice.
 *  It must kill for real, as the test of whole runs does. */
import { expect, test } from 'vitest';
import { fileURLToPath } from 'node:url';
import { okResult } from '../../../src/contract/result.ts';
import type { Doom } from '../../support/doomed-engines.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { takenPoints } from '../../support/kill-points.ts';
import { spawnNode } from '../../support/process.ts';
import { programOf } from '../../support/program.ts';
import { script } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';
import { timePassesUntil } from '../../support/time-passes.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../support/doomed-engines.ts', import.meta.url)));
const RUN = 'r-00000000';
const redis = useRedis();

/** A run of three calls that was cancelled before any of them was made: there was no worker. */
async function cancelled(engines: EngineTest): Promise<void> {
  const engine = await engines.startEngine();
  await engines.client.start({
    request_id: RUN,
    agent: 'scripted',
    query: script({ tools: ['a', 'b'] }, { tools: ['c'] }),
  });
  await eventually(async () => (await engines.journal.directive(RUN, 's0.b'))?.status).toBe('accepted');
  await engines.client.cancel(RUN, null);
  await engines.ended(RUN);
  await eventually(async () => (await engines.journal.head(RUN))?.status).toBe('closed');
  await engine.stop();
}

async function over(engines: EngineTest): Promise<true> {
  await engines.ended(RUN);
  await eventually(() => engines.index.size()).toBe(0);
  return true;
}

test('a resumed run goes on at once: no sweeper has to find it', async () => {
  await using engines = await openEngineTest(redis.url);
  await cancelled(engines);
  await engines.startWorker(async ({ tool_name }) => ({ result: okResult(tool_name) }));
  await engines.startEngine();
  await engines.client.resume(RUN, {});
  await eventually(async () => (await engines.requests.request(RUN))?.run?.status).toBe('completed');
});

test('a resumed run survives its engines: each call is made once, and it ends once more', async () => {
  await using all = new AsyncDisposableStack();
  const deaths = takenPoints(
    Array.from({ length: 12 }, (_, at) => at + 1).flatMap((at) => [
      { at, moment: 'before' as const },
      { at, moment: 'after' as const },
    ]),
  );
  const scenes: EngineTest[] = [];
  for (const _ of deaths) scenes.push(all.use(await openEngineTest(redis.url)));
  for (const engines of scenes) await cancelled(engines);
  const dooms = deaths.map((death, index): Doom => ({ prefix: scenes[index]?.prefix ?? '', ...death }));
  const child = spawnNode([DOOMED, redis.url, JSON.stringify(dooms)]);
  await child.waitForLine(/^ready$/);
  const calls = await Promise.all(
    scenes.map(async (engines) => {
      const made: string[] = [];
      await engines.startWorker(async ({ tool_name }) => {
        made.push(tool_name);
        return { result: okResult(tool_name) };
      });
      return made;
    }),
  );
  const keyed = { idempotencyKey: 'once' };
  await Promise.all(scenes.map(async ({ client }) => client.resume(RUN, {}, keyed)));
  // Whoever got no answer asks again.
  await Promise.all(scenes.map(async ({ client }) => client.resume(RUN, {}, keyed)));
  const stopped = dooms.map(async ({ prefix }, index) =>
    Promise.race([child.waitForLine(new RegExp(`^stopped ${prefix}$`)), over(scenes[index] as EngineTest)]),
  );
  await Promise.all(stopped);
  expect(await child.kill9()).toMatchObject({ signal: 'SIGKILL' });
  for (const [index, engines] of scenes.entries()) {
    await engines.startEngine();
    await engines.sweeper().start();
    await timePassesUntil(engines, over(engines));
    const log = await engines.log(RUN);
    expect(calls[index]?.toSorted(), JSON.stringify(deaths[index])).toEqual(['a', 'b', 'c']);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, at) => at + 1));
    expect(log.flatMap(({ type }) => (type.startsWith('ai.request.') ? [type] : []))).toEqual([
      'ai.request.started',
      'ai.request.cancel_requested',
      'ai.request.failed',
      'ai.request.resumed',
      'ai.request.completed',
    ]);
    expect(await engines.journal.head(RUN)).toMatchObject({ status: 'closed', open: 0 });
  }
});
