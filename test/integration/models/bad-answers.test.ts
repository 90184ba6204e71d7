/** Bad answers of providers, and the typed error that each becomes.
 *  It must never pass because a timer was slow: every case ends by what the provider did. */
import { describe, expect, test } from 'vitest';
import { type Api, call, errorIn, providersAt, told } from '../../support/model-calls.ts';
import {
  type Answer,
  json,
  sse,
  startProvider,
  STREAM_HEAD,
  streamed,
} from '../../support/provider-server.ts';
import { ANTHROPIC, GOOGLE, OPENAI_CHAT, OPENAI_RESPONSES } from '../../support/recorded-answers.ts';

const APIS: Api[] = ['openai', 'openai-chat', 'anthropic', 'google', 'compatible'];
const RECORDED: Record<Api, string> = {
  openai: OPENAI_RESPONSES,
  'openai-chat': OPENAI_CHAT,
  anthropic: ANTHROPIC,
  google: GOOGLE,
  compatible: OPENAI_CHAT,
};
const STREAM = { type: 'llm_stream' } as const;
const GENERATE = { type: 'llm_generate' } as const;
const HTML = '<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>';

async function asked(api: Api, answer: Answer, fields: Parameters<typeof call>[0] = STREAM) {
  await using server = await startProvider(answer);
  return await call(fields, { providers: providersAt(server.url, api) });
}

/** The first events of a recorded stream. */
function beginning(recorded: string, events: number): string {
  return `${recorded.split('\n\n').slice(0, events).join('\n\n')}\n\n`;
}

/** So many events of its recorded stream that some text is among them. */
function half(api: Api): string {
  return beginning(RECORDED[api], { openai: 7, anthropic: 6 }[api as string] ?? 2);
}

function page(response: Parameters<Answer>[0]): void {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(HTML);
}

describe.each(APIS)('%s', (api) => {
  test.each([
    ['a web page with status 200', page, STREAM, 'provider_error', 'html'],
    ['a web page with status 200, at once', page, GENERATE, 'provider_error', 'html'],
    ['an empty stream', streamed(''), STREAM, 'provider_error', 'empty_answer'],
    ['an empty body', json(200, ''), GENERATE, 'provider_error', 'empty_answer'],
    ['half a JSON', json(200, '{"id":"x","choices":[{"mess'), GENERATE, 'provider_error', 'broken_json'],
    ['a malformed event', streamed('data: {"id":"x","cho\n\n'), STREAM, 'provider_error', 'broken_json'],
  ])('%s', async (_what, answer, fields, type, reason) => {
    const result = await asked(api, answer, fields);
    expect(errorIn(result)).toMatchObject({ type, retryable: true, details: { reason } });
    expect(result.execution).toMatchObject({ unavailable: true });
    expect(result.execution.usage).toBeUndefined();
  });

  test('JSON that is not an answer', async () => {
    const result = await asked(api, json(200, { unexpected: [1, 2] }), GENERATE);
    expect(['invalid_result', 'provider_error']).toContain(errorIn(result).type);
  });

  test('a stream that ends in the middle is not an answer, even with a clean close', async () => {
    const result = await asked(api, streamed(half(api)));
    expect(errorIn(result)).toMatchObject({ type: 'provider_error', retryable: true });
    expect(result.deltas.length).toBeGreaterThan(0);
  });

  test('a connection that breaks in the middle', async () => {
    const result = await asked(api, (response) => {
      response.writeHead(200, STREAM_HEAD);
      response.write(half(api), () => setTimeout(() => response.destroy(), 50));
    });
    expect(errorIn(result)).toMatchObject({ type: 'network', retryable: true });
    expect(result.deltas.length).toBeGreaterThan(0);
    expect(result.execution.metadata).toHaveProperty('usage_so_far');
  });

  test('no listener', async () => {
    const gone = await startProvider(() => {});
    await gone[Symbol.asyncDispose]();
    const result = await call(STREAM, { providers: providersAt(gone.url, api) });
    expect(errorIn(result)).toMatchObject({ type: 'network', details: { code: 'ECONNREFUSED' } });
    expect(result.execution).toMatchObject({ unreached: true, unavailable: true });
    expect(result.execution.metadata).not.toHaveProperty('usage_so_far');
  });

  test('a connection closed without an answer', async () => {
    const result = await asked(api, (response) => void response.destroy());
    expect(errorIn(result)).toMatchObject({ type: 'network', retryable: true });
    expect(result.execution.unreached).toBeUndefined();
  });

  test('a cancelled call closes the stream, and reports the cost so far', async () => {
    await using server = await startProvider((response) => {
      response.writeHead(200, STREAM_HEAD);
      response.write(half(api));
    });
    const stop = new AbortController();
    const result = await call(STREAM, {
      providers: providersAt(server.url, api),
      context: { signal: stop.signal },
      onDelta: () => stop.abort(),
    });
    await server.seen[0]?.closed;
    expect(errorIn(result)).toMatchObject({ type: 'cancelled', retryable: false });
    const spent = result.execution.metadata?.['usage_so_far'] as Record<string, unknown>;
    expect(spent['estimated']).toBe(true);
    if (api === 'anthropic') expect(spent['input_tokens']).toBe(592);
    if (api === 'google') expect(spent['input_tokens']).toBe(30);
    expect(spent['output_tokens']).toBeGreaterThan(0);
  });

  test.each(['llm_stream', 'llm_generate'] as const)(
    '%s that waits in vain closes the connection',
    async (type) => {
      await using server = await startProvider(() => {});
      const result = await call({ type, timeout_ms: 600 }, { providers: providersAt(server.url, api) });
      await server.seen[0]?.closed;
      expect(errorIn(result)).toMatchObject({
        type: 'timeout',
        details: { limit: 'total', answered: false },
      });
      expect(result.execution.metadata).toHaveProperty('usage_so_far');
    },
  );
});

