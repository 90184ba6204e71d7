/** Cancellation on a real Redis in every state: waiting, running, between two attempts, or without its worker.
 *  It must never judge by the clock: only signals and executions count. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { untilHolds } from '../../support/eventually.ts';
import { done, fails, inTurn, untilAborted, untilResumed } from '../../support/executors.ts';
import { failureOf, toolCall } from '../../support/journal.ts';
import { expectNothingLeft } from '../../support/nothing-left.ts';
import { type Call, call, calls, errorOf, openPipeline, stillHeart } from '../../support/pipeline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

/** The request is written, but not announced: as when the announcement is lost. */
async function recordOnly({ request_id, id }: Call, reason: string): Promise<string> {
  const signal = failureOf(toolCall({ request_id, id }));
  return (await open.journal.cancel(request_id, id, signal, reason)).kind;
}

/** The job of a directive that was cancelled before it was taken may still come: the sweeper checks it once more. */
async function expectNothingLeftOnceSwept(): Promise<void> {
  await untilHolds(async () => expect(await open.jobs()).toBe(0));
  const members = await open.connection.zrange(open.keys.sweep, '0', '-1');
  for (const member of members) await open.connection.zadd(open.keys.sweep, 'XX', 1, member);
  const sweeper = open.sweeper();
  while (await sweeper.sweep());
  await expectNothingLeft(open);
  expect(await open.dead.size()).toBe(0);
}

describe('a waiting directive', () => {
  test('in its lane ends at once with the reason, and its job is gone', async () => {
    const directive = call();
    await open.client.submit(directive);
    const cancellation = await open.client.cancel(directive.request_id, 'a', { reason: 'too late' });
    expect(cancellation).toMatchObject({
      request_id: directive.request_id,
      directives: [{ id: 'a', status: 'cancelled' }],
    });
    const { result } = cancellation.directives[0] ?? {};
    expect(errorOf(result ?? null)).toMatchObject({ type: 'cancelled', details: { reason: 'too late' } });
    expect(await open.log(directive.request_id)).toEqual([result]);
    expect(result?.data).toMatchObject({ metadata: { attempts: 0 } });
    await expectNothingLeftOnceSwept();
  });

  test('for its next attempt ends at once, and is not started again', async () => {
    const { execute, ran } = inTurn(fails('timeout'), done);
    const worker = await open.startWorker(execute);
    const directive = call({ max_retries: 3, retry_backoff_ms: 60_000, effect: 'read' });
    await open.client.submit(directive);
    for await (const { type } of open.client.signals(directive.request_id))
      if (type === 'directive.retry_scheduled') break;
    const { directives } = await open.client.cancel(directive.request_id, 'a', { reason: 'enough' });
    expect(directives).toMatchObject([{ status: 'cancelled' }]);
    const log = await open.log(directive.request_id);
    expect(log.map(({ type }) => type)).toEqual([
      'ai.tool.started',
      'directive.retry_scheduled',
      'ai.tool.result',
    ]);
    expect(errorOf(log[2] ?? null).details).toEqual({ reason: 'enough' });
    expect(log[2]?.data).toMatchObject({ metadata: { attempts: 1 } });
    await open.client.execute(call({ id: 'b' }));
    expect(ran).toEqual(['a', 'b']);
    await worker.stop();
    await expectNothingLeftOnceSwept();
  });
});

describe('a running directive', () => {
  /** Is being executed; `end` resolves with its terminal signal. */
  async function running(
    { execute, started }: Pick<ReturnType<typeof untilAborted>, 'execute' | 'started'>,
    fields: Partial<Call> = {},
    options: Parameters<typeof open.startWorker>[1] = {},
  ) {
    const worker = await open.startWorker(execute, options);
    const directive = call(fields);
    const end = open.client.execute(directive);
    await started;
    return { worker, directive, end };
  }

  test('and is cancelled twice keeps the first reason', async () => {
    const { directive, end } = await running(untilAborted(), { effect: 'read' }, { heartbeat: stillHeart });
    expect(await recordOnly(directive, 'first')).toBe('requested');
    await open.client.cancel(directive.request_id, 'a', { reason: 'second' });
    expect(errorOf(await end).details).toEqual({ reason: 'first' });
  });

  test('learns of it from the next heartbeat when the announcement is lost', async () => {
    const { directive, end } = await running(untilAborted(), { effect: 'read' }, { leaseMs: 600 });
    expect(await recordOnly(directive, 'nobody heard')).toBe('requested');
    expect(errorOf(await end).details).toEqual({ reason: 'nobody heard' });
  });

  test('learns of it although its subscription was killed a moment ago', async () => {
    const { directive, end } = await running(untilAborted(), { effect: 'read' }, { leaseMs: 600 });
    await open.connection.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await open.client.cancel(directive.request_id, 'a');
    expect(errorOf(await end).type).toBe('cancelled');
  });

  test.each([
    ['that fails by itself first is not tried again', fails('timeout'), { max_retries: 5 }],
    ['whose server asks to wait ends instead', fails('rate_limited', { retry_after_ms: 60_000 }), {}],
  ])('%s', async (_what, answer, fields) => {
    const attempt = untilResumed(answer);
    const { worker, directive, end } = await running(
      attempt,
      { effect: 'read', ...fields },
      { heartbeat: stillHeart },
    );
    await recordOnly(directive, 'enough');
    attempt.resume();
    expect(errorOf(await end)).toMatchObject({ type: 'cancelled', details: { reason: 'enough' } });
    await worker.stop();
    expect(attempt.ran).toEqual(['a']);
    await expectNothingLeftOnceSwept();
  });
});

