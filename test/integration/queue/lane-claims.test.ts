/** Jobs that are claimed as they are taken, and end together with their directives, on a real Redis; and the same when each command
 *  is repeated, as after a lost connection. It must never make an attempt. */
import { expect, test } from 'vitest';
import type { RunScript } from '../../../src/journal/scripts.ts';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import type { JobData } from '../../../src/queue/job.ts';
import { mayHaveRun } from '../../../src/queue/possible-execution.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { laneScriptsOn } from '../../../src/queue/lane-scripts.ts';
import {
  acceptance,
  claimOf,
  endOf,
  failureOf,
  jobOf,
  LANE,
  startedOf,
  toolCall,
} from '../../support/journal.ts';
import { granted, nameOf, takerOn, type TakerOptions } from '../../support/lane-taker.ts';
import { passDeadline } from '../../support/passed-deadline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';
import { setLeaseEnd } from '../../support/lease.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

/** Accepted, with its job. */
async function enqueued(fields: Parameters<typeof open.accepted>[0] = {}): Promise<ToolExec> {
  const call = await open.accepted(fields);
  await open.lanes.enqueue(LANE, acceptance(call).job?.data as JobData);
  return call;
}

/** Accepted together with its job: its body comes with the claim. */
async function submitted(fields: Partial<ToolExec> = {}): Promise<ToolExec> {
  const { connection, keys, lanes, journal } = open;
  expect(await laneScriptsOn(connection, keys.prefix).check()).toBeNull();
  const call = toolCall(fields);
  const together = {
    rowAfterMs: null,
    announcements: [],
    laneBase: lanes.scriptedBase(LANE),
  };
  await journal.accept(call.request_id, [acceptance(call)], { together });
  return call;
}

const openTaker = (options: TakerOptions = {}) => takerOn(open, options);

async function waitingAndActive(): Promise<[number, number]> {
  const { waiting, active } = await open.lanes.counts(LANE);
  return [waiting, active];
}

test.each([
  ['once', false],
  ['twice, as after a lost connection', true],
])(
  'each command runs %s: every job is taken, claimed and ended once, in its order',
  async (_name, repeats) => {
    const calls = [await enqueued(), await enqueued(), await enqueued()];
    const taker = openTaker({ repeats });
    expect((await taker.take('lock'))[1]).toBe(nameOf(calls[0] as ToolExec));
    expect(await waitingAndActive()).toEqual([2, 1]);
    for (const [position, call] of calls.entries()) {
      const job = await taker.held(call);
      const ref = granted(call, job?.verdict);
      expect(ref.fence).toBe(1);
      for (let count = repeats ? 2 : 1; count > 0; count -= 1)
        expect(await open.journal.reportStart(ref, grantedNow(), 60_000, startedOf(call))).not.toBeNull();
      const { kind } = await open.journal.finish(ref, 'succeeded', [endOf(call)], { withJob: job?.end });
      expect(kind).toBe(repeats ? 'already' : 'ended');
      expect(await waitingAndActive()).toEqual([Math.max(0, 1 - position), position < 2 ? 1 : 0]);
      const next = calls[position + 1];
      const last = repeats ? ['done'] : ['none', 0];
      expect(taker.endedWith(nameOf(call))?.slice(0, 2)).toEqual(next ? ['job', nameOf(next)] : last);
      expect(job?.slotPassed()).toBe(next !== undefined);
    }
    for (const call of calls) {
      expect((await open.log(call.request_id)).map(({ type }) => type)).toEqual([
        'ai.tool.started',
        'ai.tool.result',
      ]);
      expect(await open.journal.directive(call.request_id, call.id)).toMatchObject({
        fence: 1,
        redeliveries: 0,
      });
    }
    expect(taker.slots.free).toBe(1);
    expect(await open.jobs()).toBe(0);
  },
);

