/** The model endpoint as callers use it: the providers' own SDKs, keys, aliases, retries, callers that leave.
 *  It must never reach a real provider. */
import Anthropic from '@anthropic-ai/sdk';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import { json, startProvider, streamed } from '../../../support/provider-server.ts';
import { ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES } from '../../../support/recorded-answers.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const ADMIN = 'k'.repeat(40);
const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const CHAT = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'm-2026',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage,
};
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 1 },
};

/** Answers of requests to the model `held`: they are sent when a test says so. */
const held = { asked: Promise.withResolvers<void>(), release: Promise.withResolvers<void>() };

/** An answer of several parts in Redis, whose characters have one, two, three and four bytes. */
const LARGE = JSON.stringify({ ...CHAT, blob: 'aé€😀'.repeat(150_000) });

/** Answers by the model and the path. */
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    const body = request.body as { model: string; stream?: boolean };
    const answer = (() => {
      if (body.model === 'broken')
        return json(529, { error: { type: 'overloaded_error', message: 'Overloaded' } });
      if (body.model === 'large') return json(200, LARGE);
      if (body.model === 'refused')
        return json(400, { error: { message: 'max_tokens is too large', type: 'invalid_request_error' } });
      if (request.path.endsWith('/embeddings'))
        return json(200, {
          object: 'list',
          data: [{ object: 'embedding', index: 0, embedding: [1, 2] }],
          usage,
        });
      if (request.path.endsWith('/count_tokens')) return json(200, { input_tokens: 12 });
      if (request.path.endsWith('/responses')) return streamed(OPENAI_RESPONSES);
      if (request.path.endsWith('/messages')) return body.stream ? streamed(ANTHROPIC) : json(200, MESSAGE);
      return body.stream === true ? streamed(OPENAI_CHAT) : json(200, CHAT);
    })();
    if (body.model === 'endless') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"on"}}]}\n\n');
      await once(response, 'close');
      return;
    }
    if (body.model === 'flood') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const events = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(900) } }] })}\n\n`;
      const closed = once(response, 'close');
      while (!response.destroyed)
        if (!response.write(events.repeat(64))) await Promise.race([once(response, 'drain'), closed]);
      return;
    }
    if (body.model === 'held') {
      held.asked.resolve();
      await held.release.promise;
    }
    await answer(response, request, index);
  }),
);
const redis = useRedis();
const service = shared(async () =>
  startService({
    redisUrl: redis.url,
    environment: {
      OPENAI_API_KEY: 'sk-openai-0123',
      ANTHROPIC_API_KEY: 'sk-ant-0123',
      ADJUTANT_ADMIN_KEY: ADMIN,
    },
    config: {
      limits: { model_grace_ms: 1, request_bytes: 8 * 1_024 * 1_024 },
      providers: {
        openai: { type: 'openai', base_url: `${provider.url}/v1`, params: { user: 'operator' } },
        second: { type: 'openai-compatible', base_url: `${provider.url}/second` },
        anthropic: { type: 'anthropic', base_url: `${provider.url}/v1` },
      },
      models: { chain: ['openai:broken', 'anthropic:m', 'second:own/m'], claude: ['anthropic:m'] },
    },
  }),
);
const openai = (options: object = {}) =>
  new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: ADMIN, maxRetries: 0, ...options });
const anthropic = () => new Anthropic({ baseURL: `${service.url}/anthropic`, apiKey: ADMIN, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'hello' }];
const seenWith = (model: string) =>
  provider.seen.filter(({ body }) => (body as { model: string }).model === model);
const keys = shared(async () => {
  const made = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => {} });
});
const client = shared(async () => {
  const made = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

describe('the SDK of OpenAI', () => {
  test('reads a whole answer, whose directive has the turn, its usage and the bytes', async () => {
    const { data, response } = await openai()
      .chat.completions.create({ model: 'gpt', messages })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe('hi');
    const requestId = response.headers.get('adjutant-request') ?? '';
    const view = await client.directive(requestId, response.headers.get('adjutant-directive') ?? '');
    expect(view).toMatchObject({ type: 'llm_request', lane: 'llm.openai', status: 'succeeded' });
    expect(view?.result?.data).toMatchObject({
      usage: { input_tokens: 5, output_tokens: 2 },
      result: { payload: { text: 'hi', model: 'm-2026', raw: { status: 200, body: JSON.stringify(CHAT) } } },
    });
    const types = (await client.page(requestId)).signals.map(({ type }) => type);
    expect(types).toEqual(['ai.usage', 'ai.llm.response']);
  });

  test('reads a stream, of which the log has the events and the pieces', async () => {
    const { data, response } = await openai()
      .chat.completions.create({ model: 'openai:gpt', messages, stream: true })
      .withResponse();
    let text = '';
    for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello, wörld 🌍');
    const { signals } = await client.page(response.headers.get('adjutant-request') ?? '');
    const raw = signals
      .flatMap((signal) => (signal.type === 'ai.llm.raw' ? [signal.data.text] : []))
      .join('');
    expect(OPENAI_CHAT.startsWith(raw)).toBe(true);
    const pieces = signals.flatMap((signal) => (signal.type === 'ai.llm.delta' ? [signal.data.delta] : []));
    expect(pieces.join('')).toBe(text);
    expect(signals.at(-1)?.data).toMatchObject({ usage: { input_tokens: 19, cache_read_input_tokens: 8 } });
  });

  test('reads a stream of Responses, whose call of a tool is in the turn', async () => {
    const stream = await openai().responses.create({ model: 'gpt', input: 'hello', stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types.at(-1)).toBe('response.completed');
  });

  test('gets vectors, and the names of models that it can use', async () => {
    const { data } = await openai().embeddings.create({ model: 'gpt', input: 'a', encoding_format: 'float' });
    expect(data[0]?.embedding).toEqual([1, 2]);
    const { data: models } = await openai().models.list();
    expect(models.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['chain', 'openai:broken', 'second:own/m']),
    );
    expect(models.map(({ id }) => id)).not.toContain('claude');
  });

  test('throws what the provider refuses, with its status and message', async () => {
    const call = openai().chat.completions.create({ model: 'refused', messages });
    await expect(call).rejects.toMatchObject({ status: 400, error: { message: 'max_tokens is too large' } });
    expect(seenWith('refused')).toHaveLength(1);
  });

  test.each([
    ['no key of this service', { apiKey: 'sk-other' }, 'gpt', 401],
    ['a model of another form', {}, 'claude', 404],
  ])('throws an error of its own form for %s', async (_name, options, model, status) => {
    const call = openai(options).chat.completions.create({ model, messages });
    await expect(call).rejects.toMatchObject({ status, error: { message: expect.any(String) as string } });
  });
});

// The form of the error is that of the wire, and its message says what to do.
test('a key or a path that is missing is explained in the form of the wire', async () => {
  const ask = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(service.url + path, { method: 'POST', headers, body: '{}' });
    return { status: response.status, body: await response.json() };
  };
  const json = { 'content-type': 'application/json' };
  const keyed = { ...json, authorization: `Bearer ${ADMIN}` };
  expect(await ask('/openai/v1/chat/completions', json)).toMatchObject({
    status: 401,
    body: { error: { message: expect.stringContaining('Authorization: Bearer adj_') as string } },
  });
  for (const path of ['/openai/chat/completions', '/runs/r/openai/v1/audio/speech?key=hidden'])
    expect(await ask(path, keyed)).toEqual({
      status: 404,
      body: {
        error: {
          message: `The model endpoint does not serve POST ${path.split('?')[0]}. Its paths begin with /openai/v1/ (docs/model-endpoint.md).`,
          type: 'not_found_error',
          param: null,
          code: 'not_found',
        },
      },
    });
  expect(await ask('/anthropic/v1/complete', keyed)).toMatchObject({
    body: { type: 'error', error: { type: 'not_found_error' } },
  });
});

describe('the SDK of Anthropic', () => {
  test('reads a whole answer, a stream, and a count of tokens; its key is in a header of its own', async () => {
    const { content } = await anthropic().messages.create({ model: 'm', max_tokens: 9, messages });
    expect(content).toEqual([{ type: 'text', text: 'hi' }]);
    const message = await anthropic().messages.stream({ model: 'm', max_tokens: 9, messages }).finalMessage();
    expect(message.content.at(-1)).toMatchObject({
      type: 'tool_use',
      name: 'weather_get',
      input: { city: 'Paris' },
    });
    const { input_tokens } = await anthropic().messages.countTokens({ model: 'claude', messages });
    expect(input_tokens).toBe(12);
    expect(provider.seen.at(-1)?.headers).toMatchObject({
      'x-api-key': 'sk-ant-0123',
      'anthropic-version': expect.any(String) as string,
    });
  });

  test('throws an error of its own form', async () => {
    const call = new Anthropic({ baseURL: `${service.url}/anthropic`, apiKey: 'none', maxRetries: 0 });
    await expect(call.messages.create({ model: 'm', max_tokens: 9, messages })).rejects.toMatchObject({
      status: 401,
      error: { type: 'error', error: { type: 'authentication_error' } },
    });
  });
});

describe('a key', () => {
  const keyed = async (limits: object) => {
    const { key } = await keys.create({ name: 'agent', scopes: ['submit'], ...limits });
    return openai({ apiKey: key });
  };

  test('for some models calls no other one, and sees no call of another key', async () => {
    const limited = await keyed({ models: ['openai:gpt'] });
    const { data, response } = await limited.chat.completions
      .create({ model: 'gpt', messages })
      .withResponse();
    expect(data.id).toBe('chatcmpl-1');
    const other = limited.chat.completions.create({ model: 'second:own/m', messages });
    await expect(other).rejects.toMatchObject({ status: 403, error: { type: 'permission_error' } });
    const options = { headers: { 'x-stainless-retry-count': '1' } };
    const again = await openai().chat.completions.create({ model: 'gpt', messages }, options).asResponse();
    expect(again.headers.get('adjutant-request')).not.toBe(response.headers.get('adjutant-request'));
  });

  test('whose budget has no tokens left is refused in the form of the wire, without another try', async () => {
    const before = seenWith('spent').length;
    const poor = await keyed({ tokens_per_day: 3 });
    const call = poor.chat.completions.create({ model: 'spent', messages });
    await expect(call).rejects.toMatchObject({
      status: 429,
      error: { code: 'budget_spent', type: 'rate_limit_error' },
    });
    expect(seenWith('spent')).toHaveLength(before);
  });
});

describe('a call', () => {
  // Issue 37: 20 answers of 25 MB at once blocked Redis for more than a second each, and failed with 500 and 503.
  test('with a large answer gets it byte for byte while others do, and Redis holds no value above 256 KiB', async () => {
    const asked = Array.from({ length: 5 }, async (_, seed) => {
      const response = await fetch(`${service.url}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${ADMIN}` },
        body: JSON.stringify({ model: 'openai:large', seed, messages }),
      });
      const isWhole = (await response.text()) === LARGE;
      return { status: response.status, isWhole, request: String(response.headers.get('adjutant-request')) };
    });
    const answers = await Promise.all(asked);
    expect(answers.map(({ status, isWhole }) => [status, isWhole])).toEqual(Array(5).fill([200, true]));
    const connection = new Redis(redis.url);
    const key = `${service.prefix}:{${answers[0]?.request}}:bodies`;
    const sizes = await Promise.all(
      (await connection.hkeys(key)).map(async (field) => connection.hstrlen(key, field)),
    );
    await connection.quit();
    expect([sizes.length > 5, Math.max(...sizes)]).toEqual([true, 256 * 1_024]);
  });

  // Issue 37: a stream of 120 MB in events of 1 KB. The caller waited for its end without a byte, and the provider was paid for all of it.
  test('whose stream is larger than its request may hold ends with an error at the limit, and the provider stops', async () => {
    const response = await fetch(`${service.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${ADMIN}` },
      body: JSON.stringify({ model: 'openai:flood', messages, stream: true }),
    });
    const text = await response.text();
    expect(text.length).toBeGreaterThan(1_024 * 1_024);
    expect(text.slice(-1_000)).toMatch(/limits\.request_bytes.*\n\n$/s);
    await seenWith('flood')[0]?.closed;
    expect(seenWith('flood')).toHaveLength(1);
  });

  test('with an alias goes on to the next model of the same form, and has the parameters of the operator', async () => {
    const { model } = await openai().chat.completions.create({ model: 'chain', messages, temperature: 0.5 });
    expect(model).toBe('m-2026');
    // Three attempts at the first model, which is overloaded, then the second; the one of Anthropic cannot read it.
    const asked = seenWith('broken');
    expect(asked.length).toBeGreaterThan(1);
    expect(asked[0]?.body).toMatchObject({ user: 'operator', temperature: 0.5 });
    expect(seenWith('own/m')[0]?.text).toBe(JSON.stringify({ model: 'own/m', messages, temperature: 0.5 }));
  });

  // Issue 37, A4: the SDKs repeat a call that was cut, and say so in this header.
  test('that is repeated by an SDK while it is under way joins the first one', async () => {
    const send = async (retry: number, signal?: AbortSignal): Promise<Response> =>
      fetch(`${service.url}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${ADMIN}`,
          'x-stainless-retry-count': String(retry),
        },
        body: JSON.stringify({ model: 'held', messages }),
        ...(signal === undefined ? {} : { signal }),
      });
    const first = new AbortController();
    const lost = send(0, first.signal).catch(() => null);
    await held.asked.promise;
    const again = send(1);
    first.abort();
    await lost;
    held.release.resolve();
    expect(await (await again).json()).toEqual(CHAT);
    expect(seenWith('held')).toHaveLength(1);
    const ended = await send(2);
    expect(ended.headers.get('adjutant-replayed')).toBe('true');
    expect(await ended.text()).toBe(JSON.stringify(CHAT));
    expect(seenWith('held')).toHaveLength(1);
  });

  test('that is submitted with a body that is no JSON fails before it is sent', async () => {
    const directive = {
      type: 'llm_request' as const,
      wire: 'openai_chat' as const,
      model: 'openai:raw',
      body: '{"a":',
    };
    const { data } = await client.execute(directive);
    expect(data.result).toMatchObject({
      ok: false,
      error: { type: 'validation_error', details: { field: 'body' } },
    });
    expect(seenWith('raw')).toHaveLength(0);
  });

  test('with an idempotency key is the same call, also when it has ended', async () => {
    const options = { headers: { 'idempotency-key': 'order-1' } };
    const first = await openai().chat.completions.create({ model: 'keyed', messages }, options).asResponse();
    const again = await openai().chat.completions.create({ model: 'keyed', messages }, options).asResponse();
    expect(first.headers.get('adjutant-replayed')).toBeNull();
    expect(again.headers.get('adjutant-replayed')).toBe('true');
    expect(await again.text()).toBe(await first.text());
    expect(seenWith('keyed')).toHaveLength(1);
    const other = openai().chat.completions.create({ model: 'keyed', messages: [] }, options);
    await expect(other).rejects.toMatchObject({ status: 409, error: { code: 'idempotency_conflict' } });
  });

  test('whose caller hangs up and does not come back is cancelled, and the provider stops', async () => {
    const stream = await openai().chat.completions.create({ model: 'endless', messages, stream: true });
    for await (const _chunk of stream) break;
    await seenWith('endless')[0]?.closed;
  });

  test.each([
    ['no object', '[]', 400],
    ['no model', '{}', 400],
    ['broken JSON', '{"model":', 400],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
    ['too large', JSON.stringify({ model: 'gpt', text: 'x'.repeat(1_200_000) }), 413],
    ['too many levels', `{"model":"gpt","a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`, 400],
  ])('with a body that is %s is refused in the form of its wire', async (_name, body, status) => {
    for (const [path, type] of [
      ['/openai/v1/chat/completions', 'invalid_request_error'],
      ['/anthropic/v1/messages', 'invalid_request_error'],
    ] as const) {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${ADMIN}` };
      const response = await fetch(service.url + path, { method: 'POST', headers, body });
      expect(response.status).toBe(status);
      const expected = status === 413 && path.startsWith('/anthropic') ? 'request_too_large' : type;
      expect(await response.json()).toMatchObject({ error: { type: expected } });
    }
  });
});
