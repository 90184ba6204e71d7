/** Directives with a chain of models on a real Redis: when the next model follows, and where they wait for it.
 *  It must never judge by the clock: the order is read from signals and executors. */
import { describe, expect, test } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import type { Execution, ExecutionContext } from '../../../src/worker/executors/definition.ts';
import { attemptDirective } from '../../../src/worker/attempt/attempt.ts';
import { untilHolds } from '../../support/eventually.ts';
import { ask, CHAIN, LANES, modelParts, openChain, startModels } from '../../support/model-pipeline.ts';
import { errorOf } from '../../support/pipeline.ts';
import { fails, type Stream } from '../../support/executors.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openChain(redis.url));

type Named = Parameters<typeof open.recordOf>[0];

const modelOf = ({ models, candidate: stage }: ExecutionContext): string => models[stage.index] ?? '';

const answered = (model: string): Execution => ({ result: okResult({ model }), metadata: { model } });

function away(type: string, details: Record<string, unknown> = {}): Execution {
  return { ...fails(type, details), unavailable: true };
}

/** Records the model of each call, and answers as `answer` says. */
const recording =
  (asked: string[], answer: (model: string) => Execution): Stream =>
  async (_directive, context) => {
    const model = modelOf(context);
    asked.push(model);
    return answer(model);
  };

/** Every model but the last of the chain is unavailable. */
const lastAnswers = (failure: Execution, asked: string[] = []): Stream =>
  recording(asked, (model) => (model === CHAIN.at(-1) ? answered(model) : failure));

const fallbacks = (log: readonly Signal[]): unknown[] =>
  log.map(({ data }) => ('metadata' in data ? data.metadata['fallback'] : undefined)).filter(Boolean);

async function untilWaitingIn({ request_id, id }: Named, lane: string) {
  await untilHolds(async () =>
    expect(await open.client.directive(request_id, id)).toMatchObject({ status: 'waiting', lane }),
  );
}

async function jobOf({ request_id, id }: Named) {
  const record = await open.recordOf({ request_id, id });
  return { request_id, id, digest: record?.digest ?? '' };
}