test('the body of what was accepted with its job comes with the claim, also for a repeat', async () => {
  for (const repeats of [false, true]) {
    const call = await submitted({ arguments: { text: 'ü"\\ \u2028' } });
    const taker = openTaker({ repeats });
    const [, name, , data] = await taker.take('lock');
    expect(name).toBe(nameOf(call));
    const { request_id, id, digest, ...rest } = JSON.parse(String(data)) as JobData;
    const stored = await open.connection.hget(open.keys.request(request_id)[1], id);
    expect(rest).toMatchObject({ envelope: JSON.parse(stored ?? '') as unknown, tool: 'test.echo' });
    expect([request_id, id, digest]).toEqual([call.request_id, call.id, acceptance(call).digest]);
    granted(call, (await taker.held(call))?.verdict);
  }
});

test('a job whose body is gone, or is no text, is taken without a claim', async () => {
  const calls = [await submitted(), await submitted()] as const;
  await open.connection.del(open.keys.request(calls[0].request_id)[1]);
  await open.connection.set(open.keys.request(calls[1].request_id)[1], 'no hash');
  const taker = openTaker();
  for (const call of calls) {
    expect((await taker.take('lock'))[1]).toBe(nameOf(call));
    expect([await taker.held(call), taker.slots.free]).toEqual([null, 2]);
  }
});

test('two takes at once are two jobs, and a sweeper looks when the lease of each ends', async () => {
  const calls = [await enqueued(), await enqueued()];
  const taker = openTaker({ repeats: true, leaseMs: 30_000 });
  const taken = await Promise.all([taker.take('one'), taker.take('two')]);
  expect(taken.map(([, id]) => String(id)).toSorted()).toEqual(calls.map(nameOf).toSorted());
  expect(taker.slots.free).toBe(0);
  for (const { request_id, id } of calls) {
    const record = await open.journal.directive(request_id, id);
    const look = await open.connection.zscore(open.keys.sweep, `${request_id}/${id}`);
    // A repeat extends the lease; who looks a little early looks again.
    expect(Number(look)).toBeLessThanOrEqual(record?.leaseUntil ?? 0);
  }
});

test('an end that is not written leaves its job, and takes nothing', async () => {
  const [call] = [await enqueued(), await enqueued()];
  const taker = openTaker();
  await taker.take('lock');
  const job = await taker.held(call);
  const ref = { ...granted(call, job?.verdict), fence: 7 };
  const end = { withJob: job?.end };
  expect(await open.journal.finish(ref, 'succeeded', [endOf(call)], end)).toEqual({ kind: 'stale' });
  expect([taker.endedWith(nameOf(call)), job?.slotPassed()]).toEqual([undefined, false]);
  expect(await waitingAndActive()).toEqual([1, 1]);
});

test('a directive that somebody else has ended gives its job up, and the next one is taken', async () => {
  const [call, next] = [await enqueued(), await enqueued()];
  const taker = openTaker();
  await taker.take('lock');
  const job = await taker.held(call);
  const ref = granted(call, job?.verdict);
  await open.journal.endUnclaimed(call.request_id, call.id, 'failed', [endOf(call)]);
  const verdict = await open.journal.finish(ref, 'succeeded', [endOf(call)], { withJob: job?.end });
  expect(verdict).toMatchObject({ kind: 'already', status: 'failed' });
  expect(taker.endedWith(nameOf(call))?.[1]).toBe(nameOf(next));
  expect(await waitingAndActive()).toEqual([0, 1]);
});

test.each<[string, (call: ToolExec) => Promise<unknown>]>([
  ['whose body has to be read first', (call) => open.lanes.enqueue(LANE, jobOf(call))],
  [
    'of a lane that another worker has declared serial',
    async (call) => {
      await open.serial.declare(LANE);
      await open.lanes.enqueue(LANE, acceptance(call).job?.data as JobData);
    },
  ],
])('a job %s is taken without a claim, and its slot is given back', async (_which, enqueue) => {
  const call = await open.accepted();
  await enqueue(call);
  const taker = openTaker();
  expect((await taker.take('lock'))[1]).toBe(nameOf(call));
  expect([await taker.held(call), taker.slots.free]).toEqual([null, 2]);
  expect(await open.journal.directive(call.request_id, call.id)).toMatchObject({ status: 'accepted' });
});

