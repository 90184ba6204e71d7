/** A worker on a real Redis with executors of the test: what is executed, how often, and which signals appear.
 *  It must never judge by the clock: delays are read from the signals. */
import { describe, expect, test } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import { type Signal, signalSchema } from '../../../src/contract/signal/signal.ts';
import type { Execution } from '../../../src/worker/executors/definition.ts';
import { createRegistry } from '../../../src/worker/executors/registry.ts';
import { newTraceparent } from '../../../src/platform/telemetry/traces/trace-context.ts';
import { untilHolds } from '../../support/eventually.ts';
import { done, type Execute, fails, inTurn, untilResumed } from '../../support/executors.ts';
import { expectNothingLeft } from '../../support/nothing-left.ts';
import { type Call, call, calls, errorOf, openPipeline } from '../../support/pipeline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const ONE_END = ['ai.tool.started', 'ai.tool.result'];

const progress = (value: number) => ({
  call_id: 'a',
  tool_name: 'test.echo',
  progress: value,
  metadata: {},
});

describe('a call that succeeds', () => {
  test('is started once, ended once, and nothing stays behind', async () => {
    const worker = await open.startWorker(async () => ({ ...done, metadata: { server: 'test' } }));
    const traceparent = newTraceparent();
    const directive = call({ metadata: { strategy: 'react', secret: 'x' }, iteration: 4, effect: 'read' });
    const signal = await open.client.execute(directive, { traceparent });
    const log = await open.log(directive.request_id);
    expect(log.map(({ type }) => type)).toEqual(ONE_END);
    expect(log.at(-1)).toEqual(signal);
    expect(signal.data).toMatchObject({
      call_id: 'a',
      tool_name: 'test.echo',
      result: { ok: true, payload: 'done', effects: [] },
      content: JSON.stringify({ ok: true, result: 'done' }),
      metadata: {
        request_id: directive.request_id,
        run_id: directive.request_id,
        iteration: 4,
        strategy: 'react',
        origin: 'worker_runtime',
        operation: 'tool_execute',
        attempts: 1,
        effect: 'read',
        server: 'test',
      },
    });
    await worker.stop();
    await expectNothingLeft(open);
  });

  test('is in one trace from its submission on, and each signal names its cause', async () => {
    const given: string[] = [];
    await open.startWorker(async (_directive, { traceparent, report }) => {
      given.push(traceparent);
      report('ai.tool.progress', progress(1));
      return given.length === 1 ? fails('timeout') : done;
    });
    const traceparent = newTraceparent();
    const directive = call({ max_retries: 1 });
    await open.client.execute(directive, { traceparent });
    const log = await open.log(directive.request_id);
    for (const signal of log) {
      expect(signalSchema.parse(signal)).toEqual(signal);
      expect(signal.traceparent.slice(0, 36)).toBe(traceparent.slice(0, 36));
      expect(signal).toMatchObject({ causationid: 'a', subject: directive.request_id });
    }
    const spans = [...given, ...log.map((signal) => signal.traceparent)];
    expect(new Set([traceparent, ...spans]).size).toBe(spans.length + 1);
    expect(given.every((context) => context.startsWith(traceparent.slice(0, 36)))).toBe(true);
    expect(log.map(({ type, attempt }) => [type, attempt])).toEqual([
      ['ai.tool.started', 1],
      ['ai.tool.progress', 1],
      ['directive.retry_scheduled', 1],
      ['ai.tool.progress', 2],
      ['ai.tool.result', 2],
    ]);
  });
});

