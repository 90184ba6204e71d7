/** What runs do, counted on a real Redis: the newest of each run, with two commands for all runs of a turn of the event loop.
 *  It must never count what only one of them did first. */
import { test } from 'vitest';
import { keySpace } from '../../../src/store/keys.ts';
import { createRunActivityIndex } from '../../../src/store/run/run-activity-index.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { eventually } from '../../support/eventually.ts';
import { uniquePrefix } from '../../support/journal.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

test('runs are counted by what they did last', async () => {
  const connection = connectRedis(redis.url, 'commands');
  const activity = createRunActivityIndex(connection, keySpace(uniquePrefix()));
  for (const id of ['a', 'b', 'c', 'd']) activity.note(id, 'running');
  activity.note('b', 'waiting');
  activity.note('d', null);
  await eventually(() => activity.counts()).toEqual({ running: 2, waiting: 1, approval: 0 });
  activity.note('a', null);
  activity.note('c', 'approval');
  await eventually(() => activity.counts()).toEqual({ running: 0, waiting: 1, approval: 1 });
  await closeRedis(connection);
});