describe('a directive that lost its worker', () => {
  /** Claimed by a worker that is gone. */
  async function orphan(leaseMs: number, fields: Partial<Call> = {}): Promise<Call> {
    const directive = call(fields);
    const { directives } = await open.client.submit(directive);
    const digest = directives[0]?.digest ?? '';
    const claim = { requestId: directive.request_id, id: 'a', digest, leaseMs, token: randomUUID() };
    expect((await open.journal.claim(claim)).kind).toBe('granted');
    return directive;
  }

  test.each([
    ['once', { outcome: 'unknown', reason: 'why' }],
    ['read', { reason: 'why' }],
  ] as const)(
    'is ended by the next one, which runs nothing; with the effect %s it says %j',
    async (effect, details) => {
      const directive = await orphan(1_000, { effect });
      const cancelled = await open.client.cancel(directive.request_id, 'a', { reason: 'why' });
      expect(cancelled.directives).toMatchObject([{ status: 'requested' }]);
      const running = untilAborted();
      await open.startWorker(running.execute);
      const ended = await open.client.result(directive.request_id, 'a');
      expect(errorOf(ended)).toMatchObject({ type: 'cancelled' });
      expect(errorOf(ended).details).toEqual(details);
      expect(running.ran).toEqual([]);
    },
  );

  test.each([
    ['once', { outcome: 'unknown' }],
    ['idempotent', {}],
  ] as const)('and its lease ends at once; with the effect %s it says %j', async (effect, details) => {
    const directive = await orphan(1, { effect });
    await untilHolds(async () => {
      const record = await open.recordOf(directive);
      expect(record?.leaseUntil ?? 0).toBeLessThan(Date.now());
    });
    const { directives } = await open.client.cancel(directive.request_id, 'a');
    expect(directives).toMatchObject([{ status: 'cancelled' }]);
    expect(errorOf(directives[0]?.result ?? null).details).toEqual(details);
  });
});

describe('a whole request', () => {
  test('of two hundred ends, whatever the state of each', async () => {
    const running = untilAborted();
    const worker = await open.startWorker(running.execute, { concurrency: 20 });
    const all = calls(200, { effect: 'read' });
    const requestId = all[0]?.request_id ?? '';
    await open.client.submit(all);
    await untilHolds(() => expect(running.ran).toHaveLength(20));
    const { directives } = await open.client.cancel(requestId, undefined, { reason: 'all of it' });
    expect(directives.map(({ id }) => id).toSorted()).toEqual(all.map(({ id }) => id).toSorted());
    const requested = directives.filter(({ status }) => status === 'requested').map(({ id }) => id);
    expect(directives.filter(({ status }) => status === 'cancelled').length + requested.length).toBe(200);
    const results: Signal[] = [];
    for await (const signal of open.client.signals(requestId))
      if (signal.type === 'ai.tool.result') results.push(signal);
    expect(results).toHaveLength(200);
    for (const result of results)
      expect(errorOf(result)).toMatchObject({ type: 'cancelled', details: { reason: 'all of it' } });
    expect(await open.client.request(requestId)).toMatchObject({ status: 'closed', open: 0 });
    await worker.stop();
    // An attempt that took a freed slot before its directive was cancelled is one of those requested; one that was only claimed does not begin.
    expect(new Set(running.ran).size).toBe(running.ran.length);
    expect(running.ran.filter((id) => !requested.includes(id))).toEqual([]);
    const view = await open.client.request(requestId);
    const unbegun = view?.directives.flatMap(({ id, attempts }) => (attempts === 0 ? [id] : [])) ?? [];
    expect(unbegun.filter((id) => running.ran.includes(id))).toEqual([]);
    expect(requested.filter((id) => !running.ran.includes(id) && !unbegun.includes(id))).toEqual([]);
    await expectNothingLeftOnceSwept();
  });
});