test('nothing is claimed without a slot, nor taken after an end that the worker does not go on from', async () => {
  const [first, second] = [await enqueued(), await enqueued()];
  let goesOn = true;
  const taker = openTaker({ mayGoOn: () => goesOn });
  await taker.take('one');
  const job = await taker.held(first);
  taker.slots.free = 0;
  await taker.take('two');
  expect(await taker.held(second)).toBeNull();
  await enqueued();
  goesOn = false;
  await open.journal.finish(granted(first, job?.verdict), 'succeeded', [endOf(first)], { withJob: job?.end });
  expect([taker.endedWith(nameOf(first)), job?.slotPassed()]).toEqual([['done'], false]);
  expect(await waitingAndActive()).toEqual([1, 1]);
});

/** Runs a script, and loses the first answer of an end. */
const loseAnswer = (run: RunScript): RunScript => {
  let isLost = false;
  return async (name, ...given) => {
    const reply = await run(name, ...given);
    if (name !== 'job-end' || isLost) return reply;
    isLost = true;
    throw new Error('the connection is closed');
  };
};

test.each<[string, (lock: string, active: string) => Promise<unknown>, boolean]>([
  ['whose lock ran out meanwhile', (lock) => open.connection.del(lock), true],
  [
    'though many newer ones are active',
    (_lock, active) =>
      open.connection.lpush(active, ...Array.from({ length: 100 }, (_, job) => `other/${job}`)),
    true,
  ],
  ['or none, where another worker has it', (lock) => open.connection.set(lock, 'another'), false],
  [
    'or none, where BullMQ has put it back',
    async (lock, active) => {
      await open.connection.del(lock);
      await open.connection.del(active);
    },
    false,
  ],
])('an end that is asked for again takes the job of the first time, %s', async (_which, happens, isTaken) => {
  const [first, second] = [await enqueued(), await enqueued()];
  await enqueued();
  const taker = openTaker({ script: loseAnswer });
  await taker.take('lock');
  const job = await taker.held(first);
  const ref = granted(first, job?.verdict);
  const end = () => open.journal.finish(ref, 'succeeded', [endOf(first)], { withJob: job?.end });
  await expect(end()).rejects.toThrow('closed');
  const base = `${lanePrefix(open.keys.prefix, LANE)}:${LANE}:`;
  await happens(`${base}${nameOf(second)}:lock`, `${base}active`);
  expect(await end()).toMatchObject({ kind: 'already', status: 'succeeded' });
  const expected = isTaken ? ['job', nameOf(second)] : ['done'];
  expect(taker.endedWith(nameOf(first))?.slice(0, 2)).toEqual(expected);
  expect([job?.slotPassed(), (await taker.held(second))?.verdict?.kind]).toEqual(
    isTaken ? [true, 'granted'] : [false, undefined],
  );
  const holder = await open.connection.get(`${base}${nameOf(second)}:lock`);
  expect(holder === 'lock').toBe(isTaken);
  expect((await waitingAndActive())[0]).toBe(1);
});

test('where an end has to be confirmed, its job keeps its lock until then, and the next one is taken after it', async () => {
  const [call, next] = [await enqueued(), await enqueued()];
  const taker = openTaker({ confirm: async () => async () => {} });
  await taker.take('lock');
  const job = await taker.held(call);
  const ref = granted(call, job?.verdict);
  await open.journal.finish(ref, 'succeeded', [endOf(call)], { withJob: job?.end });
  expect([taker.endedWith(nameOf(call)), job?.slotPassed()]).toEqual([undefined, false]);
  expect(await waitingAndActive()).toEqual([1, 1]);
  expect((await taker.done('lock', { id: nameOf(call) }, true))[1]).toBe(nameOf(next));
  expect((await taker.held(next))?.verdict?.kind).toBe('granted');
});

