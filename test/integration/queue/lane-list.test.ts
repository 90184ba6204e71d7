/** What the list of lanes says beside counts: what waits longest, and until when a provider is not asked.
 *  It must not start a worker. */
import { expect, test } from 'vitest';
import { createRateLimits } from '../../../src/store/limits/rate-limits.ts';
import { jobOf, LANE, toolCall } from '../../support/journal.ts';
import { shared, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const open = shared(async () => openStore(redis.url));

test('what waits longest is the oldest job, and nothing where nothing waits', async () => {
  expect(await open.lanes.oldestAt(LANE)).toBeNull();
  const before = Date.now();
  await open.lanes.enqueue(LANE, jobOf(toolCall()));
  const oldest = (await open.lanes.oldestAt(LANE)) ?? 0;
  expect(oldest).toBeGreaterThanOrEqual(before);
  await open.lanes.enqueue(LANE, jobOf(toolCall()));
  expect(await open.lanes.oldestAt(LANE)).toBe(oldest);
});

test('a provider that asked to slow down cools until then', async () => {
  const { connection, keys } = open;
  const limits = { requests: null, tokens: null };
  const limitsOf = () => ({ provider: limits, model: limits });
  const rates = createRateLimits({ connection, keys, limitsOf, onError: () => {} });
  expect(await open.lanes.coolsForMs('openai')).toBe(0);
  await rates.block({ provider: 'openai', model: 'm', name: 'openai:m' }, 'provider', 30_000);
  const forMs = await open.lanes.coolsForMs('openai');
  expect(forMs).toBeGreaterThan(10_000);
  expect(forMs).toBeLessThanOrEqual(30_000);
  expect(await open.lanes.coolsForMs('other')).toBe(0);
});
