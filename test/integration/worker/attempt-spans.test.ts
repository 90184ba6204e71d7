/** What the spans of an attempt say where nobody can wait for it to happen: content, ends at the deadline, and the way on.
 *  It must never need a collector: spans are kept as they are reported. */
import { describe, expect, test } from 'vitest';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../src/contract/result.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import type { SpanRecord } from '../../../src/platform/telemetry/traces/span.ts';
import { NO_SPANS, type Spans } from '../../../src/platform/telemetry/traces/spans.ts';
import { traceContext } from '../../../src/platform/telemetry/traces/trace-context.ts';
import { attemptDirective } from '../../../src/worker/attempt/attempt.ts';
import { type Execute, fails } from '../../support/executors.ts';
import { ask, modelParts, openChain } from '../../support/model-pipeline.ts';
import { openPipeline, type Pipeline } from '../../support/pipeline.ts';
import { passDeadline } from '../../support/passed-deadline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

/** Every trace is recorded. */
function keptSpans(bytes = 0): Spans & { kept: SpanRecord[] } {
  const kept: SpanRecord[] = [];
  return {
    ...NO_SPANS,
    kept,
    under: (traceparent) => traceContext(traceparent),
    report: (span) => void kept.push(span),
    now: () => Date.now(),
    content: { bytes },
  };
}

async function attempted(execute: Execute, fields: Partial<ToolExec>, bytes = 0) {
  const one = await open.accepted(fields);
  const spans = keptSpans(bytes);
  const outcome = await open.attempt(open.attemptParts(execute, { spans }), one);
  return { outcome, spans: spans.kept, call: spans.kept.find(({ kind }) => kind === 'client') };
}

const contentOf = (span: SpanRecord | undefined): unknown[] =>
  ['gen_ai.tool.call.arguments', 'gen_ai.tool.call.result'].map((name) => span?.attributes[name]);

describe('arguments and results', () => {
  const answer = async () => ({ result: okResult({ said: 'yes', password: 'open sesame' }) });
  const one = { arguments: { question: 'who?', token: 'abc123' } };

  test('are not shown', async () => {
    expect(contentOf((await attempted(answer, one)).call)).toEqual([undefined, undefined]);
  });

  test('are shown where that is configured, without secrets', async () => {
    const [args, result] = contentOf((await attempted(answer, one, 1_000)).call).map(
      (shown) => JSON.parse(String(shown)) as Record<string, unknown>,
    );
    expect([args?.['question'], result?.['said']]).toEqual(['who?', 'yes']);
    expect(JSON.stringify([args, result])).not.toMatch(/abc123|sesame/);
  });

  test('are cut to the configured number of bytes', async () => {
    const long = async () => ({ result: okResult('ä'.repeat(1_000)) });
    const span = (await attempted(long, { arguments: { text: 'x'.repeat(1_000) } }, 64)).call;
    const bytes = contentOf(span).map((shown) => Buffer.byteLength(String(shown)));
    expect(bytes).toEqual([64, 64]);
  });
});

test('a worker that takes a call after its deadline reports its end, and no attempt', async () => {
  const one = await open.accepted({ deadline_ms: 60_000 });
  await passDeadline(open, one.request_id, one.id);
  const spans = keptSpans();
  await open.attempt(open.attemptParts(undefined, { spans }), one);
  expect(spans.kept).toMatchObject([
    { name: 'settle tool.test', kind: 'client', error: 'deadline_exceeded', links: [], events: [] },
  ]);
});

test('the sweeper that ends a call at its deadline reports why it waited', async () => {
  const one = await open.accepted({ deadline_ms: 60_000 });
  const look = async (spans: Spans): Promise<void> => {
    await open.index.add([{ requestId: one.request_id, id: one.id }], 0);
    await open.sweeper(50, spans).sweep();
  };
  await look(NO_SPANS);
  await passDeadline(open, one.request_id, one.id);
  const spans = keptSpans();
  await look(spans);
  const waited = { name: 'directive.waiting', attributes: { 'adjutant.wait.reasons': ['no_worker'] } };
  expect(spans.kept).toMatchObject([
    { name: 'settle tool.test', error: 'deadline_exceeded', events: [waited] },
  ]);
});

test('an attempt says what it waited for before it, and only the first time', async () => {
  const one = await open.accepted({ deadline_ms: 60_000, max_retries: 1 });
  await open.index.add([{ requestId: one.request_id, id: one.id }], 0);
  await open.sweeper().sweep();
  const failure = { ...errorEnvelope('execution_error', 'not this time'), retryable: true };
  const spans = keptSpans();
  const parts = open.attemptParts(async () => ({ result: errorResult(failure) }), { spans });
  expect(await open.attempt(parts, one)).toMatchObject({ kind: 'later', errorType: 'execution_error' });
  const eventsOf = (): (string[] | undefined)[] =>
    spans.kept.filter(({ kind }) => kind === 'consumer').map(({ events }) => events?.map(({ name }) => name));
  expect(eventsOf()).toEqual([['directive.waiting', 'directive.retry_scheduled']]);
  await expect
    .poll(() => open.attempt(parts, one))
    .toMatchObject({ kind: 'done', errorType: 'execution_error' });
  expect(eventsOf().slice(1)).toEqual([[]]);
});

test('the way on from a model that is away is a failed attempt of its lane', async () => {
  await using chain: Pipeline = await openChain(redis.url);
  const one = ask();
  await chain.client.submit(one);
  const away = { ...fails('provider_error'), unavailable: true };
  const record = await chain.recordOf(one);
  const job = { request_id: one.request_id, id: one.id, digest: record?.digest ?? '' };
  const outcome = await attemptDirective(
    modelParts(chain, async () => away),
    job,
    'llm.a',
  );
  expect(outcome).toEqual({ kind: 'done', errorType: 'provider_error' });
});

test('a tool that asks ends its attempt without an error; the attempt with the answer says what it waited for', async () => {
  const one = await open.accepted({ deadline_ms: 60_000 });
  const question = { mode: 'form', message: 'Which?', schema: { type: 'object' } } as const;
  const asks = {
    questions: [{ key: 'which', question }],
    state: 's',
    endpoint: 'e',
    patienceMs: 30_000,
    afresh: false,
  };
  const spans = keptSpans();
  const answered: unknown[] = [];
  const parts = open.attemptParts(
    async (_directive, context) => {
      answered.push(context.answered);
      return context.answered === undefined ? { result: okResult(null), asks } : { result: okResult('done') };
    },
    { spans },
  );
  expect(await open.attempt(parts, one)).toMatchObject({ kind: 'later' });
  await open.client.answer(one.request_id, `${one.id}.1`, { action: 'accept', content: { a: 1 } });
  expect(await open.attempt(parts, one)).toMatchObject({ kind: 'done', errorType: null });
  expect(answered).toEqual([
    undefined,
    {
      round: 1,
      state: 's',
      endpoint: 'e',
      afresh: false,
      answers: { which: { action: 'accept', content: { a: 1 } } },
    },
  ]);
  const [first, second] = spans.kept.filter(({ kind }) => kind === 'consumer');
  expect(first).toMatchObject({
    error: null,
    events: [{ name: 'ai.tool.input_requested', attributes: { 'adjutant.questions': 1 } }],
  });
  expect(second).toMatchObject({
    error: null,
    attributes: { 'adjutant.attempt': 2, 'adjutant.failures': 0 },
    events: [{ name: 'directive.waiting', attributes: { 'adjutant.wait.reasons': ['input_required'] } }],
    links: [{ attributes: { 'adjutant.link': 'previous_attempt' } }],
  });
});
