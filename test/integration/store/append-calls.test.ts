/** Appends of several attempts that share a call: on a real Redis each is judged for itself, and with a clock of the test nothing waits
 *  that must not.
 *  It must never rely on how fast anything is. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Append, createAppendCalls } from '../../../src/store/log/append-calls.ts';
import type { RunScript } from '../../../src/store/scripts.ts';
import { startedOf } from '../../support/journal.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';
import type { ClaimRef } from '../../../src/store/refs.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

async function running() {
  const call = await open.accepted();
  const ref = await open.claimed(call);
  const signals = () => [startedOf(call), startedOf(call)];
  return { call, ref, signals };
}

/** Calls of the script since the last look. */
async function scriptCalls(): Promise<number> {
  const stats = await open.connection.info('commandstats');
  await open.connection.config('RESETSTAT');
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0);
}

const idsOf = async (requestId: string): Promise<string[]> =>
  (await open.log(requestId)).slice(1).map(({ id }) => id);

test('appends of several attempts are one call, each under its own claim and in its own log', async () => {
  const attempts = await Promise.all(Array.from({ length: 20 }, running));
  const said = attempts.map(({ signals }) => signals());
  await scriptCalls();
  const verdicts = await Promise.all(
    attempts.map(({ ref }, index) => open.journal.log.append(ref, said[index] ?? [])),
  );
  expect(verdicts).toEqual(attempts.map(() => 'appended'));
  expect(await scriptCalls()).toBe(1);
  for (const [index, { call }] of attempts.entries()) {
    expect(await idsOf(call.request_id)).toEqual(said[index]?.map(({ id }) => id));
    expect((await open.log(call.request_id)).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  }
});

test('of attempts that share a call each gets its own verdict, and none keeps the others from theirs', async () => {
  const [first, taken, damaged, repeated, last] = await Promise.all([
    running(),
    running(),
    running(),
    running(),
    running(),
  ]);
  const again = repeated.signals();
  await open.journal.log.append(repeated.ref, again);
  const { connection, keys, journal } = open;
  const [state] = keys.request(damaged.call.request_id);
  await connection.del(state);
  await connection.set(state, 'no hash');
  const stale: ClaimRef = { ...taken.ref, fence: taken.ref.fence + 1 };
  const [before, after] = [first.signals(), last.signals()];
  await scriptCalls();
  const verdicts = await Promise.allSettled([
    journal.log.append(first.ref, before),
    journal.log.append(stale, taken.signals()),
    journal.log.append(damaged.ref, damaged.signals()),
    journal.log.append(repeated.ref, again),
    journal.log.append(last.ref, after),
  ]);
  expect(await scriptCalls()).toBe(1);
  expect(verdicts.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.message))).toEqual([
    'appended',
    'stale',
    expect.stringMatching(/^WRONGTYPE/),
    'appended',
    'appended',
  ]);
  expect(await idsOf(first.call.request_id)).toEqual(before.map(({ id }) => id));
  expect(await idsOf(taken.call.request_id)).toEqual([]);
  expect(await idsOf(repeated.call.request_id)).toEqual(again.map(({ id }) => id));
  expect(await idsOf(last.call.request_id)).toEqual(after.map(({ id }) => id));
});

test('a request that is full refuses its own, and counts what others have written as before', async () => {
  await using small = await openStore(redis.url, { requestBytes: 9_000 });
  const calls = await Promise.all([small.accepted(), small.accepted()]);
  const [full, roomy] = await Promise.all(calls.map((call) => small.claimed(call)));
  const [much, little] = [Array.from({ length: 30 }, () => startedOf(calls[0])), [startedOf(calls[1])]];
  const bytesOf = async ({ requestId }: ClaimRef): Promise<number> =>
    Number(await small.connection.hget(small.keys.request(requestId)[0], 'bytes'));
  const before = [await bytesOf(full as ClaimRef), await bytesOf(roomy as ClaimRef)];
  const { log } = small.journal;
  expect(
    await Promise.all([log.append(full as ClaimRef, much), log.append(roomy as ClaimRef, little)]),
  ).toEqual(['no_room', 'appended']);
  const stored = await small.connection.lindex(small.keys.log((roomy as ClaimRef).requestId), -1);
  // The sequence is not counted, what the log adds to a signal is.
  const counted = Buffer.byteLength(stored ?? '') - ',"sequence":2'.length + 64;
  expect([await bytesOf(full as ClaimRef), await bytesOf(roomy as ClaimRef)]).toEqual([
    before[0],
    (before[1] ?? 0) + counted,
  ]);
});