test('a claim that is not known to be durable is asked for again, and is the same claim', async () => {
  const call = await enqueued();
  const taker = openTaker({ confirm: async () => () => Promise.reject(new Error('no replica')) });
  await taker.take('lock');
  const job = await taker.held(call);
  expect(job).toMatchObject({ reply: null, verdict: null });
  const verdict = await open.journal.claim({ ...claimOf(call), token: job?.token ?? '' });
  expect(granted(call, verdict).fence).toBe(1);
  expect(verdict).toMatchObject({ owesStart: true });
});

test('what has ended or was cancelled says so as it is taken, and what is wrong with one directive does not stop its lane', async () => {
  const [ended, broken, last] = [await enqueued(), await enqueued(), await enqueued()];
  await open.journal.endUnclaimed(ended.request_id, ended.id, 'failed', [endOf(ended)]);
  const [state] = open.keys.request(broken.request_id);
  await open.connection.del(state);
  await open.connection.set(state, 'not a hash');
  const taker = openTaker();
  await taker.take('one');
  expect((await taker.held(ended))?.verdict).toMatchObject({ kind: 'ended' });
  taker.slots.free = 2;
  await taker.take('two');
  expect(await taker.held(broken)).toBeNull();
  await taker.take('three');
  expect(granted(last, (await taker.held(last))?.verdict).fence).toBe(1);
});

test('a start that was not reported before the worker died is reported by the next attempt', async () => {
  const call = await enqueued();
  const taker = openTaker({ leaseMs: 1 });
  await taker.take('lock');
  const first = granted(call, (await taker.held(call))?.verdict);
  await expect
    .poll(async () => (await open.journal.claim({ ...claimOf(call), token: 'second' })).kind)
    .toBe('granted');
  expect((await open.log(call.request_id)).map(({ type }) => type)).toEqual(['ai.tool.started']);
  expect(await open.journal.reportStart(first, grantedNow(), 60_000, startedOf(call))).toBeNull();
});

/** With time left. */
function grantedNow(): { now: number; deadlineAt: number } {
  return { now: Date.now(), deadlineAt: Date.now() + 60_000 };
}

function stateOf({ request_id }: ToolExec): string {
  return open.keys.request(request_id)[0];
}

/** As if its worker had been silent for the whole lease. */
async function endLease(call: ToolExec): Promise<void> {
  await setLeaseEnd(open.connection, stateOf(call), call.id, 1);
}

test('a worker that dies before it reports the start has made no attempt, and one that dies after it may have', async () => {
  const call = await enqueued({ effect: 'once' });
  const taker = openTaker();
  await taker.take('lock');
  const mayHave = async (): Promise<boolean> => {
    const record = await open.journal.directive(call.request_id, call.id);
    return record !== null && mayHaveRun(record, call);
  };
  expect(await mayHave()).toBe(false);
  await endLease(call);
  const second = { ...claimOf(call), token: 'second' };
  const next = { kind: 'granted', lost: false, redeliveries: 1, lostClaim: { fence: 1 } };
  expect(await open.journal.claim(second)).toMatchObject(next);
  expect(await open.journal.claim(second)).toMatchObject(next);
  expect(await mayHave()).toBe(true);
  await endLease(call);
  const third = { kind: 'granted', lost: true, redeliveries: 2, lostClaim: { fence: 2 } };
  expect(await open.journal.claim(claimOf(call))).toMatchObject(third);
});