describe('a call that fails', () => {
  test.each<[string, Partial<Call>, Execution, number[]]>([
    ['at once', {}, fails('timeout'), [0, 0, 0]],
    [
      'later, up to a limit',
      { retry_backoff_ms: 10, backoff: 'exponential', max_backoff_ms: 15 },
      fails('timeout'),
      [10, 15, 15],
    ],
    [
      'when the other side allows it',
      { retry_backoff_ms: 5 },
      fails('network', { retry_after_ms: 30 }),
      [30, 30, 30],
    ],
  ])('is tried again %s, and succeeds', async (_how, fields, failure, delays) => {
    const { execute, ran } = inTurn(failure, failure, failure, done);
    const worker = await open.startWorker(execute);
    const directive = call({ max_retries: 3, effect: 'read', ...fields });
    const signal = await open.client.execute(directive);
    const log = await open.log(directive.request_id);
    const scheduled = log.filter(({ type }) => type === 'directive.retry_scheduled');
    expect(log.map(({ type }) => type)).toEqual([
      ONE_END[0],
      ...scheduled.map(({ type }) => type),
      ONE_END[1],
    ]);
    expect(scheduled.map(({ data }) => data)).toMatchObject(
      delays.map((delay_ms, index) => ({ call_id: 'a', delay_ms, failures: index + 1, max_retries: 3 })),
    );
    expect(signal).toMatchObject({ attempt: 4, data: { result: { ok: true }, metadata: { attempts: 4 } } });
    expect(ran).toHaveLength(4);
    expect(await open.client.directive(directive.request_id, 'a')).toMatchObject({
      status: 'succeeded',
      attempts: 4,
      failures: 3,
      redeliveries: 0,
    });
    await worker.stop();
    await expectNothingLeft(open);
    // Between two reads its request may expire: an end without its result is no view.
    await open.connection.del(open.keys.request(directive.request_id)[2]);
    expect(await open.client.directive(directive.request_id, 'a')).toBeNull();
  });

  test('every time is tried no more often than allowed, and ends with its last error', async () => {
    const { execute, ran } = inTurn(
      fails('timeout', { run: 1 }),
      fails('timeout'),
      fails('network', { run: 3 }),
    );
    await open.startWorker(execute);
    const error = errorOf(await open.client.execute(call({ max_retries: 2, effect: 'read' })));
    expect(error).toMatchObject({ type: 'network', details: { run: 3 } });
    expect(ran).toHaveLength(3);
  });
});

describe('an executor', () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  test.each<[string, unknown]>([
    ['an error', new TypeError('broken code')],
    ['nothing', undefined],
    ['a text', 'broken'],
    ['a bigint', 10n],
    ['a cycle', cyclic],
    ['a function', () => {}],
  ])('that throws %s ends its call, and the worker goes on', async (_what, thrown) => {
    await open.startWorker(async ({ id }) => {
      if (id === 'bad') throw thrown;
      return done;
    });
    const error = errorOf(await open.client.execute(call({ id: 'bad', max_retries: 3 })));
    expect(error).toMatchObject({ retryable: false, details: { outcome: 'unknown' } });
    expect((await open.client.execute(call())).data).toMatchObject({ result: { ok: true } });
    expect(open.errors).toEqual([]);
  });

  test('that ignores its abort is abandoned, and its worker is free again', async () => {
    const deaf = untilResumed();
    await open.startWorker(
      (directive, context) =>
        directive.id === 'deaf' ? deaf.execute(directive, context) : Promise.resolve(done),
      { concurrency: 1 },
    );
    const directive = call({ id: 'deaf', deadline_ms: 500, effect: 'once' });
    const error = errorOf(await open.client.execute(directive));
    expect(error).toMatchObject({ type: 'deadline_exceeded', details: { outcome: 'unknown' } });
    expect((await open.client.execute(call())).data).toMatchObject({ result: { ok: true } });
    deaf.resume();
    await untilHolds(async () => expect(await open.jobs()).toBe(0));
    expect(await open.typesOf(directive)).toEqual(ONE_END);
  });

  test('has the same key in every attempt, and other keys for other directives', async () => {
    const keys: [string, string][] = [];
    await open.startWorker(async ({ id }, { idempotencyKey }) => {
      keys.push([id, idempotencyKey]);
      return keys.length < 3 ? fails('timeout') : done;
    });
    await open.client.execute(call({ max_retries: 5 }));
    await open.client.execute(call({ id: 'b' }));
    const [first, second, third, other] = keys.map(([, key]) => key);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
  });

  test('that does not exist ends its directive', async () => {
    const directive = await open.accepted();
    const parts = { ...open.attemptParts(async () => done), registry: createRegistry([]) };
    const ended = { kind: 'done', errorType: 'internal_error' };
    expect(await open.attempt(parts, directive)).toMatchObject(ended);
    expect(errorOf(await open.resultOf(directive))).toMatchObject({ type: 'internal_error' });
  });
});

