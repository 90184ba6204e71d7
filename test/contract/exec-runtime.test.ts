// Parity with the upstream runtime's execution of model directives: order, counts, metadata, failures.
// Must never read anything but the log of a request: what is not there was not reported.
import { NO_MODEL_BUDGETS } from '../../src/contract/model/budget.ts';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import { resultSchema } from '../../src/contract/result.ts';
import { type Signal, signalSchema } from '../../src/contract/signal/signal.ts';
import { llmEmbed } from '../../src/worker/executors/llm-embed.ts';
import { llmGenerate, llmStream } from '../../src/worker/executors/llm-generate.ts';
import { createSchemaChecks } from '../../src/platform/json-schema/schema-checks.ts';
import { createModelCatalog } from '../../src/store/catalog/model-catalog.ts';
import type { ModelProviders } from '../../src/models/providers.ts';
import { type Api, providersAt, recordingLimiter } from '../support/model-calls.ts';
import { openPipeline, type Pipeline, type TestWorkerOptions } from '../support/pipeline.ts';
import {
  type Answer,
  bodyOf,
  json,
  type ProviderServer,
  sse,
  startProvider,
  STREAM_HEAD,
  streamed,
} from '../support/provider-server.ts';
import { OPENAI_CHAT } from '../support/recorded-answers.ts';
import { useRedis } from '../support/shared.ts';

const redis = useRedis();

const NO_BUDGET = { budgets: NO_MODEL_BUDGETS, modelsOf: () => [] };

/** A pipeline with a worker that calls the given providers. */
async function openModels(providers: ModelProviders, options: TestWorkerOptions = {}): Promise<Pipeline> {
  const open = await openPipeline(redis.url);
  await createModelCatalog(open.connection, open.keys).publish({
    providers: new Map([['p', { type: 'openai-compatible' }]]),
    aliases: new Map([['fast', ['p:m']]]),
  });
  const schemas = createSchemaChecks();
  const parts = {
    providers,
    limiter: recordingLimiter(),
    describeTool: async () => null,
    schemas,
    ...NO_BUDGET,
  };
  await open.startWorker(() => Promise.reject(new Error('no tools here')), {
    definitions: [llmStream(parts), llmGenerate(parts), llmEmbed(parts)],
    lanes: ['llm.p'],
    ...options,
  });
  return open;
}

type Fields = Partial<SubmittedDirective> & { type: 'llm_stream' | 'llm_generate' | 'llm_embed' };

/** All signals of a request with one directive, once it has ended. */
async function run(open: Pipeline, fields: Fields): Promise<Signal[]> {
  const given =
    fields.type === 'llm_embed' ? { texts: 'one' } : { context: [{ role: 'user', content: 'hello' }] };
  const request_id = randomUUID();
  await open.client.execute({ model: 'p:m', ...given, ...fields, id: 'd', request_id } as SubmittedDirective);
  const log = await open.log(request_id);
  for (const signal of log) expect(signalSchema.parse(signal)).toStrictEqual(signal);
  return log;
}

/** The same with a real client of a provider that answers as written. */
async function ran(answer: Answer, fields: Fields): Promise<{ log: Signal[]; server: ProviderServer }> {
  await using server = await startProvider(answer);
  await using open = await openModels(providersAt(server.url, 'compatible'));
  return { log: await run(open, fields), server };
}

const typesOf = (log: readonly Signal[]): string[] => log.map(({ type }) => type);
const withoutDeltas = (log: readonly Signal[]): string[] =>
  typesOf(log).filter((type) => type !== 'ai.llm.delta');

function dataOf(log: readonly Signal[], type: Signal['type']): Record<string, unknown> {
  const found = log.filter((signal) => signal.type === type);
  expect(found).toHaveLength(1);
  return found[0]?.data as Record<string, unknown>;
}

function endOf(log: readonly Signal[], type: 'ai.llm.response' | 'ai.embed.result' = 'ai.llm.response') {
  expect(log.at(-1)?.type).toBe(type);
  const { result, metadata } = dataOf(log, type);
  return { result: resultSchema.parse(result), metadata: metadata as Record<string, unknown> };
}

function failureOf(log: readonly Signal[], type?: 'ai.embed.result') {
  const { result } = endOf(log, type);
  if (result.ok) throw new Error('no failure');
  return result.error;
}

function completion(usage: Record<string, unknown> | null, finish_reason = 'stop'): Record<string, unknown> {
  const message = { role: 'assistant', content: 'Hi.' };
  return { id: 'x', model: 'gpt', choices: [{ index: 0, message, finish_reason }], usage };
}

