/** Who fires first when much is due: each tenant in turn, however many schedules another one has.
 *  It must not look at the clock: it looks at the order. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { keySpace } from '../../../../src/store/keys.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { createScheduleStore } from '../../../../src/features/schedules/schedule-store.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();
const AT_ONCE = 32;
const HOLD_MS = 60_000;

/** `due`: the schedules of each tenant, with how many milliseconds ago they came to be due. */
async function scene(due: Readonly<Record<string, readonly number[]>>) {
  const keys = keySpace(`test-${randomUUID()}`);
  const connection = connectRedis(redis.url, 'commands');
  const now = Date.now();
  const entries = Object.entries(due).flatMap(([tenant, ages]) =>
    ages.flatMap((age, at) => [now - age, `${tenant === 'default' ? '' : `${tenant}~`}s${at}`]),
  );
  await connection.zadd(keys.schedulesDue, ...entries);
  const store = createScheduleStore(connection, keys, async () => null);
  let turn = 0;
  const take = async (limit = AT_ONCE): Promise<string[]> => {
    const { ids } = await store.take(limit, HOLD_MS, turn);
    turn += limit;
    return ids;
  };
  return { take, [Symbol.asyncDispose]: async () => closeRedis(connection) };
}

const ages = (count: number, oldest: number): number[] =>
  Array.from({ length: count }, (_, at) => oldest - at);

test('one schedule of a tenant is taken at once, though another tenant has a thousand that are due longer', async () => {
  await using it = await scene({ crowd: ages(1_000, 600_000), default: [10] });
  const first = await it.take();
  expect(first.slice(0, 2)).toEqual(['crowd~s0', 's0']);
  expect(first).toHaveLength(AT_ONCE);
  expect(await it.take()).toEqual(Array.from({ length: AT_ONCE }, (_, at) => `crowd~s${at + 31}`));
});

test('all have their turn where more tenants than are taken at once have many', async () => {
  const tenants = Array.from({ length: 40 }, (_, at) => `t${at}`);
  await using it = await scene(
    Object.fromEntries(tenants.map((tenant, at) => [tenant, ages(100, 900_000 - at * 10_000)])),
  );
  const taken = [...(await it.take()), ...(await it.take())];
  const turns = Object.groupBy(taken, (id) => id.split('~')[0] ?? '');
  expect(Object.keys(turns).length).toBe(tenants.length);
  for (const some of Object.values(turns)) expect(some?.length).toBeLessThanOrEqual(2);
});

test('of one tenant the longest due comes first, nothing is taken twice, and all is taken', async () => {
  await using it = await scene({ a: ages(40, 500_000), default: ages(3, 1_000), b: ages(1, 2_000) });
  const taken = [...(await it.take()), ...(await it.take()), ...(await it.take())];
  expect(new Set(taken).size).toBe(44);
  expect(taken).toHaveLength(44);
  const ofA = taken.filter((id) => id.startsWith('a~'));
  expect(ofA).toEqual(Array.from({ length: 40 }, (_, at) => `a~s${at}`));
});