describe('what an executor reports', () => {
  test('comes between the start and the end, in its order', async () => {
    await open.startWorker(async (_directive, { report }) => {
      for (let value = 0; value < 100; value += 1) {
        report('ai.tool.progress', progress(value));
        if (value % 10 === 0) await open.connection.ping();
      }
      return done;
    });
    const directive = call();
    await open.client.execute(directive);
    const log = await open.log(directive.request_id);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
    expect([log.at(0)?.type, log.at(-1)?.type]).toEqual(['ai.tool.started', 'ai.tool.result']);
    const values = log.slice(1, -1).map(({ data }) => ('progress' in data ? data.progress : Number.NaN));
    expect(values).toEqual(values.toSorted((left, right) => left - right));
    expect(values.at(-1)).toBe(99);
  });
});

describe('many calls', () => {
  test('are shared by two workers, each run once, and nothing stays behind', async () => {
    const runs = new Map<string, number>();
    const shares = [0, 0];
    const execute =
      (worker: number): Execute =>
      async ({ id }) => {
        shares[worker] = (shares[worker] ?? 0) + 1;
        runs.set(id, (runs.get(id) ?? 0) + 1);
        await open.connection.ping();
        return done;
      };
    const batch = calls(300);
    await open.client.submit(batch);
    const workers = await Promise.all(
      [0, 1].map((each) => open.startWorker(execute(each), { concurrency: 5, lockMs: 10_000 })),
    );
    const signals: Signal[] = [];
    for await (const signal of open.client.signals(batch[0]?.request_id ?? '')) signals.push(signal);
    expect(signals.map(({ sequence }) => sequence)).toEqual(signals.map((_, index) => index + 1));
    const ended = signals
      .filter(({ type }) => type === 'ai.tool.result')
      .map(({ causationid }) => causationid);
    expect(ended).toHaveLength(300);
    expect(new Set(ended).size).toBe(300);
    expect([...runs.values()].every((count) => count === 1)).toBe(true);
    expect(Math.min(...shares)).toBeGreaterThan(0);
    await Promise.all(workers.map((worker) => worker.stop()));
    await expectNothingLeft(open);
  });
});

describe('an answer that the log cannot hold', () => {
  const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
  const unwritable = {
    toJSON: (): never => {
      throw new TypeError('not today');
    },
  };

  test.each(['read', 'once'] as const)(
    'ends a %s call as invalid_result, without a repeat',
    async (effect) => {
      for (const payload of [deep(6_000), deep(100_000), { size: 1n }, unwritable]) {
        const { execute, ran } = inTurn({ result: okResult(payload), metadata: { server: 'test' } });
        const worker = await open.startWorker(execute);
        const signal = await open.client.execute(call({ effect, max_retries: 3 }));
        expect(errorOf(signal)).toMatchObject({ type: 'invalid_result', retryable: false });
        expect(ran).toHaveLength(1);
        await worker.stop();
      }
      await expectNothingLeft(open);
    },
  );

  test('is not one that is just deep', async () => {
    await open.startWorker(async () => ({ result: okResult(deep(500)) }));
    const signal = await open.client.execute(call());
    expect(signal.data).toMatchObject({ result: { ok: true } });
  });
});