test.each<[string, (call: ToolExec) => Promise<unknown>]>([
  ['cancelled', (call) => open.connection.hset(stateOf(call), `${call.id}|cancel`, 'by its caller')],
  ['expired', (call) => passDeadline(open, call.request_id, call.id)],
])('what is %s after its worker died before the start has made no attempt', async (kind, become) => {
  const call = await enqueued();
  const taker = openTaker();
  await taker.take('lock');
  await become(call);
  await endLease(call);
  const verdict = await open.journal.claim(claimOf(call));
  expect(verdict).toMatchObject({ kind, lost: false, lostClaim: { fence: 1 } });
});

test('no attempt begins past the deadline: whoever ends it may have looked before', async () => {
  const call = await enqueued();
  const { request_id, id } = call;
  const taker = openTaker();
  await taker.take('lock');
  const ref = granted(call, (await taker.held(call))?.verdict);
  const over = { now: Date.now(), deadlineAt: Date.now() - 1 };
  expect(await open.journal.reportStart(ref, over, 60_000, startedOf(call))).toBeNull();
  expect(await open.log(request_id)).toEqual([]);
  const looked = Number(await open.connection.zscore(open.keys.sweep, `${request_id}/${id}`));
  expect(looked).toBeLessThanOrEqual(Date.now());
  // The answer to a report that came in time was lost.
  await open.journal.reportStart(ref, grantedNow(), 60_000, startedOf(call));
  expect(await open.journal.reportStart(ref, over, 60_000, startedOf(call))).not.toBeNull();
});

test('what is cancelled after it was claimed does not begin, unless its start was reported before', async () => {
  const calls = [await enqueued(), await enqueued()];
  const taker = openTaker();
  const begins = [];
  for (const [nth, call] of calls.entries()) {
    await taker.take(`worker:${nth}`);
    const ref = granted(call, (await taker.held(call))?.verdict);
    const start = async () => open.journal.reportStart(ref, grantedNow(), 60_000, startedOf(call));
    if (nth === 1) await start();
    await open.connection.hset(stateOf(call), `${call.id}|cancel`, 'by its caller');
    begins.push([await start(), (await open.log(call.request_id)).map(({ type }) => type)]);
  }
  expect(begins).toEqual([
    ['cancelled', []],
    [expect.any(Number), ['ai.tool.started']],
  ]);
});

test('a cancellation that knows of no attempt ends nothing that has begun meanwhile', async () => {
  const call = await enqueued({ effect: 'once' });
  const { request_id, id } = call;
  const taker = openTaker();
  await taker.take('lock');
  const ref = granted(call, (await taker.held(call))?.verdict);
  const seen = await open.journal.directive(request_id, id);
  await open.journal.reportStart(ref, grantedNow(), 60_000, startedOf(call));
  await endLease(call);
  const cancelled = await open.journal.cancel(
    request_id,
    id,
    failureOf(call, 'cancelled'),
    '',
    seen ?? undefined,
  );
  expect(cancelled).toEqual({ kind: 'changed' });
});

test('the lease begins anew with the report of the start, unless it has run out', async () => {
  const [call, late] = [await enqueued(), await enqueued()];
  const taker = openTaker({ leaseMs: 5_000 });
  const leaseOf = async ({ request_id, id }: ToolExec) =>
    (await open.journal.directive(request_id, id))?.leaseUntil ?? 0;
  const refs = [];
  for (const each of [call, late]) {
    await taker.take('lock');
    refs.push(granted(each, (await taker.held(each))?.verdict));
  }
  const [first, second] = refs as [(typeof refs)[0], (typeof refs)[0]];
  for (const leaseMs of [60_000, 90_000]) {
    const now = await open.journal.reportStart(first, grantedNow(), leaseMs, startedOf(call));
    expect(await leaseOf(call)).toBe(Number(now) + leaseMs);
  }
  await endLease(late);
  expect(await open.journal.reportStart(second, grantedNow(), 60_000, startedOf(late))).toBeNull();
  expect([await leaseOf(late), await open.log(late.request_id)]).toEqual([1, []]);
});
