/** The sweeper on a real Redis: directives without a job, without a worker, or lost.
 *  It must never wait for the sweeper's patience: entries are made due by their scores. */
import { randomUUID } from 'node:crypto';
import { Worker } from 'bullmq';
import { describe, expect, test, vi } from 'vitest';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { untilHolds } from '../../support/eventually.ts';
import { done, fails, inTurn } from '../../support/executors.ts';
import { claimOf, dueAt, endOf, jobOf, LANE, toolCall } from '../../support/journal.ts';
import { passDeadline } from '../../support/passed-deadline.ts';
import { call as submitted, errorOf, openPipeline } from '../../support/pipeline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const PAST = 1;
const succeed = inTurn(done).execute;

/** Accepted and due for a check, but never enqueued: the submitter died in between. */
const acceptOnly = (fields: Partial<ToolExec> = {}) => open.accepted(fields, PAST);

/** Several sweepers at once. */
const threeSweepers = () => Promise.all([1, 2, 3].map(() => open.sweeper().sweep()));

async function makeDue(): Promise<void> {
  const members = await open.connection.zrange(open.keys.sweep, '0', '-1');
  if (members.length === 0) return;
  await open.connection.zadd(open.keys.sweep, ...members.flatMap((member) => [PAST, member]));
}

/** Due again, with the mark of what was recorded. */
async function makeSettledDue(): Promise<void> {
  const [member = '', score = ''] = await open.connection.zrange(open.keys.sweep, '0', '-1', 'WITHSCORES');
  expect(Number(score) % 1).toBe(0.25);
  await open.connection.zadd(open.keys.sweep, PAST + 0.25, member);
}

/** The deadline is Redis' own; it passes within milliseconds. */
async function passed(call: Pick<ToolExec, 'request_id' | 'id'>): Promise<void> {
  await untilHolds(async () => {
    const [seconds, micros] = await open.connection.time();
    const record = await open.recordOf(call);
    expect(Number(seconds) * 1000 + Number(micros) / 1000).toBeGreaterThan(record?.deadlineAt ?? Infinity);
  });
}

const terminals = async (call: ToolExec): Promise<string[]> =>
  (await open.typesOf(call)).filter((type) => type === 'ai.tool.result');

async function emptied(): Promise<void> {
  await untilHolds(async () => expect(await open.index.size()).toBe(0));
}

describe('a directive that was accepted but never enqueued', () => {
  test('leaves no job behind when it ends while the sweeper enqueues it', async () => {
    const call = await acceptOnly();
    const { enqueue } = open.lanes;
    vi.spyOn(open.lanes, 'enqueue').mockImplementationOnce(async (...job) => {
      await open.client.cancel(call.request_id, call.id);
      return enqueue(...job);
    });
    await open.sweeper().sweep();
    expect(await terminals(call)).toHaveLength(1);
    expect(await open.jobs()).toBe(0);
  });

  test('is enqueued, even if it is large', async () => {
    const call = await acceptOnly({ arguments: { text: 'x'.repeat(100_000) } });
    expect(await open.jobs()).toBe(0);
    await open.sweeper().sweep();
    expect(await open.jobs()).toBe(1);
    const lengths: number[] = [];
    await open.startWorker(async ({ arguments: given }) => {
      lengths.push(String(given['text']).length);
      return done;
    });
    await open.resultOf(call);
    expect(lengths).toEqual([100_000]);
  });

  test('and is enqueued by several sweepers runs once', async () => {
    const calls = await Promise.all(Array.from({ length: 50 }, () => acceptOnly()));
    const { execute, ran } = inTurn(done);
    await open.startWorker(execute);
    await threeSweepers();
    await Promise.all(calls.map((call) => open.resultOf(call)));
    await makeDue();
    await threeSweepers();
    expect(ran).toHaveLength(50);
  });
});

test('a directive that has failed and left a task is a dead letter at once; after 10 minutes the task is given up, which is reported', async () => {
  const worker = await open.startWorker(async (_directive, { tasks }) => {
    await tasks?.keep('a task');
    return { ...fails('executor'), unwithdrawn: true };
  });
  const call = submitted();
  await open.client.execute(call);
  await untilHolds(async () => expect(await open.dead.size()).toBe(1));
  await worker.stop();
  const given: unknown[] = [];
  const sweep = async (): Promise<void> => {
    await makeDue();
    await open.sweeper(50, undefined, { onTaskGivenUp: (left) => void given.push(left) }).sweep();
  };
  await sweep();
  expect([await open.jobs(), given]).toEqual([1, []]);
  const [state] = open.keys.request(call.request_id);
  await open.connection.hset(state, `${call.id}|ended_at`, PAST);
  await sweep();
  expect(given).toEqual([{ requestId: call.request_id, id: call.id, lane: LANE }]);
  expect([await open.jobs(), await open.dead.size()]).toEqual([0, 1]);
  await emptied();
});