/** Calls that the test answers, on a clock that it moves. */
function setUp(together = true) {
  let now = 0;
  const calls: { of: string[]; answer: PromiseWithResolvers<(string | number)[]> }[] = [];
  const run: RunScript = (_name, keys) => {
    const answer = Promise.withResolvers<(string | number)[]>();
    calls.push({ of: keys.filter((_key, index) => index % 2 === 0), answer });
    return answer.promise;
  };
  const held: { call: () => void; isOver: boolean }[] = [];
  const later = (_ms: number, call: () => void): (() => void) => {
    const one = { call, isOver: false };
    held.push(one);
    return () => void (one.isOver = true);
  };
  const appends = createAppendCalls({ run, together, now: () => now, later });
  const what = (name: string, text = 'x'): Append => ({
    keys: [name, `${name}:log`],
    head: ['d', 1, randomUUID(), 1_000],
    texts: [text],
  });
  const append = (name: string, soon = false, text = 'x') => appends.append(what(name, text), soon);
  const ring = (): void => held.filter(({ isOver }) => !isOver).forEach(({ call }) => call());
  return {
    append,
    appends,
    calls,
    sent: () => calls.map(({ of }) => of),
    timers: () => held.filter(({ isOver }) => !isOver).length,
    ring,
    /** So many come in so short a time that the next ones are worth a wait. */
    async crowd(): Promise<void> {
      for (let index = 0; index < 64; index += 1) void append('crowd').catch(() => {});
      now += 40;
      void append('crowd').catch(() => {});
      await turn();
      ring();
      calls.length = 0;
    },
    pass: (ms: number) => void (now += ms),
  };
}

async function turn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test('few appends wait for nothing', async () => {
  const { append, sent, timers, pass } = setUp();
  for (const name of ['a', 'b', 'c']) {
    void append(name);
    await turn();
    pass(20);
  }
  expect(sent()).toEqual([['a'], ['b'], ['c']]);
  expect(timers()).toBe(0);
});

test('where many come they wait for each other, and go in their order as one call', async () => {
  const { append, sent, crowd, ring } = setUp();
  await crowd();
  for (const name of ['a', 'b', 'c']) {
    void append(name);
    await turn();
  }
  expect(sent()).toEqual([]);
  ring();
  expect(sent()).toEqual([['a', 'b', 'c']]);
});

test('who comes with the first or last words of an attempt takes along what waits', async () => {
  const { append, appends, sent, crowd, timers } = setUp();
  await crowd();
  void append('a');
  void append('b', true);
  await turn();
  expect(sent()).toEqual([['a', 'b']]);
  void append('c');
  appends.hurry();
  await turn();
  expect(sent()).toEqual([['a', 'b'], ['c']]);
  appends.hurry();
  await turn();
  expect([sent().length, timers()]).toEqual([2, 0]);
});

test('after a crowd has gone nothing waits any more', async () => {
  const { append, sent, crowd, pass } = setUp();
  await crowd();
  pass(1_000);
  void append('a');
  await turn();
  expect(sent()).toEqual([['a']]);
});

test('a call holds at most 64 attempts and about 64 Ki characters; more goes in the next', async () => {
  const { append, sent, crowd, ring } = setUp();
  await crowd();
  for (let index = 0; index < 65; index += 1) void append(`${index}`);
  expect(sent().map(({ length }) => length)).toEqual([64]);
  void append('large', false, 'x'.repeat(65_536));
  void append('next');
  expect(sent().map(({ length }) => length)).toEqual([64, 1, 1]);
  ring();
  expect(sent()[3]).toEqual(['next']);
});

test('where the keys are on several masters each attempt has a call of its own', async () => {
  const { append, sent, crowd } = setUp(false);
  await crowd();
  for (const name of ['a', 'b', 'c']) void append(name);
  await turn();
  expect(sent()).toEqual([['a'], ['b'], ['c']]);
});

test('each gets the verdict at its place, and all get the error of the call', async () => {
  const { append, calls } = setUp();
  const first = Promise.allSettled([append('a'), append('b'), append('c'), append('d')]);
  await turn();
  calls[0]?.answer.resolve([7, 'no_room', '-OOM none left']);
  expect(await first).toMatchObject([
    { value: 'appended' },
    { value: 'no_room' },
    { reason: { name: 'ReplyError', message: 'OOM none left' } },
    { reason: { name: 'ReplyError' } },
  ]);
  const second = Promise.allSettled([append('a'), append('b')]);
  await turn();
  calls[1]?.answer.reject(new Error('gone'));
  expect(await second).toMatchObject([{ reason: { message: 'gone' } }, { reason: { message: 'gone' } }]);
});
