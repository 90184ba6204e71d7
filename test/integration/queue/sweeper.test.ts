/** The sweeper on a real Redis: directives without a job, without a worker, or lost.
 *  It must never wait for the sweeper's patience: entries are made due by their scores. */
import { randomUUID } from 'node:crypto';
import { Worker } from 'bullmq';
import { describe, expect, test, vi } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { acceptance, claimOf, dueAt, endOf, toolCall, LANE } from '../../support/journal.ts';
import { errorOf, openPipeline, type Pipeline } from '../../support/pipeline.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

const PAST = 1;
const done = async () => ({ result: okResult('done') });

/** Accepted and due for a check, but never enqueued: the submitter died in between. */
async function acceptUnrung(open: Pipeline, fields: Partial<ToolExec> = {}): Promise<ToolExec> {
  const call = toolCall({ tool_name: 'test.echo', ...fields });
  await open.index.add([{ requestId: call.request_id, id: call.id }], PAST);
  await open.journal.accept(call.request_id, [acceptance(call, LANE)]);
  return call;
}

async function makeDue(open: Pipeline): Promise<void> {
  const members = await open.connection.zrange(open.keys.sweep, '0', '-1');
  if (members.length === 0) return;
  await open.connection.zadd(open.keys.sweep, ...members.flatMap((member) => [PAST, member]));
}

/** Due again, with the mark of what was recorded. */
async function makeSettledDue(open: Pipeline): Promise<void> {
  const [member = '', score = ''] = await open.connection.zrange(open.keys.sweep, '0', '-1', 'WITHSCORES');
  expect(Number(score) % 1).toBe(0.25);
  await open.connection.zadd(open.keys.sweep, PAST + 0.25, member);
}

/** The deadline is Redis' own; it passes within milliseconds. */
async function passed(open: Pipeline, { request_id, id }: ToolExec): Promise<void> {
  await vi.waitFor(async () => {
    const [seconds, micros] = await open.connection.time();
    const record = await open.journal.directive(request_id, id);
    expect(Number(seconds) * 1000 + Number(micros) / 1000).toBeGreaterThan(record?.deadlineAt ?? Infinity);
  });
}

const terminals = async (open: Pipeline, requestId: string): Promise<string[]> =>
  (await open.log(requestId)).filter(({ type }) => type === 'ai.tool.result').map(({ id }) => id);

async function emptied(open: Pipeline): Promise<void> {
  await vi.waitFor(async () => expect(await open.index.size()).toBe(0), 10_000);
}

describe('a directive that was accepted but never enqueued', () => {
  test('is enqueued', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open);
    expect(await open.jobs()).toBe(0);
    await open.sweeper().sweep();
    expect(await open.jobs()).toBe(1);
    await open.startWorker(done);
    expect(await open.client.result(call.request_id, call.id)).toMatchObject({
      data: { result: { ok: true } },
    });
  });

  test('that is large is enqueued too', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open, { arguments: { text: 'x'.repeat(100_000) } });
    await open.sweeper().sweep();
    await open.startWorker(async ({ arguments: given }) => ({
      result: okResult(String(given['text']).length),
    }));
    expect((await open.client.result(call.request_id, call.id))?.data).toMatchObject({
      result: { payload: 100_000 },
    });
  });

  test('and is enqueued by several sweepers runs once', async () => {
    await using open = await openPipeline(redis.url);
    const calls = await Promise.all(Array.from({ length: 50 }, () => acceptUnrung(open)));
    let runs = 0;
    await open.startWorker(async () => {
      runs += 1;
      return { result: okResult(null) };
    });
    const sweepers = [open.sweeper(), open.sweeper(), open.sweeper()];
    await Promise.all(sweepers.map((each) => each.sweep()));
    await Promise.all(calls.map((call) => open.client.result(call.request_id, call.id)));
    await makeDue(open);
    await Promise.all(sweepers.map((each) => each.sweep()));
    expect(runs).toBe(50);
  });
});