/** A provider whose client counts tokens as no real one does. */
function counting(usage: LanguageModelV4Usage): ModelProviders {
  const finishReason = { unified: 'stop', raw: 'stop' } as const;
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'Hi.' },
    { type: 'text-end', id: '0' },
    { type: 'finish', usage, finishReason },
  ];
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'counting',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: async () => ({ content: [{ type: 'text', text: 'Hi.' }], finishReason, usage, warnings: [] }),
    doStream: async () => ({ stream: ReadableStream.from(parts) }),
  };
  return { ...providersAt('http://127.0.0.1:1', 'compatible'), language: async () => model };
}

function counts(
  input: unknown,
  output: unknown,
  cache: { read?: unknown; write?: unknown } = {},
): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: cache.read, cacheWrite: cache.write },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  } as LanguageModelV4Usage;
}

const GENERATE = { type: 'llm_generate' } as const;
const STREAM = { type: 'llm_stream' } as const;
const EMBED = { type: 'llm_embed' } as const;

describe('generate', () => {
  test('emits usage, then the response', async () => {
    const { log } = await ran(json(200, completion({ prompt_tokens: 2, completion_tokens: 3 })), GENERATE);
    expect(typesOf(log)).toEqual(['ai.usage', 'ai.llm.response']);
    expect(dataOf(log, 'ai.usage')).toMatchObject({
      call_id: 'd',
      model: 'p:m',
      input_tokens: 2,
      output_tokens: 3,
      total_tokens: 5,
    });
    expect(endOf(log).result).toMatchObject({
      ok: true,
      effects: [],
      payload: { type: 'final_answer', text: 'Hi.' },
    });
  });

  test('calls with the defaults of the contract', async () => {
    const { server } = await ran(json(200, completion(null)), GENERATE);
    expect(bodyOf(server)).toMatchObject({ model: 'm', max_tokens: 1024, temperature: 0.2 });
    expect(bodyOf(server)).not.toHaveProperty('tools');
  });

  test('gives up when the timeout has passed', async () => {
    const { log } = await ran(() => {}, { ...GENERATE, timeout_ms: 100 });
    expect(typesOf(log)).toEqual(['ai.llm.response']);
    expect(failureOf(log)).toMatchObject({ type: 'timeout', retryable: true, details: { timeout_ms: 100 } });
  });

  test('reads counts that are text', async () => {
    await using open = await openModels(counting(counts('2', 3, { read: '1', write: '4' })));
    expect(dataOf(await run(open, GENERATE), 'ai.usage')).toMatchObject({
      input_tokens: 2,
      output_tokens: 3,
      total_tokens: 5,
      metadata: { cache_read_input_tokens: 1, cache_creation_input_tokens: 4 },
    });
  });

  test('has exactly this metadata', async () => {
    const { log } = await ran(json(200, completion(null)), GENERATE);
    const { metadata } = endOf(log);
    // Upstream's own: origin, operation, request_id, run_id. The others are this project's.
    expect(Object.keys(metadata).toSorted()).toEqual([
      'attempts',
      'duration_ms',
      'effect',
      'finish_reason',
      'model',
      'operation',
      'origin',
      'provider',
      'request_id',
      'requested_model',
      'run_id',
    ]);
    expect(metadata).toMatchObject({
      origin: 'directive',
      operation: 'generate_text',
      run_id: metadata['request_id'],
      attempts: 1,
    });
  });

  test('turns an exception of a client into one error', async () => {
    const providers = counting(counts(1, 1));
    const broken = {
      ...(await providers.language({} as never)),
      doGenerate: () => Promise.reject(new Error('boom')),
    };
    await using open = await openModels({ ...providers, language: async () => broken as LanguageModelV4 });
    const log = await run(open, GENERATE);
    expect(typesOf(log)).toEqual(['ai.llm.response']);
    expect(failureOf(log)).toMatchObject({ message: 'boom' });
  });
});