describe('a deadline that passed', () => {
  test('in a lane without workers ends the directive, and its job is gone', async () => {
    const call = submitted({ deadline_ms: 1 });
    await open.client.submit(call);
    await passed(call);
    await makeDue();
    await open.sweeper().sweep();
    expect(errorOf(await open.resultOf(call))).toMatchObject({
      type: 'deadline_exceeded',
      retryable: false,
      details: { deadline_ms: 1, status: 'accepted', attempts: 0 },
    });
    expect(await open.recordOf(call)).toMatchObject({ status: 'failed' });
    expect(await open.jobs()).toBe(0);
    await makeSettledDue();
    await open.sweeper().sweep();
    await emptied();
    expect(await open.keysWithoutExpiry()).toEqual([]);
  });

  test('removes a job that came after the end, and lists the directive once as dead letter', async () => {
    const call = await acceptOnly({ deadline_ms: 1 });
    await passed(call);
    await open.sweeper().sweep();
    await open.lanes.enqueue(LANE, jobOf(call));
    const buried = await open.connection.zrange(open.keys.dead('default'), '0', '-1', 'WITHSCORES');
    await makeSettledDue();
    await open.sweeper().sweep();
    expect(await open.jobs()).toBe(0);
    await emptied();
    expect(await open.connection.zrange(open.keys.dead('default'), '0', '-1', 'WITHSCORES')).toEqual(buried);
  });

  test('is recorded once by many sweepers', async () => {
    const calls = await Promise.all(Array.from({ length: 50 }, () => acceptOnly({ deadline_ms: 1 })));
    for (const call of calls) await passed(call);
    await threeSweepers();
    for (const call of calls) expect(await terminals(call)).toHaveLength(1);
  });

  test('ends a directive whose worker died, and refuses later signals of that worker', async () => {
    const call = await acceptOnly();
    const ref = await open.claimed(call);
    await passDeadline(open, call.request_id, call.id);
    await open.sweeper().sweep();
    expect(await open.journal.finish(ref, 'succeeded', [endOf(call)])).toMatchObject({ kind: 'already' });
    const log = await open.log(call.request_id);
    expect(log.map(({ type }) => type)).toEqual(['ai.tool.started', 'ai.tool.result']);
    expect(errorOf(log.at(-1) ?? null)).toMatchObject({ details: { status: 'running', attempts: 1 } });
  });
});

describe('a job whose worker died', () => {
  /** Takes the job like a worker, and never returns: only BullMQ's lock remains of it. */
  async function takeJob(lockMs: number): Promise<void> {
    const { connection, prefix } = open;
    const lane = { connection, prefix: lanePrefix(prefix, LANE), lockDuration: lockMs };
    const worker = new Worker(LANE, null, { ...lane, skipStalledCheck: true });
    await untilHolds(async () => expect(await worker.getNextJob('gone')).toBeDefined());
    await worker.close(true);
  }

  async function lose(lockMs: number): Promise<ToolExec> {
    const call = await acceptOnly({ effect: 'read' });
    await open.lanes.enqueue(LANE, jobOf(call));
    await takeJob(lockMs);
    await open.journal.claim(claimOf(call, 1));
    expect(await open.lanes.counts(LANE)).toMatchObject({ active: 1, waiting: 0 });
    return call;
  }

  test('is enqueued again by the sweeper as soon as neither lease nor lock holds, without a check by a worker', async () => {
    await lose(200);
    await untilHolds(async () => {
      await makeDue();
      await open.sweeper().sweep();
      expect(await open.lanes.counts(LANE)).toMatchObject({ active: 0, waiting: 1 });
    });
  });

  test('is checked at the end of the lease, also if its worker took it before the sweeper planned that', async () => {
    const call = await acceptOnly({ effect: 'read' });
    const enqueue = open.lanes.enqueue;
    vi.spyOn(open.lanes, 'enqueue').mockImplementation(async (...job) => {
      await enqueue(...job);
      await open.journal.claim(claimOf(call, 1_000));
    });
    await open.sweeper().sweep();
    const record = await open.recordOf(call);
    const [, score] = await open.connection.zrange(open.keys.sweep, '0', '-1', 'WITHSCORES');
    expect(record?.status).toBe('running');
    expect(Number(score)).toBeLessThanOrEqual(record?.leaseUntil ?? 0);
  });

  test('stays with its worker while BullMQ holds it for that one', async () => {
    await lose(60_000);
    await makeDue();
    await open.sweeper().sweep();
    expect(await open.lanes.counts(LANE)).toMatchObject({ active: 1, waiting: 0 });
  });

  test('keeps its place when it waits in its lane', async () => {
    const [lost, other] = [await acceptOnly({ effect: 'read' }), await acceptOnly()];
    await open.lanes.enqueue(LANE, jobOf(lost));
    await open.lanes.enqueue(LANE, jobOf(other));
    await open.journal.claim(claimOf(lost, 1));
    await makeDue();
    await open.sweeper().sweep();
    const { execute, ran } = inTurn(done);
    await open.startWorker(execute, { concurrency: 1 });
    await Promise.all([lost, other].map((call) => open.resultOf(call)));
    expect(ran).toEqual([lost.id, other.id]);
  });
});