describe('a deadline that passed', () => {
  test('in a lane without workers ends the directive, and its job is gone', async () => {
    await using open = await openPipeline(redis.url);
    const { request_id } = await open.client.submit({
      type: 'tool_exec',
      tool_name: 'test.echo',
      id: 'a',
      deadline_ms: 1,
    });
    const call = toolCall({ request_id, id: 'a' });
    await passed(open, call);
    await makeDue(open);
    await open.sweeper().sweep();
    const signal = await open.client.result(request_id, 'a');
    expect(errorOf(signal)).toMatchObject({
      type: 'deadline_exceeded',
      retryable: false,
      details: { deadline_ms: 1, status: 'accepted', attempts: 0 },
    });
    expect(await open.client.directive(request_id, 'a')).toMatchObject({ status: 'failed' });
    expect(await open.jobs()).toBe(0);
    await makeSettledDue(open);
    await open.sweeper().sweep();
    await emptied(open);
    expect(await open.keysWithoutExpiry()).toEqual([]);
  });

  test('removes a job that came after the end, and lists the directive once as dead letter', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open, { deadline_ms: 1 });
    await passed(open, call);
    await open.sweeper().sweep();
    const { digest } = acceptance(call);
    await open.lanes.enqueue(LANE, { request_id: call.request_id, id: call.id, digest });
    const buried = await open.connection.zrange(open.keys.dead, '0', '-1', 'WITHSCORES');
    await makeSettledDue(open);
    await open.sweeper().sweep();
    expect(await open.jobs()).toBe(0);
    await emptied(open);
    expect(await open.connection.zrange(open.keys.dead, '0', '-1', 'WITHSCORES')).toEqual(buried);
  });

  test('is recorded once by many sweepers', async () => {
    await using open = await openPipeline(redis.url);
    const calls = await Promise.all(Array.from({ length: 50 }, () => acceptUnrung(open, { deadline_ms: 1 })));
    for (const call of calls) await passed(open, call);
    await Promise.all([open.sweeper(), open.sweeper(), open.sweeper()].map((each) => each.sweep()));
    for (const call of calls) expect(await terminals(open, call.request_id)).toHaveLength(1);
  });

  test('ends a directive whose worker died, and refuses later signals of that worker', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open, { deadline_ms: 20 });
    const claim = await open.journal.claim(claimOf(call, 60_000));
    if (claim.kind !== 'granted') throw new Error(claim.kind);
    await passed(open, call);
    await open.sweeper().sweep();
    const ref = { requestId: call.request_id, id: call.id, fence: claim.fence };
    expect(await open.journal.finish(ref, 'succeeded', [endOf(call)])).toMatchObject({ kind: 'already' });
    const log = await open.log(call.request_id);
    expect(log.map(({ type }) => type)).toEqual(['ai.tool.started', 'ai.tool.result']);
    expect(errorOf(log.at(-1) ?? null)).toMatchObject({ details: { status: 'running', attempts: 1 } });
  });

  test('that a worker sees first ends the directive as well', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open, { deadline_ms: 1 });
    await passed(open, call);
    await open.lanes.enqueue(LANE, {
      request_id: call.request_id,
      id: call.id,
      digest: acceptance(call).digest,
    });
    let runs = 0;
    await open.startWorker(async () => {
      runs += 1;
      return { result: okResult(null) };
    });
    const signal = await open.client.result(call.request_id, call.id);
    expect([errorOf(signal).type, runs]).toEqual(['deadline_exceeded', 0]);
  });
});

