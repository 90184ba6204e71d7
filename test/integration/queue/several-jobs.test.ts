/** Several jobs that a worker takes at once, on a real Redis: each is taken, claimed and ended once, also when each command is repeated.
 *  It must never make an attempt, but where a whole consumer is looked at. */
import { expect, test } from 'vitest';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import { decodeEnvelope } from '../../../src/journal/envelope.ts';
import { claimWords } from '../../../src/queue/lane-claims.ts';
import { consumeLane } from '../../../src/queue/consume.ts';
import { laneBackend } from '../../../src/queue/lane-backend.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { eventually } from '../../support/eventually.ts';
import { acceptance, endOf, jobOf, LANE } from '../../support/journal.ts';
import { granted, nameOf, takerOn, type TakerOptions } from '../../support/lane-taker.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));
const REPEATS: [string, boolean][] = [
  ['once', false],
  ['twice, as after a lost connection', true],
];
const openTaker = (options: TakerOptions = {}) => takerOn(open, options);

/** So many, each with a job that brings its body. */
async function enqueued(count: number): Promise<ToolExec[]> {
  const calls: ToolExec[] = [];
  for (let at = 0; at < count; at += 1) {
    const call = await open.accepted();
    await open.lanes.enqueue(LANE, { ...jobOf(call), envelope: decodeEnvelope(acceptance(call).envelope) });
    calls.push(call);
  }
  return calls;
}

const lockOf = (base: string, call: ToolExec): string => `${base}${nameOf(call)}:lock`;

test.each(REPEATS)(
  'each command runs %s: a quarter of those that wait is taken at once, in its order',
  async (_how, repeats) => {
    const calls = await enqueued(13);
    const taker = openTaker({ repeats, free: 10 });
    for (const [nth, call] of calls.slice(0, 3).entries()) {
      expect((await taker.take(`worker:${nth + 7}`))[1]).toBe(nameOf(call));
      expect(taker.hasReady()).toBe(nth < 2);
    }
    expect(await open.lanes.counts(LANE)).toMatchObject({ waiting: 10, active: 3 });
    expect(taker.slots.free).toBe(7);
    for (const [nth, call] of calls.slice(0, 3).entries()) {
      expect(await open.connection.get(lockOf(taker.base, call))).toBe(`worker:${nth + 7}`);
      const job = await taker.held(call);
      const ref = granted(call, job?.verdict);
      expect(ref.fence).toBe(1);
      const { kind } = await open.journal.finish(ref, 'succeeded', [endOf(call)], { withJob: job?.end });
      expect(kind).toBe(repeats ? 'already' : 'ended');
      expect(job?.slotPassed()).toBe(true);
      expect(taker.endedWith(nameOf(call))?.[1]).toBe(nameOf(calls[nth + 3] as ToolExec));
    }
    expect(await open.lanes.counts(LANE)).toMatchObject({ waiting: 7, active: 3 });
  },
);

test('no more are taken than there are slots, nor any with the first where an end has to be confirmed', async () => {
  const [first] = await enqueued(40);
  const narrow = openTaker({ free: 3 });
  expect((await narrow.take('narrow:0'))[1]).toBe(nameOf(first as ToolExec));
  expect([narrow.slots.free, (await open.lanes.counts(LANE)).active]).toEqual([0, 3]);
  const careful = openTaker({ free: 20, confirm: async () => async () => {} });
  await careful.take('careful:0');
  expect([careful.slots.free, (await open.lanes.counts(LANE)).active, careful.hasReady()]).toEqual([
    19,
    4,
    false,
  ]);
});

test('the slots of a take that fails, or finds fewer than it could hold, are given back', async () => {
  await enqueued(8);
  const failing = openTaker({
    free: 20,
    script: () => () => Promise.reject(new Error('the connection is closed')),
  });
  await expect(failing.take('worker:0')).rejects.toThrow('closed');
  expect(failing.slots.free).toBe(20);
  const taker = openTaker({ free: 20 });
  await taker.take('worker:0');
  expect(taker.slots.free).toBe(18);
});