describe('an unavailable model', () => {
  test('is called as often as the directive allows, then the next one, in its own lane', async () => {
    const contexts: ExecutionContext[] = [];
    const worker = await startModels(open, async (_directive, context) => {
      contexts.push(context);
      return modelOf(context) === 'b:small'
        ? answered('b:small')
        : away('provider_error', { run: contexts.length });
    });
    const directive = ask({ max_retries: 1 });
    const signal = await open.client.execute(directive);
    expect(contexts.map(modelOf)).toEqual(['a:large', 'a:large', 'b:large', 'b:large', 'b:small']);
    expect(contexts.map(({ lane }) => lane)).toEqual(['llm.a', 'llm.a', 'llm.b', 'llm.b', 'llm.b']);
    expect(contexts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(contexts.at(-1)?.models).toEqual(CHAIN);
    expect(contexts.at(-1)?.candidate).toEqual({
      index: 2,
      history: ['a:large', 'b:large'].map((model) => ({
        model,
        type: 'provider_error',
        message: 'it was provider_error',
      })),
    });
    const log = await open.log(directive.request_id);
    const scheduled = log.filter(({ type }) => type === 'directive.retry_scheduled');
    expect(scheduled.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
    expect(scheduled.map(({ data }) => data)).toMatchObject(
      [1, 2, 3, 4].map((failures) => ({ call_id: 'm', failures, max_retries: 1, delay_ms: 0 })),
    );
    expect(scheduled.map((each) => fallbacks([each]))).toEqual([
      [],
      [{ from: 'a:large', to: 'b:large', reason: 'provider_error' }],
      [],
      [{ from: 'b:large', to: 'b:small', reason: 'provider_error' }],
    ]);
    expect(signal).toMatchObject({
      attempt: 5,
      data: { result: { ok: true }, metadata: { attempts: 5, model: 'b:small', operation: 'stream_text' } },
    });
    expect(await open.client.directive(directive.request_id, 'm')).toMatchObject({
      lane: 'llm.b',
      attempts: 5,
      failures: 4,
    });
    await worker.stop();
    expect(await Promise.all(LANES.map((lane) => open.jobs(lane)))).toEqual([0, 0]);
    expect(await open.keysWithoutExpiry()).toEqual([]);
  });

  test('and was the last one ends the directive, as a dead letter of the lane it came to', async () => {
    const asked: string[] = [];
    await startModels(
      open,
      recording(asked, (model) => away('provider_error', { model })),
    );
    const error = errorOf(await open.client.execute(ask()));
    expect(error).toMatchObject({ type: 'provider_error', details: { model: 'b:small' } });
    expect(asked).toEqual(CHAIN);
    await untilHolds(async () =>
      expect((await open.client.deadLetters({ lane: 'llm.b' })).dead_letters).toMatchObject([
        { lane: 'llm.b' },
      ]),
    );
    expect((await open.client.deadLetters({ lane: 'llm.a' })).dead_letters).toEqual([]);
  });

  test('that is unreachable is not called by later directives, which use the next one', async () => {
    const asked: string[] = [];
    const unreached = { ...away('network'), unreached: true };
    await startModels(
      open,
      recording(asked, (model) => (model === 'a:large' ? unreached : answered(model))),
      LANES,
      { outageMs: 60_000 },
    );
    for (let count = 0; count < 5; count += 1) await open.client.execute(ask());
    expect(asked.filter((model) => model === 'a:large')).toHaveLength(3);
    expect(asked.filter((model) => model === 'b:large')).toHaveLength(5);
  });
});

describe('moving a directive to another lane', () => {
  /** Its worker died after it had recorded the next candidate, and before it enqueued the directive there. */
  async function leftBetweenLanes() {
    const directive = ask({ max_retries: 0 });
    await open.client.submit(directive);
    const parts = modelParts(open, lastAnswers(away('provider_error')));
    const dying = { ...parts, gated: { ...parts.gated, enqueue: () => new Promise<void>(() => {}) } };
    void attemptDirective(dying, await jobOf(directive));
    await untilWaitingIn(directive, 'llm.b');
    return directive;
  }

  test('and dying before enqueueing it there leaves it to the sweeper, which knows the lane', async () => {
    const directive = await leftBetweenLanes();
    expect(await open.jobs('llm.b')).toBe(0);
    await open.index.add([{ requestId: directive.request_id, id: 'm' }], Date.now());
    const sweeper = open.sweeper();
    await untilHolds(async () => {
      await sweeper.sweep();
      expect(await open.jobs('llm.b')).toBe(1);
    });
    await startModels(open, lastAnswers(away('provider_error')), ['llm.b']);
    expect(await open.resultOf(directive)).toMatchObject({
      data: { result: { ok: true } },
    });
  });

  test('and dying before enqueueing it there is noticed by the next job in the old lane', async () => {
    const directive = await leftBetweenLanes();
    const asked: string[] = [];
    await startModels(open, lastAnswers(away('provider_error'), asked), ['llm.a']);
    await untilHolds(async () => expect(await open.jobs('llm.b')).toBe(1));
    await untilHolds(async () => expect(await open.jobs('llm.a')).toBe(0));
    expect(asked).toEqual([]);
    await startModels(open, lastAnswers(away('provider_error'), asked), ['llm.b']);
    await open.resultOf(directive);
    expect(asked).toEqual(['b:large', 'b:small']);
  });

  test('keeps its lane also for a repeated submission', async () => {
    const directive = ask();
    await open.client.submit(directive);
    await startModels(open, lastAnswers(away('provider_error')), ['llm.a']);
    await untilWaitingIn(directive, 'llm.b');
    expect((await open.client.submit(directive)).directives).toMatchObject([{ status: 'existing' }]);
    await untilHolds(async () => expect(await open.jobs('llm.a')).toBe(0));
    expect(await open.jobs('llm.b')).toBe(1);
    const [state] = open.keys.request(directive.request_id);
    expect(await open.connection.hget(state, 'm|failures')).toBe('1');
  });
});

test('a directive that waits for its next model is cancelled at once, and never called', async () => {
  const directive = ask();
  await open.client.submit(directive);
  const asked: string[] = [];
  await startModels(open, lastAnswers(away('provider_error'), asked), ['llm.a']);
  await untilWaitingIn(directive, 'llm.b');
  const { directives } = await open.client.cancel(directive.request_id, 'm');
  expect(directives).toMatchObject([{ id: 'm', status: 'cancelled' }]);
  await untilHolds(async () => expect(await open.jobs('llm.b')).toBe(0));
  await startModels(open, lastAnswers(away('provider_error'), asked), ['llm.b']);
  await open.client.execute(ask({ model_alias: undefined, model: 'b:small' }));
  expect(asked).toEqual(['a:large', 'b:small']);
});

test('a cancellation that comes while a model fails ends the directive instead of trying the next', async () => {
  const directive = ask();
  const asked: string[] = [];
  await startModels(open, async (_directive, context) => {
    asked.push(modelOf(context));
    // Marks it, and notifies no worker: it fails by itself first.
    const [state] = open.keys.request(directive.request_id);
    await open.connection.hset(state, 'm|cancel', 'changed my mind');
    return away('provider_error');
  });
  expect(errorOf(await open.client.execute(directive))).toMatchObject({
    type: 'cancelled',
    details: { reason: 'changed my mind' },
  });
  expect(asked).toEqual(['a:large']);
});

test('a directive whose worker died at a later candidate calls that candidate again, and reports that', async () => {
  const directive = ask();
  await open.client.submit(directive);
  await startModels(open, lastAnswers(away('provider_error')), ['llm.a']);
  await untilWaitingIn(directive, 'llm.b');
  const { digest } = await jobOf(directive);
  const claim = { requestId: directive.request_id, id: 'm', digest, token: 'dead', leaseMs: 1 };
  expect(await open.journal.claim({ ...claim, lane: 'llm.a' })).toEqual({ kind: 'moved', lane: 'llm.b' });
  await untilHolds(async () =>
    expect((await open.journal.claim({ ...claim, lane: 'llm.b' })).kind).toBe('granted'),
  );
  const contexts: ExecutionContext[] = [];
  await startModels(
    open,
    async (_directive, context) => {
      contexts.push(context);
      return answered(modelOf(context));
    },
    ['llm.b'],
  );
  const signal = await open.resultOf(directive);
  expect(contexts).toMatchObject([
    { attempt: 3, redeliveries: 1, candidate: { index: 1, history: [{ model: 'a:large' }] } },
  ]);
  expect(signal).toMatchObject({
    data: { result: { ok: true }, metadata: { attempts: 3, redeliveries: 1 } },
  });
});

describe('the cost of a model', () => {
  const usage = (tokens: number): NonNullable<Execution['usage']> => ({
    call_id: 'm',
    model: 'a:large',
    input_tokens: tokens,
    output_tokens: tokens,
    metadata: { cost: 1 },
  });

  test('is reported directly before the answer, in the same write', async () => {
    await startModels(open, async () => ({ ...answered('a:large'), usage: usage(3) }));
    const directive = ask({ iteration: 2 });
    await open.client.execute(directive);
    const log = await open.log(directive.request_id);
    expect(log.map(({ type }) => type)).toEqual(['ai.usage', 'ai.llm.response']);
    expect(log[0]).toMatchObject({
      attempt: 1,
      causationid: 'm',
      data: {
        input_tokens: 3,
        metadata: { cost: 1, operation: 'stream_text', iteration: 2, request_id: directive.request_id },
      },
    });
  });

  test.each<[string, Execution]>([
    ['failure', { ...away('validation_error'), unavailable: false, usage: usage(3) }],
    ['call without tokens', { ...answered('a:large'), usage: usage(0) }],
  ])('is not reported for a %s', async (_what, execution) => {
    await startModels(open, async () => execution);
    const directive = ask();
    await open.client.execute(directive);
    expect((await open.log(directive.request_id)).map(({ type }) => type)).toEqual(['ai.llm.response']);
  });
});

describe('a limit', () => {
  const limited = (ms: number, scope?: 'lane' | 'directive'): Execution => ({
    ...away('rate_limited', { retry_after_ms: ms }),
    ...(scope ? { pauseScope: scope } : {}),
  });

  /**
   * The directive named `first` is delayed once; the executed directives show what happens to the others of its lane.
   */
  async function putOff(execution: Execution) {
    const ran: string[] = [];
    const ranAt: number[] = [];
    let passed = false;
    await startModels(open, async ({ id }) => {
      ran.push(id);
      ranAt.push(Date.now());
      if (id === 'first' && !passed) return execution;
      return answered('a:large');
    });
    const first = ask({ id: 'first', model_alias: 'single', max_retries: 0 });
    await open.client.submit(first);
    await untilWaitingIn(first, 'llm.a');
    await open.client.execute(ask({ id: 'other', model_alias: 'single' }));
    passed = true;
    return { ran, ranAt, first };
  }

  test('of one model alone stops no other directive in the lane, and costs no retry', async () => {
    const { ran, first } = await putOff(limited(1_500, 'directive'));
    expect(await open.client.directive(first.request_id, 'first')).toMatchObject({
      status: 'waiting',
      attempts: 0,
    });
    expect(await open.client.result(first.request_id, 'first')).toMatchObject({
      attempt: 1,
      data: { result: { ok: true }, metadata: { attempts: 1 } },
    });
    expect(ran).toEqual(['first', 'other', 'first']);
  });

  test('below the short limit stops the lane', async () => {
    const { ranAt } = await putOff(limited(800));
    expect((ranAt[1] ?? 0) - (ranAt[0] ?? 0)).toBeGreaterThanOrEqual(750);
  });
});