describe('a job whose worker died', () => {
  /** Takes the job like a worker, and never returns: only BullMQ's lock remains of it. */
  async function takeJob(open: Pipeline, lockMs: number): Promise<void> {
    const { connection, prefix } = open;
    const lane = { connection, prefix: lanePrefix(prefix, LANE), lockDuration: lockMs };
    const worker = new Worker(LANE, null, { ...lane, skipStalledCheck: true });
    await vi.waitFor(async () => expect(await worker.getNextJob('gone')).toBeDefined(), 10_000);
    await worker.close(true);
  }

  async function lose(open: Pipeline, lockMs: number): Promise<ToolExec> {
    const call = await acceptUnrung(open, { effect: 'read' });
    const { digest } = acceptance(call);
    await open.lanes.enqueue(LANE, { request_id: call.request_id, id: call.id, digest });
    await takeJob(open, lockMs);
    await open.journal.claim(claimOf(call, 1));
    expect(await open.lanes.counts(LANE)).toMatchObject({ active: 1, waiting: 0 });
    return call;
  }

  test('is enqueued again by the sweeper as soon as neither lease nor lock holds, without a check by a worker', async () => {
    await using open = await openPipeline(redis.url);
    await lose(open, 200);
    await vi.waitFor(async () => {
      await makeDue(open);
      await open.sweeper().sweep();
      expect(await open.lanes.counts(LANE)).toMatchObject({ active: 0, waiting: 1 });
    }, 10_000);
  });

  test('is checked at the end of the lease, also if its worker took it before the sweeper planned that', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open, { effect: 'read' });
    const enqueue = open.lanes.enqueue;
    vi.spyOn(open.lanes, 'enqueue').mockImplementation(async (...job) => {
      await enqueue(...job);
      await open.index.lookWithin({ requestId: call.request_id, id: call.id }, 1_000);
      await open.journal.claim(claimOf(call, 1_000));
    });
    await open.sweeper().sweep();
    const record = await open.journal.directive(call.request_id, call.id);
    const [, score] = await open.connection.zrange(open.keys.sweep, '0', '-1', 'WITHSCORES');
    expect(record?.status).toBe('running');
    expect(Number(score)).toBeLessThanOrEqual(record?.leaseUntil ?? 0);
  });

  test('stays with its worker while BullMQ holds it for that one', async () => {
    await using open = await openPipeline(redis.url);
    await lose(open, 60_000);
    await makeDue(open);
    await open.sweeper().sweep();
    expect(await open.lanes.counts(LANE)).toMatchObject({ active: 1, waiting: 0 });
  });

  test('keeps its place when it waits in its lane', async () => {
    await using open = await openPipeline(redis.url);
    const [lost, other] = [await acceptUnrung(open, { effect: 'read' }), await acceptUnrung(open)];
    const ringOf = (call: ToolExec) => {
      const { digest } = acceptance(call);
      return { request_id: call.request_id, id: call.id, digest };
    };
    await open.lanes.enqueue(LANE, ringOf(lost));
    await open.lanes.enqueue(LANE, ringOf(other));
    await open.journal.claim(claimOf(lost, 1));
    await makeDue(open);
    await open.sweeper().sweep();
    const order: string[] = [];
    await open.startWorker(
      async ({ id }) => {
        order.push(id);
        return done();
      },
      { concurrency: 1 },
    );
    await Promise.all([lost, other].map((call) => open.client.result(call.request_id, call.id)));
    expect(order).toEqual([lost.id, other.id]);
  });
});