test('what others have taken over meanwhile is no part of a repeat, and its place is kept', async () => {
  const calls = await enqueued(12);
  const [first, second, third] = calls as [ToolExec, ToolExec, ToolExec];
  let isFirst = true;
  const taker = openTaker({
    free: 10,
    script:
      (run) =>
      async (name, ...given) => {
        const reply = await run(name, ...given);
        if (!isFirst) return reply;
        isFirst = false;
        await open.connection.set(lockOf(taker.base, first), 'another');
        return run(name, ...given);
      },
  });
  expect((await taker.take('worker:0'))[0]).toBe('none');
  expect((await taker.take('worker:1'))[1]).toBe(nameOf(second));
  expect((await taker.take('worker:2'))[1]).toBe(nameOf(third));
  expect([taker.slots.free, await taker.held(first)]).toEqual([8, null]);
  granted(second, (await taker.held(second))?.verdict);
  expect((await open.lanes.counts(LANE)).waiting).toBe(9);
});

test.each(REPEATS)(
  'each command runs %s: a take ends before a job that is none of ours, and those behind it are left',
  async (_how, repeats) => {
    const calls = await enqueued(20);
    const [first, second, third] = calls as [ToolExec, ToolExec, ToolExec];
    const taker = openTaker({ repeats, free: 10 });
    await open.connection.hset(`${taker.base}${nameOf(third)}`, 'rjk', 'of a schedule');
    expect((await taker.take('worker:0'))[1]).toBe(nameOf(first));
    expect((await taker.take('worker:1'))[1]).toBe(nameOf(second));
    expect([taker.hasReady(), taker.slots.free]).toEqual([false, 8]);
    for (const call of [first, second]) granted(call, (await taker.held(call))?.verdict);
    expect(await open.lanes.counts(LANE)).toMatchObject({ waiting: 18, active: 2 });
    expect(await open.connection.exists(lockOf(taker.base, third))).toBe(0);
  },
);

test('a job that is asked for with another lock than it was taken with gets that one, unless somebody else has it', async () => {
  const calls = await enqueued(16);
  const [, second, third] = calls as [ToolExec, ToolExec, ToolExec];
  const taker = openTaker({ free: 10 });
  await taker.take('worker:5');
  expect((await taker.take('worker:0'))[1]).toBe(nameOf(second));
  expect(await open.connection.get(lockOf(taker.base, second))).toBe('worker:0');
  const job = await taker.held(second);
  const end = { withJob: job?.end };
  await open.journal.finish(granted(second, job?.verdict), 'succeeded', [endOf(second)], end);
  expect(await open.connection.exists(lockOf(taker.base, second))).toBe(0);
  await open.connection.set(lockOf(taker.base, third), 'another');
  const free = taker.slots.free;
  expect((await taker.take('worker:1'))[0]).toBe('none');
  expect([taker.slots.free, await taker.held(third)]).toEqual([free + 1, null]);
  expect(await open.connection.get(lockOf(taker.base, third))).toBe('another');
});

test('who asks while several are on their way gets one of them, and so does who ends a job: no slot is left for another', async () => {
  const calls = await enqueued(16);
  const lifted: (() => void)[] = [];
  let isHeldUp = false;
  const taker = openTaker({
    free: 1,
    script:
      (run) =>
      async (...given) => {
        const reply = await run(...given);
        if (isHeldUp && given[0] === 'job-take')
          await new Promise<void>((resolve) => void lifted.push(resolve));
        return reply;
      },
  });
  const [first, second, third, fourth] = calls.map(nameOf);
  expect((await taker.take('worker:0'))[1]).toBe(first);
  taker.slots.free = 3;
  isHeldUp = true;
  const taken = taker.take('worker:1');
  await eventually(() => lifted).toHaveLength(1);
  const asked = taker.take('worker:9');
  const ended = taker.done('worker:0', { id: String(first) }, true);
  isHeldUp = false;
  for (const lift of lifted) lift();
  expect((await taken)[1]).toBe(second);
  expect(new Set([(await asked)[1], (await ended)[1]])).toEqual(new Set([third, fourth]));
  for (const call of calls.slice(1, 4)) granted(call, (await taker.held(call))?.verdict);
  expect(await open.lanes.counts(LANE)).toMatchObject({ waiting: 12, active: 3 });
});

