/** The index of directives to look at again, on a real Redis.
 *  It must never hold more than identities and instants. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createSweepIndex } from '../../../src/journal/sweep-index.ts';
import { openJournal } from '../../support/journal.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

async function setUp() {
  const open = await openJournal(redis.url);
  return { ...open, index: createSweepIndex(open.connection, open.keys) };
}

const ref = (id: string) => ({ requestId: 'r:1', id });

test('entries are due in their order, from their instant on', async () => {
  await using open = await setUp();
  await open.index.add([ref('late')], 300);
  await open.index.add([ref('a.b:c'), ref('second')], 100);
  expect(await open.index.due(99, 10)).toEqual([]);
  expect((await open.index.due(100, 10)).map(({ id }) => id)).toEqual(['a.b:c', 'second']);
  expect(await open.index.due(300, 1)).toEqual([{ ...ref('a.b:c'), missedBefore: false }]);
});

test('a later look replaces the earlier, and keeps in mind what was missing', async () => {
  await using open = await setUp();
  await open.index.add([ref('a')], 100);
  await open.index.lookAgain(ref('a'), 200, true);
  expect(await open.index.due(199, 10)).toEqual([]);
  expect(await open.index.due(201, 10)).toEqual([{ ...ref('a'), missedBefore: true }]);
  await open.index.lookAgain(ref('a'), 200);
  expect(await open.index.due(201, 10)).toEqual([{ ...ref('a'), missedBefore: false }]);
});

test('a repeated announcement puts nothing off', async () => {
  await using open = await setUp();
  await open.index.add([ref('a')], 100);
  await open.index.add([ref('a')], 200);
  expect(await open.index.due(100, 10)).toHaveLength(1);
  await open.index.add([ref('a')], 50);
  expect(await open.index.due(50, 10)).toHaveLength(1);
});

test('an announcement is due by the clock of Redis, whatever the process takes for the time', async () => {
  await using open = await setUp();
  const [seconds] = await open.connection.time();
  const now = Number(seconds) * 1_000;
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  try {
    await open.index.announce(
      [ref('a'), ...Array.from({ length: 2_500 }, (_, number) => ref(`b-${number}`))],
      5_000,
    );
  } finally {
    vi.useRealTimers();
  }
  expect(await open.index.size()).toBe(2_501);
  expect(await open.index.due(now + 4_000, 1)).toEqual([]);
  expect(await open.index.due(now + 60_000, 1)).toHaveLength(1);
  await open.index.announce([ref('a')], 0);
  await open.index.announce([ref('a')], 50_000);
  expect((await open.index.due(now + 4_000, 10)).map(({ id }) => id)).toEqual(['a']);
});

test('a last look keeps in mind that the directive was settled', async () => {
  await using open = await setUp();
  await open.index.lookOnceMore(ref('a'), 200);
  expect(await open.index.due(201, 10)).toEqual([{ ...ref('a'), missedBefore: false, settledBefore: true }]);
});

test('what was forgotten meanwhile does not come back with a later look', async () => {
  await using open = await setUp();
  await open.index.lookAgain(ref('a'), 200);
  expect(await open.index.size()).toBe(0);
});

test('many forgotten entries leave together, soon', async () => {
  await using open = await setUp();
  const refs = Array.from({ length: 1_000 }, (_, index) => ref(`d${index}`));
  await open.index.add([...refs, ref('stays')], 100);
  for (const each of refs) open.index.forget(each);
  await vi.waitFor(async () => expect(await open.index.size()).toBe(1), 5_000);
  expect((await open.index.due(100, 10)).map(({ id }) => id)).toEqual(['stays']);
});
