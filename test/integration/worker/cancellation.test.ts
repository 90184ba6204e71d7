/** Cancellation on a real Redis in every state: waiting, running, between two attempts, or without its worker.
 *  It must never judge by the clock: only signals and executions count. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import type { SubmittedDirective } from '../../../src/contract/directive.ts';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../src/contract/result.ts';
import type { Signal } from '../../../src/contract/signal.ts';
import type { Execution, ExecutionContext } from '../../../src/executors/definition.ts';
import { failureOf, toolCall } from '../../support/journal.ts';
import { errorOf, openPipeline, type Pipeline, stillHeart } from '../../support/pipeline.ts';
import { type Execute, gate } from '../../support/executors.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

type Call = Extract<SubmittedDirective, { type: 'tool_exec' }> & { request_id: string; id: string };

function call(fields: Partial<Call> = {}): Call {
  return { type: 'tool_exec', tool_name: 'test.echo', id: 'a', request_id: randomUUID(), ...fields };
}

const done: Execution = { result: okResult('done') };
const fails = (type: string, details = {}): Execution => ({
  result: errorResult(errorEnvelope(type, type, details)),
});

/** Resolves when the attempt is aborted. */
async function told({ signal }: ExecutionContext): Promise<void> {
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}

/** An executor that runs until it is aborted, and counts. */
function untilTold(answer: Execution = fails('cancelled')) {
  const started = gate();
  const runs: string[] = [];
  const execute: Execute = async ({ id }, context) => {
    runs.push(id);
    started.open();
    await told(context);
    return answer;
  };
  return { execute, runs, started: started.passed };
}

const types = (log: readonly Signal[]): string[] => log.map(({ type }) => type);

/** The request is written, but not announced: as when the announcement is lost. */
async function wish(open: Pipeline, { request_id, id }: Call, reason?: string): Promise<string> {
  const signal = failureOf(toolCall({ request_id, id }));
  return (await open.journal.cancel(request_id, id, signal, reason)).kind;
}

/** The job of a directive that was cancelled before it was taken may still come: the sweeper checks it once more. */
async function sweepUp(open: Pipeline): Promise<void> {
  const members = await open.connection.zrange(open.keys.sweep, '0', '-1');
  for (const member of members) await open.connection.zadd(open.keys.sweep, 'XX', 1, member);
  await open.sweeper().sweep();
}

async function expectNothingLeft(open: Pipeline): Promise<void> {
  await vi.waitFor(async () => expect(await open.jobs()).toBe(0), 5_000);
  await sweepUp(open);
  await vi.waitFor(async () => expect(await open.index.size()).toBe(0), 5_000);
  expect(await open.keysWithoutExpiry()).toEqual([]);
  expect(await open.dead.size()).toBe(0);
  expect(open.errors).toEqual([]);
}

describe('a waiting directive', () => {
  test('in its lane ends at once with the reason, and its job is gone', async () => {
    await using open = await openPipeline(redis.url);
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
    await expectNothingLeft(open);
  });

  test('for its next attempt ends at once, and is not started again', async () => {
    await using open = await openPipeline(redis.url);
    let runs = 0;
    const worker = await open.startWorker(async ({ id }) => {
      if (id !== 'a') return done;
      runs += 1;
      return fails('timeout');
    });
    const directive = call({ max_retries: 3, retry_backoff_ms: 60_000, effect: 'read' });
    await open.client.submit(directive);
    for await (const { type } of open.client.signals(directive.request_id))
      if (type === 'directive.retry_scheduled') break;
    const { directives } = await open.client.cancel(directive.request_id, 'a', { reason: 'enough' });
    expect(directives).toMatchObject([{ status: 'cancelled' }]);
    const log = await open.log(directive.request_id);
    expect(types(log)).toEqual(['ai.tool.started', 'directive.retry_scheduled', 'ai.tool.result']);
    expect(errorOf(log[2] ?? null).details).toEqual({ reason: 'enough' });
    expect(log[2]?.data).toMatchObject({ metadata: { attempts: 1 } });
    await open.client.execute(call({ id: 'b' }));
    expect(runs).toBe(1);
    await worker.stop();
    await expectNothingLeft(open);
  });
});