test('one job comes beside an end that takes another, whose job may come without a claim', async () => {
  const calls = await enqueued(16);
  const lifted: (() => void)[] = [];
  const taker = openTaker({
    free: 1,
    script:
      (run) =>
      async (...given) => {
        if (given[0] === 'job-done') await new Promise<void>((resolve) => void lifted.push(resolve));
        return run(...given);
      },
  });
  await taker.take('worker:0');
  const ended = taker.done('worker:0', { id: nameOf(calls[0] as ToolExec) }, true);
  taker.slots.free = 8;
  await taker.take('worker:1');
  expect([taker.hasReady(), taker.slots.free]).toEqual([false, 7]);
  await eventually(() => lifted).toHaveLength(1);
  lifted[0]?.();
  expect((await ended)[0]).toBe('job');
});

test.each([
  ['refuses it', false],
  ['does it, and its answer is lost', true],
])(
  'a ready job whose other lock fails since Redis %s is handed on to whoever asks next, with its claim',
  async (_how, runs) => {
    const [, second] = (await enqueued(8)) as [ToolExec, ToolExec];
    let isCut = true;
    const taker = openTaker({
      free: 2,
      script:
        (run) =>
        async (name, ...given) => {
          if (name !== 'job-relock' || !isCut) return run(name, ...given);
          isCut = false;
          if (runs) await run(name, ...given);
          throw new Error('no answer');
        },
    });
    await taker.take('worker:5');
    await expect(taker.take('worker:0')).rejects.toThrow('no answer');
    expect([taker.hasReady(), taker.slots.free]).toEqual([true, 0]);
    expect((await taker.take('worker:1'))[1]).toBe(nameOf(second));
    expect([taker.hasReady(), taker.slots.free]).toEqual([false, 0]);
    expect(await open.connection.get(lockOf(taker.base, second))).toBe('worker:1');
    const job = await taker.held(second);
    const ref = granted(second, job?.verdict);
    expect(ref.fence).toBe(1);
    await open.journal.finish(ref, 'succeeded', [endOf(second)], { withJob: job?.end });
    expect(await open.connection.exists(lockOf(taker.base, second))).toBe(0);
  },
);

test('a worker that waits for the marker of its lane is left no ready jobs', async () => {
  await enqueued(16);
  const { connection, keys } = open;
  const taker = openTaker({ free: 10 });
  const options = { connection, prefix: lanePrefix(keys.prefix, LANE), skipVersionCheck: true };
  const flags = { withBlockingConnection: true };
  const backend = laneBackend(connection, () => true, undefined, taker.claims)(LANE, options, flags);
  await connection.del(`${taker.base}marker`);
  const waited = backend.waitForJob(60);
  await backend.moveToActive('worker:0');
  expect([taker.claims.ready.any(), taker.slots.free]).toEqual([false, 9]);
  await waited;
  await backend.close();
});

test('a worker does not wait for the marker of its lane while jobs are ready for it', async () => {
  const calls = await enqueued(8);
  const { connection, keys } = open;
  const taker = openTaker({ free: 10 });
  const options = { connection, prefix: lanePrefix(keys.prefix, LANE), skipVersionCheck: true };
  const backend = laneBackend(connection, () => true, undefined, taker.claims)(LANE, options);
  expect((await backend.moveToActive('worker:0'))[1]).toBe(nameOf(calls[0] as ToolExec));
  await connection.del(`${taker.base}marker`);
  expect(await backend.waitForJob(60)).toMatchObject({ score: 0 });
  expect((await backend.moveToActive('worker:1'))[1]).toBe(nameOf(calls[1] as ToolExec));
  await backend.close();
});