describe('an error inside a stream', () => {
  const overloaded = named('overloaded_error', 'Overloaded');
  const limited = named('rate_limit_error', 'Slow down');
  const gone = { error: { message: 'gone', type: 'server_error', param: null, code: null } };
  const upstream = { error: { message: 'upstream is overloaded', type: 'x', code: 503 } };
  const unavailable = { error: { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' } };
  const sorry = { error: { code: 'server_error', message: 'Sorry' } };
  const slow = { code: 'rate_limit_exceeded', message: 'Slow down', param: null };

  function named(type: string, message: string): string {
    return sse([{ type: 'error', error: { type, message } }], { named: true });
  }

  test.each<[string, Api, number, string | object, string, number]>([
    ['overloaded', 'anthropic', 6, overloaded, 'provider_error', 529],
    ['overloaded, first', 'anthropic', 0, overloaded, 'provider_error', 529],
    ['limited', 'anthropic', 6, limited, 'rate_limited', 429],
    ['failed', 'openai', 2, { type: 'response.failed', response: sorry }, 'provider_error', 500],
    ['in the middle', 'openai', 7, { type: 'error', ...slow }, 'rate_limited', 429],
    ['failed', 'openai-chat', 2, gone, 'provider_error', 500],
    ['with a status of its own', 'compatible', 2, upstream, 'provider_error', 503],
    ['in a form of its own', 'compatible', 2, { error: 'CUDA out of memory' }, 'provider_error', 500],
    ['unavailable', 'google', 1, unavailable, 'provider_error', 503],
  ])('%s, of %s after %d events', async (_what, api, events, said, type, status) => {
    const text = typeof said === 'string' ? said : sse([{ ...said, sequence_number: events + 1 }]);
    const begun = events === 0 ? '' : beginning(RECORDED[api], events);
    const result = await asked(api, streamed(begun + text));
    expect(errorIn(result)).toMatchObject({ type, retryable: true, details: { status } });
    expect(result.execution.usage).toBeUndefined();
  });

  test('closes the connection, also of a provider that leaves it open', async () => {
    const text = beginning(OPENAI_CHAT, 3) + sse([gone]);
    await using server = await startProvider((response) => {
      response.writeHead(200, STREAM_HEAD);
      response.write(text);
    });
    const result = await call(STREAM, { providers: providersAt(server.url, 'openai-chat') });
    expect(errorIn(result).message).toBe('gone');
    await server.seen[0]?.closed;
  });

  test('comes after reported text, which stays a part of a failed attempt', async () => {
    const text = beginning(OPENAI_CHAT, 3) + sse([gone]);
    const result = await asked('openai-chat', streamed(text));
    expect(told(result, 'content')).toBe('Hello, wörld 🌍');
    expect(errorIn(result).details).toMatchObject({ pieces: 2 });
  });
});

describe('a refusal', () => {
  const openai = (code: string, message: string) => ({ error: { message, type: 'x', param: null, code } });
  const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message } });
  const google = (code: number, status: string, message: string, details: unknown[] = []) => ({
    error: { code, status, message, details },
  });

  const compatible = (message: string) => ({ error: { message } });
  const inContext = { reason: 'context_length' };
  const spent = 'You exceeded your current quota';
  const perMinute = 'Rate limit reached for m in organization x on tokens per min';
  const tooLong = {
    openai: openai('context_length_exceeded', 'This model’s maximum context length is 128000 tokens.'),
    anthropic: anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
    google: google(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ),
  };
  const limit = (message: string) => openai('rate_limit_exceeded', message);
  const later = anthropic('api_error', 'Later');
  const noCredit = anthropic('invalid_request_error', 'Your credit balance is too low');
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37s' };
  const exhausted = google(429, 'RESOURCE_EXHAUSTED', spent, [retryInfo]);
  const twoWaits = { 'retry-after-ms': '1500', 'retry-after': '9' };
  const noTokensLeft = {
    'x-ratelimit-remaining-requests': '100',
    'x-ratelimit-reset-requests': '8.64s',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '1m30s',
  };
  const waits = (retry_after_ms: number) => ({ retry_after_ms });

  test.each<[string, Api, number, unknown, Record<string, string>, string, object]>([
    ['a prompt that is too long', 'openai', 400, tooLong.openai, {}, 'validation_error', inContext],
    ['a prompt that is too long', 'anthropic', 400, tooLong.anthropic, {}, 'validation_error', inContext],
    ['a prompt that is too long', 'google', 400, tooLong.google, {}, 'validation_error', inContext],
    ['an unknown model', 'openai', 404, openai('model_not_found', 'no `m`'), {}, 'unknown_model', {}],
    ['an unknown model', 'anthropic', 404, anthropic('not_found_error', 'model: m'), {}, 'unknown_model', {}],
    ['an unknown address', 'compatible', 404, 'Cannot POST /v1/chat', {}, 'not_found', { status: 404 }],
    ['no credit', 'openai', 429, openai('insufficient_quota', spent), {}, 'auth', { reason: 'no_credit' }],
    ['no credit', 'anthropic', 400, noCredit, {}, 'auth', { reason: 'no_credit' }],
    ['too many requests', 'openai', 429, limit('Rate limit'), twoWaits, 'rate_limited', waits(1_500)],
    ['too many tokens', 'openai', 429, limit(perMinute), noTokensLeft, 'rate_limited', waits(90_000)],
    ['too many requests', 'google', 429, exhausted, {}, 'rate_limited', waits(37_000)],
    ['a pause', 'anthropic', 503, later, { 'retry-after': '3' }, 'provider_error', waits(3_000)],
    ['a timeout', 'compatible', 408, compatible('Too slow'), {}, 'timeout', { status: 408 }],
    ['too early', 'compatible', 425, compatible('Too early'), {}, 'provider_error', { status: 425 }],
    ['a conflict', 'compatible', 409, compatible('Conflict'), {}, 'validation_error', { status: 409 }],
  ])('%s, of %s', async (_what, api, status, body, headers, type, details) => {
    const result = await asked(api, json(status, body, headers));
    expect(errorIn(result)).toMatchObject({ type, details });
  });

  test('of one model stops that model, and of the provider all of them', async () => {
    const limited = (message: string): Answer => json(429, limit(message), { 'retry-after': '9' });
    const one = await asked('openai', limited('Rate limit reached for m in organization x'));
    expect(one.execution.pauseScope).toBe('directive');
    expect(one.limiter.blocked).toEqual([{ scope: 'model', ms: 9_000 }]);
    const all = await asked('openai', limited('Rate limit reached in organization x'));
    expect(all.execution.pauseScope).toBe('lane');
    expect(all.limiter.blocked).toEqual([{ scope: 'provider', ms: 9_000 }]);
  });

  test('names no URL and no header of the request', async () => {
    await using server = await startProvider(json(500, { error: { message: 'x' } }));
    const result = await call(STREAM, {
      providers: providersAt(server.url, 'compatible', { headers: { 'x-tenant': 'acme-42' } }),
    });
    const shown = JSON.stringify(result.execution);
    expect(server.seen[0]?.headers['x-tenant']).toBe('acme-42');
    expect(shown).not.toContain('acme-42');
    expect(shown).not.toContain(new URL(server.url).port);
  });
});