describe('a running directive', () => {
  test('is aborted, and ends with the reason', async () => {
    await using open = await openPipeline(redis.url);
    const running = untilTold();
    await open.startWorker(running.execute);
    const directive = call({ effect: 'read' });
    const ending = open.client.execute(directive);
    await running.started;
    const cancelled = await open.client.cancel(directive.request_id, 'a', { reason: 'changed my mind' });
    expect(cancelled.directives).toEqual([{ id: 'a', status: 'requested' }]);
    expect(errorOf(await ending)).toMatchObject({
      type: 'cancelled',
      retryable: false,
      details: { reason: 'changed my mind' },
    });
    expect(types(await open.log(directive.request_id))).toEqual(['ai.tool.started', 'ai.tool.result']);
  });

  test('and is cancelled twice keeps the first reason', async () => {
    await using open = await openPipeline(redis.url);
    const running = untilTold();
    await open.startWorker(running.execute, { heartbeat: stillHeart });
    const directive = call({ effect: 'read' });
    const ending = open.client.execute(directive);
    await running.started;
    expect(await wish(open, directive, 'first')).toBe('requested');
    await open.client.cancel(directive.request_id, 'a', { reason: 'second' });
    expect(errorOf(await ending).details).toEqual({ reason: 'first' });
  });

  test('that completes first has succeeded: its result is the answer', async () => {
    await using open = await openPipeline(redis.url);
    const running = untilTold(done);
    await open.startWorker(running.execute);
    const directive = call();
    const ending = open.client.execute(directive);
    await running.started;
    await open.client.cancel(directive.request_id, 'a');
    const ended = await ending;
    expect(ended.data).toMatchObject({ result: { ok: true, payload: 'done' } });
    expect(await open.client.cancel(directive.request_id, 'a', { reason: 'again' })).toEqual({
      request_id: directive.request_id,
      directives: [{ id: 'a', status: 'ended', result: ended }],
    });
  });

  test('learns of it from the next heartbeat when the announcement is lost', async () => {
    await using open = await openPipeline(redis.url);
    const running = untilTold();
    await open.startWorker(running.execute, { leaseMs: 600 });
    const directive = call({ effect: 'read' });
    const ending = open.client.execute(directive);
    await running.started;
    expect(await wish(open, directive, 'nobody heard')).toBe('requested');
    expect(errorOf(await ending).details).toEqual({ reason: 'nobody heard' });
  });

  test('learns of it although its subscription was killed a moment ago', async () => {
    await using open = await openPipeline(redis.url);
    const running = untilTold();
    await open.startWorker(running.execute, { leaseMs: 600 });
    const directive = call({ effect: 'read' });
    const ending = open.client.execute(directive);
    await running.started;
    await open.connection.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await open.client.cancel(directive.request_id, 'a');
    expect(errorOf(await ending).type).toBe('cancelled');
  });

  test('that fails by itself first is not tried again', async () => {
    await using open = await openPipeline(redis.url);
    const started = gate();
    const goOn = gate();
    let runs = 0;
    const worker = await open.startWorker(
      async () => {
        runs += 1;
        started.open();
        await goOn.passed;
        return fails('timeout');
      },
      { heartbeat: stillHeart },
    );
    const directive = call({ effect: 'read', max_retries: 5 });
    const ending = open.client.execute(directive);
    await started.passed;
    await wish(open, directive, 'enough');
    goOn.open();
    expect(errorOf(await ending)).toMatchObject({ type: 'cancelled', details: { reason: 'enough' } });
    await worker.stop();
    expect(runs).toBe(1);
    await expectNothingLeft(open);
  });

  test('whose server asks to wait ends instead of waiting', async () => {
    await using open = await openPipeline(redis.url);
    const started = gate();
    const goOn = gate();
    await open.startWorker(
      async () => {
        started.open();
        await goOn.passed;
        return fails('rate_limited', { retry_after_ms: 60_000 });
      },
      { heartbeat: stillHeart },
    );
    const directive = call({ effect: 'read' });
    const ending = open.client.execute(directive);
    await started.passed;
    await wish(open, directive, 'enough');
    goOn.open();
    expect(errorOf(await ending)).toMatchObject({ type: 'cancelled', details: { reason: 'enough' } });
  });
});

