/** The counts of runs when what was noted last of a run is not true, on a real Redis with real turns.
 *  It must note nothing otherwise than an engine does that stood still, or died. */
import { expect, test } from 'vitest';
import { createRunActivityIndex, type RunActivityIndex } from '../../../src/store/run/run-activity-index.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { script } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';
import { createCountedRuns } from '../../../src/directives/sweep/sweep.ts';

const redis = useRedis();

/** Each more than are looked at in one go. */
const [GONE, LIVE] = [300, 200];

/** One run waits for an input, one has ended. */
async function twoRuns(engines: EngineTest, activity: RunActivityIndex): Promise<{ ended: string }> {
  await engines.startEngine();
  const start = async (query: string): Promise<string> => {
    const request_id = engines.newId();
    await engines.client.start({ request_id, agent: 'scripted', query });
    return request_id;
  };
  await start(script({ inputs: 1 }));
  const ended = await start(script());
  await engines.ended(ended);
  await eventually(() => activity.counts()).toEqual({ running: 0, waiting: 1, approval: 0 });
  return { ended };
}

test('a run that is noted after its end is not counted for ever', async () => {
  await using engines = await openEngineTest(redis.url);
  const activity = createRunActivityIndex(engines.connection, engines.keys);
  const { ended } = await twoRuns(engines, activity);
  activity.note(ended, 'running');
  activity.note('gone', 'approval');
  await eventually(() => activity.counts()).toEqual({ running: 1, waiting: 1, approval: 1 });
  await engines.sweeper().start();
  await eventually(() => activity.counts()).toEqual({ running: 0, waiting: 1, approval: 0 });
  expect(engines.errors).toEqual([]);
});

test('of many that are counted some are looked at in one go, and all in time', async () => {
  await using engines = await openEngineTest(redis.url);
  const { connection, keys, runs } = engines;
  const activity = createRunActivityIndex(connection, keys);
  const query = script({ inputs: 1 });
  for (let each = 0; each < LIVE; each += 1) {
    const request_id = engines.newId();
    await engines.client.start({ request_id, agent: 'scripted', query });
    activity.note(request_id, 'waiting');
  }
  for (let each = 0; each < GONE; each += 1) activity.note(`gone-${each}`, 'approval');
  await eventually(() => activity.counts()).toEqual({ running: 0, waiting: LIVE, approval: GONE });
  const look = createCountedRuns({ runs, activity });
  await look();
  await eventually(async () => (await activity.counts()).approval < GONE).toBe(true);
  expect((await activity.counts()).approval).toBeGreaterThan(0);
  await eventually(async () => {
    await look();
    return activity.counts();
  }).toEqual({ running: 0, waiting: LIVE, approval: 0 });
});
