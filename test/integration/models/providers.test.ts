/** The clients of the providers against an independent mock that speaks their own HTTP.
 *  It must never reach a real provider. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LLMock } from '@copilotkit/aimock';
import { APICallError, type LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ModelRef, parseModelName } from '../../../src/contract/model/model-name.ts';
import type { RemoteProviderOptions } from '../../../src/models/requests/provider-options.ts';
import { createModelProviders, type ModelProviders } from '../../../src/models/providers.ts';

const KEY = 'sk-hunter2-hunter2';
const mock = new LLMock({ port: 0 });

beforeAll(async () => {
  mock.onMessage('hello', { content: 'Hi there, friend.' });
  await mock.start();
});
afterAll(() => mock.stop());
beforeEach(() => mock.clearRequests());

const settings = { timeoutMs: 1, idleTimeoutMs: 2 };

function remote(
  type: RemoteProviderOptions['type'],
  fields: Partial<RemoteProviderOptions> = {},
): ModelProviders {
  const version = type === 'google' ? 'v1beta' : 'v1';
  const options: RemoteProviderOptions = {
    type,
    baseUrl: `${mock.url}/${version}`,
    headers: { 'x-team': 'adjutants' },
    key: () => KEY,
    thinkTags: null,
    api: 'responses',
    reasoningHistory: 'as_received',
    assistantAfterTools: null,
    promptCache: () => 'off',
    model: () => ({ params: {}, structuredOutput: 'json_schema' }),
    callerNames: null,
    settings,
    prices: new Map([['m', { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }]]),
    embeddingBatches: new Map(),
    ...fields,
  };
  return createModelProviders(new Map([['p', options]]));
}

function ref(name: string): ModelRef {
  const parsed = parseModelName(name);
  if (!parsed) throw new Error(`no model name: ${name}`);
  return parsed;
}

function served<M extends object>(made: M): Exclude<M, { error: unknown }> {
  if ('error' in made) throw new Error(JSON.stringify(made.error));
  return made as Exclude<M, { error: unknown }>;
}

async function told(providers: ModelProviders, name = 'p:m'): Promise<string> {
  const { stream } = await served(await providers.language(ref(name))).doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
  });
  let text = '';
  for await (const part of stream as AsyncIterable<LanguageModelV4StreamPart>) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') text += part.delta;
  }
  return text;
}

function lastRequest() {
  const request = mock.getLastRequest();
  if (!request) throw new Error('the mock was not asked');
  return request;
}

describe('text', () => {
  test.each<[string, RemoteProviderOptions['type'], Partial<RemoteProviderOptions>, string]>([
    ['anthropic', 'anthropic', {}, '/v1/messages'],
    ['openai', 'openai', {}, '/v1/responses'],
    ["openai's chat interface", 'openai', { api: 'chat' }, '/v1/chat/completions'],
    ['google', 'google', {}, '/v1beta/models/m:streamGenerateContent'],
    ['a compatible endpoint', 'openai-compatible', {}, '/v1/chat/completions'],
  ])('%s answers it at the configured URL', async (_what, type, fields, path) => {
    expect(await told(remote(type, fields))).toBe('Hi there, friend.');
    expect(lastRequest().path.split('?')[0]).toBe(path);
    expect(lastRequest().headers).toMatchObject({ 'x-team': 'adjutants' });
  });

  test('the name of a model may hold colons and slashes', async () => {
    expect(await told(remote('openai-compatible'), 'p:library/llama3:8b')).toBe('Hi there, friend.');
    expect(lastRequest().body).toMatchObject({ model: 'library/llama3:8b' });
  });

  test('the usage of a stream is requested from a compatible endpoint', async () => {
    await told(remote('openai-compatible'));
    expect(lastRequest().body).toMatchObject({ stream_options: { include_usage: true } });
  });
});

describe('vectors', () => {
  test('anthropic has none, and reports that', async () => {
    expect(await remote('anthropic').embedding(ref('p:m'))).toMatchObject({
      error: { type: 'unknown_model', message: expect.stringContaining('no embedding models') as string },
    });
  });
});

describe('the facts about a provider', () => {
  test('is its settings, its prices and whether it is scripted', () => {
    const providers = remote('openai');
    expect(providers.settings('p')).toEqual(settings);
    expect(providers.settings('other')).toEqual({ timeoutMs: 120_000, idleTimeoutMs: 60_000 });
    expect(providers.price(ref('p:m'))).toEqual({ input: 1, output: 2, cacheRead: 3, cacheWrite: 4 });
    expect(providers.price(ref('p:other'))).toBeNull();
    expect(providers.isScripted('p')).toBe(false);
  });

  test('a provider that this worker does not serve has no models', async () => {
    for (const made of [
      await remote('openai').language(ref('other:m')),
      await remote('openai').embedding(ref('other:m')),
    ]) {
      expect(made).toMatchObject({ error: { type: 'unknown_model', retryable: false } });
    }
  });
});

/** A provider that refuses every call, and repeats its content. */
async function startTattler(): Promise<{ url: string; seen: IncomingMessage['headers'][]; server: Server }> {
  const seen: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    const headers = JSON.stringify(request.headers);
    response.writeHead(401, { 'content-type': 'application/json', 'x-echo': headers, 'retry-after': '7' });
    response.end(
      JSON.stringify({ error: { message: `bad key in ${headers}`, type: 'auth', code: headers } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, server };
}

describe('a key', () => {
  const types: RemoteProviderOptions['type'][] = ['anthropic', 'openai', 'google', 'openai-compatible'];

  test.each(types)('of %s is sent, and is not in the error of a provider that repeats it', async (type) => {
    const { url, seen, server } = await startTattler();
    const providers = remote(type, { baseUrl: url, headers: { 'x-secret': 'hunter3-hunter3' } });
    const error: unknown = await told(providers).catch((thrown: unknown) => thrown);
    server.close();
    expect(JSON.stringify(seen)).toContain(KEY);
    expect(JSON.stringify(seen)).toContain('hunter3-hunter3');
    if (!APICallError.isInstance(error)) throw error;
    expect(error.statusCode).toBe(401);
    expect(error.responseHeaders?.['retry-after']).toBe('7');
    const shown = JSON.stringify([
      error,
      error.message,
      error.stack,
      error.responseBody,
      error.responseHeaders,
      error.data,
    ]);
    expect(shown).toContain('[REDACTED]');
    expect(shown).not.toMatch(/hunter[23]/);
  });

  test('that is missing is not sent to a compatible endpoint', async () => {
    const { url, seen, server } = await startTattler();
    await told(remote('openai-compatible', { baseUrl: url, key: () => null })).catch(() => {});
    server.close();
    expect(seen[0]).not.toHaveProperty('authorization');
  });

  test('and a URL in the environment are not used', async () => {
    const { url, seen, server } = await startTattler();
    const before = { ...process.env };
    for (const name of ['ANTHROPIC', 'OPENAI', 'GOOGLE_GENERATIVE_AI']) {
      process.env[`${name}_BASE_URL`] = 'http://127.0.0.1:1/v1';
      process.env[`${name}_API_KEY`] = 'sk-from-the-environment';
    }
    for (const type of types) await told(remote(type, { baseUrl: url, key: () => null })).catch(() => {});
    process.env = before;
    server.close();
    expect(seen).toHaveLength(types.length);
    expect(JSON.stringify(seen)).not.toContain('from-the-environment');
  });
});