describe('a directive that lost its worker', () => {
  /** Claimed by a worker that is gone. */
  async function orphan(open: Pipeline, leaseMs: number, fields: Partial<Call> = {}): Promise<Call> {
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
      await using open = await openPipeline(redis.url);
      const directive = await orphan(open, 1_000, { effect });
      const cancelled = await open.client.cancel(directive.request_id, 'a', { reason: 'why' });
      expect(cancelled.directives).toMatchObject([{ status: 'requested' }]);
      const running = untilTold();
      await open.startWorker(running.execute);
      const ended = await open.client.result(directive.request_id, 'a');
      expect(errorOf(ended)).toMatchObject({ type: 'cancelled' });
      expect(errorOf(ended).details).toEqual(details);
      expect(running.runs).toEqual([]);
    },
  );

  test.each([
    ['once', { outcome: 'unknown' }],
    ['idempotent', {}],
  ] as const)('and its lease ends at once; with the effect %s it says %j', async (effect, details) => {
    await using open = await openPipeline(redis.url);
    const directive = await orphan(open, 1, { effect });
    await vi.waitFor(async () => {
      const record = await open.journal.directive(directive.request_id, 'a');
      expect(record?.leaseUntil ?? 0).toBeLessThan(Date.now());
    });
    const { directives } = await open.client.cancel(directive.request_id, 'a');
    expect(directives).toMatchObject([{ status: 'cancelled' }]);
    expect(errorOf(directives[0]?.result ?? null).details).toEqual(details);
  });
});

describe('a whole request', () => {
  test('of two hundred ends, whatever the state of each', async () => {
    await using open = await openPipeline(redis.url);
    const running = untilTold();
    const worker = await open.startWorker(running.execute, { concurrency: 20 });
    const requestId = randomUUID();
    const calls = Array.from({ length: 200 }, (_, number) =>
      call({ request_id: requestId, id: `c-${number}`, effect: 'read' }),
    );
    await open.client.submit(calls);
    await vi.waitFor(() => expect(running.runs).toHaveLength(20), 5_000);
    const { directives } = await open.client.cancel(requestId, undefined, { reason: 'all of it' });
    expect(directives.map(({ id }) => id).toSorted()).toEqual(calls.map(({ id }) => id).toSorted());
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
    // An attempt that took a freed slot before its directive was cancelled is one of those requested.
    expect(new Set(running.runs).size).toBe(running.runs.length);
    expect(requested.every((id) => running.runs.includes(id))).toBe(true);
    await expectNothingLeft(open);
  });

  test('that has ended returns the results', async () => {
    await using open = await openPipeline(redis.url);
    await open.startWorker(async () => done);
    const directive = call();
    const ended = await open.client.execute(directive);
    expect(await open.client.cancel(directive.request_id)).toEqual({
      request_id: directive.request_id,
      directives: [{ id: 'a', status: 'ended', result: ended }],
    });
  });

  test('cancelled by ten callers at once is recorded once', async () => {
    await using open = await openPipeline(redis.url);
    const directive = call();
    await open.client.submit(directive);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => open.client.cancel(directive.request_id)),
    );
    const statuses = answers.map(({ directives }) => directives[0]?.status);
    expect(statuses.filter((status) => status === 'cancelled')).toHaveLength(1);
    expect(statuses.filter((status) => status === 'ended')).toHaveLength(9);
    expect(await open.log(directive.request_id)).toHaveLength(1);
  });
});
