/** Many mixed requests leave nothing in Redis once their retention is over. The long form is `npm run test:leftovers`.
 *  It must never run on a Redis that anything else uses. */
import { expect, test } from 'vitest';
import { leftoversOf } from '../../../support/leftover-load.ts';
import { startRedis } from '../../../support/redis.ts';

const REQUESTS = 400;

test('requests of every sort leave nothing behind, nor do former servers, agents, models and lanes', async () => {
  await using redis = await startRedis();
  const { before, left } = await leftoversOf(redis.url, REQUESTS);
  expect(before).toBeGreaterThan(10);
  expect(left).toEqual([]);
});
