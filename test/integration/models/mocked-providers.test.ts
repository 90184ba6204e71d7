/** Model directives against an independent mock that speaks the providers' own HTTP.
 *  It must never reach a real provider. */
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { modelTurnSchema } from '../../../src/contract/model/model-turn.ts';
import { embeddingsSchema } from '../../../src/contract/model/embedding.ts';
import { type Api, call, errorIn, providersAt, told, turnIn } from '../../support/model-calls.ts';

const APIS: Api[] = ['openai', 'openai-chat', 'anthropic', 'google', 'compatible'];
const TEXT = 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all.';

/** For every provider at once: the mock passes on what is its own. */
const USAGE = {
  input_tokens: 11,
  output_tokens: 7,
  prompt_tokens: 11,
  completion_tokens: 7,
  promptTokenCount: 11,
  candidatesTokenCount: 7,
};
const mock = new LLMock({ port: 0, chunkSize: 10 });

beforeAll(async () => {
  mock.onMessage('hello', { content: TEXT, usage: USAGE });
  mock.onMessage('sum', {
    toolCalls: [{ id: 'call_1', name: 'everything_get-sum', arguments: '{"a":1,"b":2}' }],
    usage: USAGE,
  });
  mock.onMessage('both', {
    toolCalls: [
      { id: 'call_1', name: 'everything_get-sum', arguments: '{"a":1,"b":2}' },
      { id: 'call_2', name: 'everything_echo', arguments: '{"message":"hi"}' },
    ],
  });
  mock.onMessage('think', { content: 'Forty-two.', reasoning: 'Six times seven is forty-two.' });
  mock.onMessage('limited', {
    error: { message: 'Slow down', type: 'rate_limit_error' },
    status: 429,
    retryAfter: 7,
  });
  mock.onMessage('broken', { error: { message: 'Internal', type: 'server_error' }, status: 500 });
  mock.onMessage('overloaded', { error: { message: 'Overloaded', type: 'overloaded_error' }, status: 529 });
  mock.onMessage('forbidden', { error: { message: 'No', type: 'authentication_error' }, status: 401 });
  mock.onMessage('wrong', { error: { message: 'Bad', type: 'invalid_request_error' }, status: 400 });
  mock.onMessage('cut', { content: TEXT.repeat(50) }, { truncateAfterChunks: 30, latency: 10 });
  mock.onMessage('slow', { content: TEXT }, { streamingProfile: { ttft: 3_000 } });
  mock.onMessage('stalls', { content: TEXT.repeat(5) }, { latency: 2_000 });
  mock.onMessage('malformed', { content: TEXT }, { chaos: { malformedRate: 1 } });
  mock.onEmbedding(/.*/, { embedding: [0.5, -0.25, 0.125] });
  await mock.start();
});
afterAll(() => mock.stop());
beforeEach(() => mock.clearRequests());

const tools = {
  'everything.get-sum': {
    name: 'everything.get-sum',
    description: 'Adds',
    input_schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  },
  'everything.echo': { name: 'everything.echo', input_schema: { type: 'object', properties: {} } },
};

const said = (content: string) => ({ context: [{ role: 'user' as const, content }] });
const at = (api: Api) => ({ providers: providersAt(mock.url, api), tools });