describe('inconsistent state', () => {
  test('a job without a directive is removed, without a signal', async () => {
    const call = toolCall();
    await open.lanes.enqueue(LANE, { ...jobOf(call), digest: 'd' });
    const worker = await open.startWorker(succeed);
    await untilHolds(async () => expect(await open.jobs()).toBe(0));
    await worker.stop();
    expect(await open.log(call.request_id)).toEqual([]);
    expect(await open.connection.exists(...open.keys.request(call.request_id))).toBe(0);
    expect(open.errors).toEqual([]);
  });

  test('a job with another body than was accepted runs what was accepted', async () => {
    const call = await acceptOnly({ arguments: { accepted: true } });
    const forged = { ...call, arguments: { accepted: false } };
    const envelope = { directive: forged, lane: LANE, traceparent: '' };
    await open.lanes.enqueue(LANE, { ...jobOf(call), digest: 'forged', envelope });
    const given: unknown[] = [];
    await open.startWorker(async (directive) => {
      given.push(directive.arguments);
      return done;
    });
    await open.resultOf(call);
    expect(given).toEqual([{ accepted: true }]);
  });

  test('an index entry without a directive is checked once more, then forgotten', async () => {
    const ref = { requestId: randomUUID(), id: 'a' };
    await open.index.add([ref], PAST);
    await open.sweeper().sweep();
    expect(await dueAt(open, Date.now() + 65_000)).toEqual([ref]);
    expect(await dueAt(open, Date.now() + 55_000)).toEqual([]);
    await open.connection.zadd(open.keys.sweep, PAST + 0.5, `${ref.requestId}/${ref.id}`);
    await open.sweeper().sweep();
    await emptied();
  });
});

describe('sweeping', () => {
  test('leaves the work of a living worker alone', async () => {
    const call = await acceptOnly();
    await open.journal.claim(claimOf(call, 60_000));
    await open.sweeper().sweep();
    expect(await open.jobs()).toBe(0);
    expect(await dueAt(open, Date.now())).toEqual([]);
    expect(await open.index.size()).toBe(1);
  });

  test('goes on by itself until the index is empty, with several sweepers and more than one batch', async () => {
    const calls = await Promise.all(Array.from({ length: 450 }, () => acceptOnly()));
    for (const sweeper of [open.sweeper(), open.sweeper()]) await sweeper.start();
    // A busy machine keeps the worker from extending its jobs for more than a second.
    await open.startWorker(succeed, { lockMs: 60_000 });
    const ends = await Promise.all(calls.map((call) => open.resultOf(call)));
    expect(ends.every((signal) => signal?.type === 'ai.tool.result')).toBe(true);
    for (const call of calls) expect(await terminals(call)).toHaveLength(1);
    await makeDue();
    await emptied();
    expect(open.errors).toEqual([]);
  });

  test('is taken over when the active sweeper is gone', async () => {
    const call = await acceptOnly();
    expect((await open.index.take(10)).entries).toHaveLength(1);
    await open.sweeper().start();
    await open.startWorker(succeed);
    expect(await open.resultOf(call)).not.toBeNull();
  });

  test('one entry that cannot be checked does not block the others', async () => {
    const broken = randomUUID();
    const [state] = open.keys.request(broken);
    await open.connection.set(state, 'no hash', 'PX', 60_000);
    await open.index.add([{ requestId: broken, id: 'a' }], PAST - 1);
    const call = await acceptOnly();
    await open.startWorker(succeed);
    await open.sweeper().start();
    expect(await open.resultOf(call)).not.toBeNull();
    await untilHolds(() => expect(open.errors[0]?.message).toMatch(/WRONGTYPE/));
  });
});