test.each([
  ['limited', () => open.lanes.pauseFor(LANE, 60_000)],
  ['paused by a tool', (base: string) => open.connection.hset(`${base}meta`, 'paused', 1)],
  ['full over all workers', (base: string) => open.connection.hset(`${base}meta`, 'concurrency', 1)],
])(
  'ready jobs are handed on in their order, though their lane is %s since they were taken',
  async (_how, hold) => {
    const calls = await enqueued(13);
    const { connection, keys } = open;
    const taker = openTaker({ free: 1 });
    const options = { connection, prefix: lanePrefix(keys.prefix, LANE), skipVersionCheck: true };
    const backend = laneBackend(connection, () => true, undefined, taker.claims)(LANE, options);
    const [first] = calls as [ToolExec];
    await backend.moveToActive('worker:0');
    taker.slots.free = 8;
    await backend.moveToActive('worker:1');
    await hold(taker.base);
    const held = await taker.held(first);
    await open.journal.finish(granted(first, held?.verdict), 'succeeded', [endOf(first)], {
      withJob: held?.end,
    });
    const job = { id: nameOf(first), opts: {}, attemptsMade: 0 };
    const completed = await backend.moveToCompleted(job as never, null, false as never, 'worker:0', true);
    // Neither a job nor a limit, which would keep BullMQ's worker from asking.
    expect((completed.result as unknown[]).slice(0, 3)).toEqual([null, 0, 0]);
    for (const call of calls.slice(2, 4))
      expect((await backend.moveToActive(`worker:${calls.indexOf(call)}`))[1]).toBe(nameOf(call));
    expect(taker.hasReady()).toBe(false);
    expect((await backend.moveToActive('worker:9'))[0]).toBeFalsy();
    await backend.close();
  },
);

/** A consumer of eight slots whose jobs go on until they are let go. `onTake`: called once, when its first take of several has been sent. */
function openConsumer(onTake: () => void) {
  const { connection, keys } = open;
  const handled: string[] = [];
  /** As each began. */
  const freeSlots: number[] = [];
  const going: (() => void)[] = [];
  let [free, reserved] = [8, 0];
  const consumer = consumeLane({
    lane: LANE,
    prefix: keys.prefix,
    connection,
    concurrency: 8,
    lockMs: 30_000,
    stalledCheckMs: 30_000,
    async handle({ id }) {
      handled.push(id);
      freeSlots.push(free);
      await new Promise<void>((resolve) => going.push(resolve));
      return { kind: 'done' };
    },
    claiming: {
      words: claimWords({ lane: LANE, leaseMs: 60_000, keyPrefix: keys.prefix, serial: '', owesStart: true }),
      sweep: keys.sweep,
      confirm: async () => null,
      reserve() {
        reserved += 1;
        if (reserved === 2) queueMicrotask(onTake);
        return free > 0 && (free -= 1) >= 0;
      },
      release: () => void (free += 1),
      mayGoOn: () => true,
    },
    onError: () => {},
  });
  const letAllGo = (): void => going.splice(0).forEach((resolve) => resolve());
  return { consumer, handled, freeSlots, letAllGo };
}

test('a job begins before the other slots of its worker are filled', async () => {
  const working = openConsumer(() => {});
  await enqueued(16);
  await working.consumer.start();
  await eventually(() => working.handled).toHaveLength(8);
  expect(working.freeSlots[0]).toBe(4);
  const stopped = working.consumer.stop();
  const letting = setInterval(working.letAllGo, 5);
  await stopped;
  clearInterval(letting);
});

test.each([['pause'], ['stop']] as const)(
  'jobs that were taken together are handled, though the consumer was to %s before they arrived',
  async (how) => {
    let ended: Promise<void> | undefined;
    const working = openConsumer(() => {
      ended = working.consumer[how]();
    });
    const calls = await enqueued(16);
    await working.consumer.start();
    const active = async (): Promise<number> => (await open.lanes.counts(LANE)).active;
    await eventually(() => working.handled.length).toBeGreaterThanOrEqual(4);
    const letting = setInterval(working.letAllGo, 5);
    await ended;
    await eventually(active).toBe(0);
    clearInterval(letting);
    expect(working.handled).toEqual(calls.slice(0, working.handled.length).map(({ id }) => id));
    expect((await open.lanes.counts(LANE)).waiting).toBe(16 - working.handled.length);
    if (how === 'pause') await working.consumer.stop();
  },
);