describe('stream', () => {
  test('emits deltas, then usage, then the response', async () => {
    const { log } = await ran(streamed(OPENAI_CHAT), STREAM);
    expect(withoutDeltas(log)).toEqual(['ai.usage', 'ai.llm.response']);
    expect(typesOf(log).slice(0, -2)).toEqual(
      typesOf(log)
        .slice(0, -2)
        .map(() => 'ai.llm.delta'),
    );
    expect(log.length).toBeGreaterThan(2);
    const seqs = log.slice(0, -2).map(({ data }) => (data as { seq: number }).seq);
    expect(seqs).toEqual(seqs.map((_, index) => index));
    expect(endOf(log).metadata).toMatchObject({ operation: 'stream_text', origin: 'directive' });
    const { input_tokens, output_tokens } = dataOf(log, 'ai.usage');
    expect(dataOf(log, 'ai.llm.response')).toMatchObject({
      usage: { input_tokens, output_tokens },
      model: 'p:m',
      duration_ms: expect.any(Number),
    });
    const [delta] = log;
    expect(delta?.data).toMatchObject({ metadata: { request_id: delta?.subject, operation: 'stream_text' } });
  });

  test.each([
    ['none are reported', counts(undefined, undefined)],
    ['all are zero', counts(0, 0)],
  ])('emits no usage when %s', async (_what, usage) => {
    await using open = await openModels(counting(usage));
    const log = await run(open, STREAM);
    expect(withoutDeltas(log)).toEqual(['ai.llm.response']);
    expect(endOf(log).result).toMatchObject({ ok: true, payload: { usage: null } });
  });

  test('emits no usage for a failure, whatever was reported', async () => {
    const usage = { choices: [], usage: { prompt_tokens: 2, completion_tokens: 3 } };
    const text = sse([
      { choices: [{ index: 0, delta: { content: 'Hi' } }] },
      usage,
      { error: { message: 'gone' } },
    ]);
    const { log } = await ran(streamed(text), STREAM);
    expect(withoutDeltas(log)).toEqual(['ai.llm.response']);
    expect(failureOf(log)).toMatchObject({ type: 'provider_error', message: 'gone' });
  });

  test('that is cut is tried again; the deltas of each attempt carry its number, the last ones make the answer', async () => {
    const cut: Answer = (response, request, index) => {
      if (index > 0) return streamed(OPENAI_CHAT)(response, request, index);
      response.writeHead(200, STREAM_HEAD);
      response.write(OPENAI_CHAT.split('\n\n').slice(0, 2).join('\n\n') + '\n\n', () => {
        setTimeout(() => response.destroy(), 50);
      });
      return undefined;
    };
    const { log } = await ran(cut, { ...STREAM, max_retries: 1 });
    expect(withoutDeltas(log)).toEqual(['directive.retry_scheduled', 'ai.usage', 'ai.llm.response']);
    const text = (attempt: number): string =>
      log
        .filter((signal) => signal.type === 'ai.llm.delta' && signal.attempt === attempt)
        .map(({ data }) => (data as { delta: string }).delta)
        .join('');
    expect(text(1)).toBe('Hello');
    expect(text(2)).toBe('Hello, wörld 🌍');
    expect(endOf(log)).toMatchObject({
      result: { payload: { text: 'Hello, wörld 🌍' } },
      metadata: { attempts: 2 },
    });
  });
});

describe('embed', () => {
  const vectors: Answer = (response, request, index) => {
    const { input } = request.body as { input: string[] };
    const data = input.map((_, at) => ({ object: 'embedding', index: at, embedding: [at, 1] }));
    return json(200, { object: 'list', data, model: 'e', usage: { prompt_tokens: 4, total_tokens: 4 } })(
      response,
      request,
      index,
    );
  };

  test('gives as many vectors as texts, with the requested options', async () => {
    const { log, server } = await ran(vectors, { ...EMBED, texts: ['one', 'two'], dimensions: 2 });
    expect(typesOf(log)).toEqual(['ai.usage', 'ai.embed.result']);
    expect(bodyOf(server)).toMatchObject({ input: ['one', 'two'], dimensions: 2 });
    const { result, metadata } = endOf(log, 'ai.embed.result');
    expect(result).toMatchObject({
      ok: true,
      effects: [],
      payload: {
        count: 2,
        embeddings: [
          [0, 1],
          [1, 1],
        ],
      },
    });
    expect(metadata).toMatchObject({ operation: 'embed', origin: 'directive', model: 'p:m' });
  });

  test('fails with the canonical error', async () => {
    const { log } = await ran(json(400, { error: { message: 'too long' } }), EMBED);
    expect(typesOf(log)).toEqual(['ai.embed.result']);
    expect(failureOf(log, 'ai.embed.result')).toMatchObject({
      type: 'validation_error',
      message: 'too long',
      retryable: false,
    });
  });
});

describe('an unknown model', () => {
  test.each<[string, Fields, 'ai.llm.response' | 'ai.embed.result']>([
    ['by its alias', { ...STREAM, model: '', model_alias: 'nonsense' }, 'ai.llm.response'],
    ['by its name', { ...GENERATE, model: 'elsewhere:m' }, 'ai.llm.response'],
    ['for vectors', { ...EMBED, model: 'elsewhere:m' }, 'ai.embed.result'],
  ])('%s is one terminal error', async (_what, fields, type) => {
    const { log, server } = await ran(streamed(OPENAI_CHAT), fields);
    expect(typesOf(log)).toEqual([type]);
    const { result } = endOf(log, type);
    expect(result).toMatchObject({ ok: false, error: { type: 'unknown_model', retryable: false } });
    expect(server.seen).toEqual([]);
  });

  test('with a known alias is called by the alias', async () => {
    const { log } = await ran(streamed(OPENAI_CHAT), { ...STREAM, model: '', model_alias: 'fast' });
    expect(endOf(log).metadata).toMatchObject({ model: 'p:m', requested_alias: 'fast' });
  });
});