describe('inconsistent state', () => {
  test('the job of an ended directive is removed, also in a lane without workers', async () => {
    await using open = await openPipeline(redis.url);
    const submitted = {
      type: 'tool_exec',
      tool_name: 'test.echo',
      request_id: randomUUID(),
      id: 'a',
    } as const;
    await open.client.submit({ ...submitted, deadline_ms: 1 });
    await passed(open, toolCall(submitted));
    await makeDue(open);
    await open.sweeper().sweep();
    const repeated = await open.client.submit({ ...submitted, deadline_ms: 1 });
    expect(repeated.directives).toMatchObject([{ status: 'existing' }]);
    expect(await open.jobs()).toBe(1);
    await makeDue(open);
    await open.sweeper().sweep();
    expect(await open.jobs()).toBe(0);
    await emptied(open);
    expect(await open.keysWithoutExpiry()).toEqual([]);
  });

  test('a job without a directive is removed, without a signal', async () => {
    await using open = await openPipeline(redis.url);
    const call = toolCall();
    await open.lanes.enqueue(LANE, { request_id: call.request_id, id: call.id, digest: 'd' });
    const worker = await open.startWorker(done);
    await vi.waitFor(async () => expect(await open.jobs()).toBe(0), 10_000);
    await worker.stop();
    expect(await open.log(call.request_id)).toEqual([]);
    expect(await open.connection.exists(...open.keys.request(call.request_id))).toBe(0);
    expect(open.errors).toEqual([]);
  });

  test('a job with another body than was accepted runs what was accepted', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open, { arguments: { accepted: true } });
    const forged = { ...call, arguments: { accepted: false } };
    const envelope = { directive: forged, lane: LANE, traceparent: '' };
    await open.lanes.enqueue(LANE, { request_id: call.request_id, id: call.id, digest: 'forged', envelope });
    await open.startWorker(async ({ arguments: given }) => ({ result: okResult(given) }));
    const signal = await open.client.result(call.request_id, call.id);
    expect(signal?.data).toMatchObject({ result: { payload: { accepted: true } } });
  });

  test('an index entry without a directive is checked once more, then forgotten', async () => {
    await using open = await openPipeline(redis.url);
    const ref = { requestId: randomUUID(), id: 'a' };
    await open.index.add([ref], PAST);
    await open.sweeper().sweep();
    expect(await dueAt(open, Date.now() + 65_000)).toEqual([ref]);
    expect(await dueAt(open, Date.now() + 55_000)).toEqual([]);
    await open.connection.zadd(open.keys.sweep, PAST + 0.5, `${ref.requestId}/${ref.id}`);
    await open.sweeper().sweep();
    await emptied(open);
  });

  test('an entry whose directive came late is enqueued', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open);
    await open.connection.zadd(open.keys.sweep, PAST + 0.5, `${call.request_id}/${call.id}`);
    await open.sweeper().sweep();
    expect(await open.jobs()).toBe(1);
  });
});

describe('sweeping', () => {
  test('leaves the work of a living worker alone', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open);
    await open.journal.claim(claimOf(call, 60_000));
    await open.sweeper().sweep();
    expect(await open.jobs()).toBe(0);
    expect(await dueAt(open, Date.now())).toEqual([]);
    expect(await open.index.size()).toBe(1);
  });

  test('goes on by itself until the index is empty, with several sweepers and more than one batch', async () => {
    await using open = await openPipeline(redis.url);
    const calls = await Promise.all(Array.from({ length: 450 }, () => acceptUnrung(open)));
    for (const sweeper of [open.sweeper(), open.sweeper()]) await sweeper.start();
    // A busy machine keeps the worker from extending its jobs for more than a second.
    await open.startWorker(done, { lockMs: 60_000 });
    const ends = await Promise.all(calls.map((call) => open.client.result(call.request_id, call.id)));
    expect(ends.every((signal) => signal?.type === 'ai.tool.result')).toBe(true);
    for (const call of calls) expect(await terminals(open, call.request_id)).toHaveLength(1);
    await makeDue(open);
    await emptied(open);
    expect(open.errors).toEqual([]);
  });

  test('is taken over when the active sweeper is gone', async () => {
    await using open = await openPipeline(redis.url);
    const call = await acceptUnrung(open);
    expect((await open.index.take(10)).entries).toHaveLength(1);
    await open.sweeper().start();
    await open.startWorker(done);
    expect(await open.client.result(call.request_id, call.id)).not.toBeNull();
  });

  test('one entry that cannot be checked does not block the others', async () => {
    await using open = await openPipeline(redis.url);
    const broken = randomUUID();
    const [state] = open.keys.request(broken);
    await open.connection.set(state, 'no hash', 'PX', 60_000);
    await open.index.add([{ requestId: broken, id: 'a' }], PAST - 1);
    const call = await acceptUnrung(open);
    await open.startWorker(done);
    await open.sweeper().start();
    expect(await open.client.result(call.request_id, call.id)).not.toBeNull();
    await vi.waitFor(() => expect(open.errors[0]?.message).toMatch(/WRONGTYPE/));
  });
});
