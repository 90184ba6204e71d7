/** What is accepted is noted for the list of requests, though whoever accepted it dies as it is.
 *  It must never look for what the sweeper notes. */
import { expect, test } from 'vitest';
import { debouncedByDead, submittedByTheDead } from '../../support/dying-submitter.ts';
import { useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();

test('what ends as it is accepted and what begins in a year is noted with its acceptance', async () => {
  await using open = await openStore(redis.url);
  const { connection, keys } = open;
  const accepted = await submittedByTheDead(redis.url, keys.prefix);
  const noted = await connection.zrange(keys.changedRequests, '0', '-1');
  expect(noted.toSorted()).toEqual(accepted.toSorted());
  await connection.del(keys.changedRequests);
  const changed = await debouncedByDead(redis.url, keys.prefix, 'other');
  expect(accepted).toContain(changed);
  expect(await connection.zrange(keys.changedRequests, '0', '-1')).toEqual([changed]);
});