describe.each(APIS)('%s', (api) => {
  test('streams an answer: the pieces joined are the text, usage is counted and priced', async () => {
    const result = await call({ type: 'llm_stream', ...said('hello') }, at(api));
    const turn = modelTurnSchema.parse(turnIn(result));
    expect(turn).toMatchObject({ type: 'final_answer', text: TEXT, tool_calls: [], finish_reason: 'stop' });
    expect(told(result, 'content')).toBe(TEXT);
    expect(result.deltas.length).toBeGreaterThan(3);
    expect(turn.first_chunk_ms).not.toBeNull();
    expect(result.execution.usage).toMatchObject({
      call_id: 'd',
      model: 'p:m',
      input_tokens: 11,
      output_tokens: 7,
      total_tokens: 18,
      metadata: { cost: 0.000081 },
    });
    expect(result.execution.metadata).toMatchObject({
      model: 'p:m',
      provider: 'p',
      requested_model: 'p:m',
      finish_reason: 'stop',
      cost: 0.000081,
    });
  });

  test('generates the same without pieces', async () => {
    const result = await call({ type: 'llm_generate', ...said('hello') }, at(api));
    expect(modelTurnSchema.parse(turnIn(result))).toMatchObject({ text: TEXT, first_chunk_ms: null });
    expect(result.deltas).toEqual([]);
    expect(result.execution.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  });

  test.each(['llm_stream', 'llm_generate'] as const)(
    '%s calls a tool under our name for it',
    async (type) => {
      const offered = { tools: ['everything.get-sum'], ...said('sum') };
      const result = await call({ type, ...offered }, at(api));
      const turn = turnIn(result);
      expect(turn).toMatchObject({ type: 'tool_calls', finish_reason: 'tool_calls' });
      expect(turn.tool_calls).toMatchObject([{ name: 'everything.get-sum', arguments: { a: 1, b: 2 } }]);
      const pieces = result.deltas.map(({ delta }) => delta as { name: string; arguments: string });
      if (type === 'llm_stream') {
        expect(new Set(pieces.map(({ name }) => name))).toEqual(new Set(['everything.get-sum']));
        expect(JSON.parse(pieces.map((piece) => piece.arguments).join(''))).toEqual({ a: 1, b: 2 });
      }
    },
  );

  test('a tool with a choice at the root of its schema reaches the model', async () => {
    const input_schema = {
      type: 'object',
      anyOf: [{ properties: { id: {} }, required: ['id'] }, { required: ['slug'] }],
    };
    const name = 'everything.get-sum';
    const offered = { tools: [{ name, description: 'Adds', input_schema }], ...said('sum') };
    expect(turnIn(await call({ type: 'llm_stream', ...offered }, at(api))).type).toBe('tool_calls');
    const sent = JSON.stringify(mock.getRequests().at(-1)?.body);
    // The mock notes no schemas of Google's requests.
    if (api !== 'google') expect(sent).toContain('"properties":{"id":{}');
    expect(sent).not.toContain('"anyOf"');
  });

  test('streams parallel calls separately', async () => {
    const offered = { tools: ['everything.get-sum', 'everything.echo'], ...said('both') };
    const result = await call({ type: 'llm_stream', ...offered }, at(api));
    expect(turnIn(result).tool_calls.map(({ name }) => name)).toEqual([
      'everything.get-sum',
      'everything.echo',
    ]);
    expect(new Set(turnIn(result).tool_calls.map(({ id }) => id)).size).toBe(2);
    const pieces = result.deltas.map(({ delta }) => delta as { index: number; arguments: string });
    const second = pieces.filter(({ index }) => index === 1).map((piece) => piece.arguments);
    expect(JSON.parse(second.join(''))).toEqual({ message: 'hi' });
  });

  test('accepts the history with its calls and their results', async () => {
    const call_1 = { id: 'call_1', name: 'everything.get-sum', arguments: { a: 1, b: 2 } };
    const context = [
      { role: 'user' as const, content: 'What is 1 and 2?' },
      { role: 'assistant' as const, content: '', tool_calls: [call_1] },
      { role: 'tool' as const, tool_call_id: 'call_1', content: '{"ok":true,"result":3}' },
      { role: 'user' as const, content: 'hello' },
    ];
    const offered = { tools: ['everything.get-sum'], system_prompt: 'Be brief.', context };
    const result = await call({ type: 'llm_stream', ...offered }, at(api));
    expect(turnIn(result).text).toBe(TEXT);
    const sent = JSON.stringify(mock.getLastRequest()?.body);
    expect(sent).toContain('Be brief.');
    expect(sent).toContain('everything_get-sum');
    expect(sent).not.toContain('everything.get-sum');
  });

  test.each([
    ['limited', 'rate_limited', true, { status: 429, retry_after_ms: 360_000 }],
    ['broken', 'provider_error', true, { status: 500 }],
    ['overloaded', 'provider_error', true, { status: 529, reason: 'overloaded' }],
    ['forbidden', 'auth', false, { status: 401 }],
    ['wrong', 'validation_error', false, { status: 400 }],
  ])('%s is %s', async (content, type, retryable, details) => {
    const result = await call({ type: 'llm_stream', ...said(content) }, at(api));
    expect(errorIn(result)).toMatchObject({ type, retryable, details });
    expect(result.execution.usage).toBeUndefined();
    expect(result.execution.unavailable).toBe(type === 'validation_error' ? undefined : true);
    const blocked = type === 'rate_limited' ? [{ scope: 'provider', ms: 360_000 }] : [];
    expect(result.limiter.blocked).toEqual(blocked);
  });

  test('a stream that is cut is a retryable network error, and reports its cost', async () => {
    const result = await call({ type: 'llm_stream', ...said('cut') }, at(api));
    expect(errorIn(result)).toMatchObject({ type: 'network', retryable: true });
    expect(result.deltas.length).toBeGreaterThan(0);
    expect(result.execution.unreached).toBeUndefined();
    const spent = result.execution.metadata?.['usage_so_far'] as { output_tokens: number };
    expect(spent).toMatchObject({ estimated: true });
    expect(spent.output_tokens).toBeGreaterThan(0);
    expect(result.execution.usage).toBeUndefined();
  });

  test('a first piece that does not come in time is a timeout of the whole', async () => {
    const limits = { timeout_ms: 300, idle_timeout_ms: 100 };
    const result = await call({ type: 'llm_stream', ...limits, ...said('slow') }, at(api));
    expect(errorIn(result)).toMatchObject({
      type: 'timeout',
      retryable: true,
      details: { limit: 'total', timeout_ms: 300 },
    });
  });

  test('a broken answer is a typed error', async () => {
    const result = await call({ type: 'llm_stream', ...said('malformed') }, at(api));
    expect(errorIn(result)).toMatchObject({ type: 'provider_error', retryable: true });
  });
});

describe('thinking', () => {
  test.each<Api>(['openai', 'anthropic', 'google', 'compatible'])('%s', async (api) => {
    const result = await call({ type: 'llm_stream', ...said('think') }, at(api));
    expect(turnIn(result)).toMatchObject({ text: 'Forty-two.', thinking: 'Six times seven is forty-two.' });
    expect(told(result, 'thinking')).toBe('Six times seven is forty-two.');
    const [first] = turnIn(result).content_parts ?? [];
    expect(first).toMatchObject({ type: 'thinking', text: 'Six times seven is forty-two.' });
  });
});

describe('a stream that stalls', () => {
  test('is an idle timeout', async () => {
    const limits = { timeout_ms: 20_000, idle_timeout_ms: 300 };
    const result = await call({ type: 'llm_stream', ...limits, ...said('stalls') }, at('openai-chat'));
    expect(errorIn(result)).toMatchObject({
      type: 'timeout',
      retryable: true,
      details: { limit: 'idle', timeout_ms: 300 },
    });
  });
});

describe('vectors', () => {
  // The mock does not know Google's call for several texts.
  test.each<[Api, string[]]>([
    ['openai', ['a', 'b', 'c']],
    ['compatible', ['a', 'b', 'c']],
    ['google', ['a']],
  ])('of %s', async (api, texts) => {
    const result = await call({ type: 'llm_embed', texts }, at(api));
    if (!result.execution.result.ok) throw new Error(JSON.stringify(result.execution.result.error));
    const payload = embeddingsSchema.parse(result.execution.result.payload);
    expect(payload).toMatchObject({ encoding_format: 'float', count: texts.length, dimensions: 3 });
    expect(payload.embeddings).toEqual(texts.map(() => [0.5, -0.25, 0.125]));
  });

  test('as base64 are 32-bit floats, little-endian', async () => {
    const result = await call({ type: 'llm_embed', texts: 'a', encoding_format: 'base64' }, at('openai'));
    if (!result.execution.result.ok) throw new Error(JSON.stringify(result.execution.result.error));
    const { embeddings } = embeddingsSchema.parse(result.execution.result.payload);
    const bytes = Buffer.from(embeddings[0] as string, 'base64');
    expect([0, 4, 8].map((offset) => bytes.readFloatLE(offset))).toEqual([0.5, -0.25, 0.125]);
  });

  test('of another length than requested are a failure', async () => {
    const result = await call({ type: 'llm_embed', texts: 'a', dimensions: 256 }, at('openai'));
    expect(errorIn(result)).toMatchObject({
      type: 'invalid_result',
      details: { dimensions: 3, expected: 256 },
    });
  });
});