describe('attempts', () => {
  test.each([0, 2])('are one more than max_retries: %d', async (max_retries) => {
    const { log, server } = await ran(json(500, { error: { message: 'no' } }), { ...GENERATE, max_retries });
    expect(server.seen).toHaveLength(max_retries + 1);
    expect(failureOf(log)).toMatchObject({ type: 'provider_error' });
    expect(endOf(log).metadata).toMatchObject({ attempts: max_retries + 1 });
  });

  test('that were refused for their rate cost none of them, and are made again when the provider allows it', async () => {
    const limited = json(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '50' });
    const { log, server } = await ran((response, request, index) => {
      const answer = index === 0 ? limited : streamed(OPENAI_CHAT);
      return answer(response, request, index);
    }, STREAM);
    expect(server.seen).toHaveLength(2);
    expect(withoutDeltas(log)).toEqual(['directive.waiting', 'ai.usage', 'ai.llm.response']);
    expect(endOf(log)).toMatchObject({ result: { ok: true }, metadata: { attempts: 1, refused_calls: 1 } });
  });

  test('leave signals that belong to one trace, and name their cause', async () => {
    const { log } = await ran(streamed(OPENAI_CHAT), STREAM);
    const traces = new Set(log.map(({ traceparent }) => traceparent.split('-')[1]));
    expect(traces.size).toBe(1);
    for (const { traceparent, causationid } of log) {
      expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
      expect(causationid).toBe('d');
    }
  });
});

/**
 * Reports: https://github.com/kubescape/kubevuln/pull/755 and https://github.com/rocketride-org/rocketride-server/pull/1937. One
 * directive sent 2,055 requests in 10 seconds.
 */
describe('a provider that refuses every request with 429', () => {
  const GONE = 'Wed, 21 Oct 2015 07:28:00 GMT';
  const withRest = {
    'x-ratelimit-remaining-requests': '9999',
    'x-ratelimit-reset-requests': '6ms',
    'x-ratelimit-remaining-tokens': '500',
    'x-ratelimit-reset-tokens': '59s',
  };

  test.each<[string, Api, Fields, Record<string, string>]>([
    ['Retry-After: 0', 'compatible', GENERATE, { 'retry-after': '0' }],
    ['a date that is past', 'openai-chat', STREAM, { 'retry-after': GONE }],
    ['resets of limits that are not used up', 'openai', GENERATE, withRest],
    ['Retry-After: 0', 'anthropic', STREAM, { 'retry-after': '0' }],
    ['no header', 'google', GENERATE, {}],
  ])('and %s (%s) gets as many as are allowed, and the log says so', async (_what, api, fields, headers) => {
    await using server = await startProvider(json(429, { error: { message: 'Too Many Requests' } }, headers));
    const short = { pauseMs: 5, pauseCount: 5 };
    await using open = await openModels(providersAt(server.url, api), short);
    const log = await run(open, { ...fields, max_retries: 0 });
    expect(server.seen).toHaveLength(6);
    const waits = log.filter(({ type }) => type === 'directive.waiting');
    expect(waits.map(({ data }) => data)).toMatchObject(
      [1, 2, 4].map((pauses) => ({ reason: 'rate_limited', pauses, until: expect.any(String) as string })),
    );
    expect(failureOf(log)).toMatchObject({ type: 'rate_limited', details: { pauses: 5 } });
    expect(endOf(log).metadata).toMatchObject({ attempts: 1, refused_calls: 5 });
  });
});

/** https://openrouter.ai/docs/api-reference/overview: a failure in the middle of an answer has the finish reason `error`. */
test.each<[string, Api, Answer, Fields]>([
  ['whole', 'compatible', json(200, completion(null, 'error')), GENERATE],
  ['streamed', 'compatible', (response) => endStream(response, 'error'), STREAM],
  ['whole', 'openai-chat', json(200, completion(null, 'error')), GENERATE],
  ['streamed', 'openai-chat', (response) => endStream(response, 'error'), STREAM],
])('an answer, %s, that ends in an error is a failed attempt (%s)', async (_how, api, answer, fields) => {
  await using server = await startProvider(answer);
  await using open = await openModels(providersAt(server.url, api));
  const log = await run(open, { ...fields, max_retries: 1 });
  expect(server.seen).toHaveLength(2);
  expect(failureOf(log)).toMatchObject({ type: 'provider_error', details: { reason: 'error' } });
});

function endStream(response: ServerResponse, finish: string): void {
  const chunk = (delta: object, finish_reason: string | null) => ({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  });
  response.writeHead(200, STREAM_HEAD);
  response.end(`${sse([chunk({ content: 'Half' }, null), chunk({}, finish)])}data: [DONE]\n\n`);
}
