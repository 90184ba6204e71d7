/** Requests and reports of model directives beside the answer itself: limits, tools, output, metadata.
 *  It must never reach a real provider. */
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { MAX_EMBEDDED_TEXTS } from '../../../src/models/answers/answer-limits.ts';
import {
  call,
  type CallSetup,
  errorIn,
  providersAt,
  recordingLimiter,
  told,
  turnIn,
} from '../../support/model-calls.ts';
import {
  type Answer,
  bodyOf,
  json,
  type ProviderServer,
  sse,
  startProvider,
  STREAM_HEAD,
  streamed,
} from '../../support/provider-server.ts';
import { ANTHROPIC, OPENAI_CHAT } from '../../support/recorded-answers.ts';

const STREAM = { type: 'llm_stream' } as const;
const GENERATE = { type: 'llm_generate' } as const;

/** A whole chat completion with the text `content`. */
function completion(content: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'gpt',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', ...more }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

const at = (server: ProviderServer, setup: Partial<CallSetup> = {}): CallSetup => ({
  providers: providersAt(server.url, 'openai-chat'),
  ...setup,
});

describe('limits that all workers share', () => {
  test.each([
    ['provider', 'lane'],
    ['model', 'directive'],
  ] as const)('of a %s refuse before anything is sent', async (scope, pauseScope) => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const limiter = recordingLimiter([{ ok: false, retryAfterMs: 1_234, scope }]);
    const result = await call(STREAM, at(server, { limiter }));
    expect(server.seen).toEqual([]);
    expect(errorIn(result)).toMatchObject({ type: 'rate_limited', details: { retry_after_ms: 1_234 } });
    expect(result.execution).toMatchObject({ unavailable: true, pauseScope });
  });

  const DIRECTIVES = [STREAM, GENERATE, { type: 'llm_embed' } as const];

  test.each(DIRECTIVES.flatMap((directive) => [true, false].map((early) => ({ ...directive, early }))))(
    'by key that have lapsed while $type waited send nothing (before the connection: $early)',
    async ({ early, ...directive }) => {
      await using server = await startProvider(streamed(OPENAI_CHAT));
      const lost = new AbortController();
      const holds = (): boolean => {
        lost.abort();
        return false;
      };
      const mayBegin = async () => (early && !holds() ? null : holds);
      const result = await call(directive, at(server, { context: { signal: lost.signal, mayBegin } }));
      expect(server.seen).toEqual([]);
      expect(result.execution.result.ok).toBe(false);
    },
  );

  test('reserve the prompt and the longest answer, and record the real use', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const context = [{ role: 'user' as const, content: 'x'.repeat(4_000) }];
    const { limiter } = await call({ ...STREAM, max_tokens: 500, context }, at(server));
    expect(limiter.reserved[0]?.tokens).toBeGreaterThan(1_500);
    expect(limiter.reserved[0]?.tokens).toBeLessThan(1_550);
    expect(limiter.settled).toEqual([29]);
  });

  test('do not hold a call back when they are unavailable', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const limiter = { ...recordingLimiter(), reserve: () => Promise.reject(new Error('no Redis')) };
    expect(turnIn(await call(STREAM, at(server, { limiter }))).text).toBe('Hello, wörld 🌍');
  });

  test('pause after an answer that uses up the provider’s limit', async () => {
    const headers = {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '12s',
      'x-ratelimit-remaining-tokens': '5000',
      'x-ratelimit-reset-tokens': '40s',
    };
    await using server = await startProvider(streamed(OPENAI_CHAT, headers));
    const { limiter } = await call(STREAM, at(server));
    expect(limiter.blocked).toEqual([{ scope: 'model', ms: 12_000 }]);
  });

  test('in the middle of many vectors make the call wait, not start again', async () => {
    await using server = await startProvider((response, { body }) => {
      const { input } = body as { input: string[] };
      const data = input.map((text, index) => ({ object: 'embedding', index, embedding: [Number(text)] }));
      return json(200, { object: 'list', data, model: 'e', usage: { prompt_tokens: input.length } })(
        response,
        {} as never,
        0,
      );
    });
    const record = (): void => {};
    const limiter = recordingLimiter([
      { ok: true, record },
      { ok: false, retryAfterMs: 5, scope: 'model' },
    ]);
    const texts = Array.from({ length: 3_000 }, (_, index) => String(index));
    const { execution } = await call({ type: 'llm_embed', texts }, at(server, { limiter }));
    expect(execution.result).toMatchObject({ ok: true, payload: { count: 3_000, dimensions: 1 } });
    const batches = Math.ceil(3_000 / MAX_EMBEDDED_TEXTS);
    expect(server.seen).toHaveLength(batches);
    expect(limiter.reserved).toHaveLength(batches + 1);
    expect(execution.usage).toMatchObject({ input_tokens: 3_000, output_tokens: 0 });
  });
});

describe('tools', () => {
  const described = {
    'web.find': { name: 'web.find', description: 'Finds', input_schema: { type: 'object', title: 'Find' } },
  };
  const sentTools = (server: ProviderServer): unknown => bodyOf(server)['tools'];

  test('are taken from the catalog by their names, under names that the provider accepts', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    await call({ ...STREAM, tools: ['web.find'] }, at(server, { tools: described }));
    expect(sentTools(server)).toMatchObject([
      { function: { name: 'web_find', description: 'Finds', parameters: { type: 'object', title: 'Find' } } },
    ]);
  });

  test.each([
    ['a tool that nobody offers', { tools: ['web.find', 'gone'] }, 'tools[1]'],
    ['a tool that is offered twice', { tools: ['web.find', { name: 'web.find' }] }, 'tools[1]'],
    [
      'a required tool that is not among them',
      { tools: ['web.find'], tool_choice: { required: 'x' } },
      'tool_choice.required',
    ],
    ['a call that is required without a tool', { tool_choice: 'required' as const }, 'tool_choice'],
    [
      'a result without a call',
      { context: [{ role: 'tool' as const, tool_call_id: 'c', content: 'x' }] },
      'context[0].tool_call_id',
    ],
    ['no message', { context: [] }, 'context'],
    ['a schema that is none', { output_schema: { type: 'nonsense' } }, 'output_schema'],
  ])('%s is refused at its place, and nothing is sent', async (_what, fields, field) => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const result = await call({ ...STREAM, ...fields }, at(server, { tools: described }));
    expect(errorIn(result)).toMatchObject({ type: 'validation_error', retryable: false, details: { field } });
    expect(errorIn(result).message).toContain(field);
    expect(server.seen).toEqual([]);
  });

  test.each([
    ['none', 'none'],
    ['required', 'required'],
    [{ required: 'web.find' }, { type: 'function', function: { name: 'web_find' } }],
  ] as const)('tool_choice %j', async (tool_choice, sent) => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    await call({ ...STREAM, tools: ['web.find'], tool_choice }, at(server, { tools: described }));
    expect(bodyOf(server)).toMatchObject({ tool_choice: sent });
  });

  test('a call whose arguments are not one JSON object says so', async () => {
    const tool_calls = [
      { id: 'a', type: 'function', function: { name: 'web_find', arguments: '{"broken' } },
      { id: 'b', type: 'function', function: { name: 'web_find', arguments: '{"q":1}' } },
      { id: 'c', type: 'function', function: { name: 'web_find', arguments: '[1]' } },
      { id: 'd', type: 'function', function: { name: 'made_up', arguments: '' } },
    ];
    const message = { role: 'assistant', content: null, tool_calls };
    await using server = await startProvider(
      json(200, completion('', { message, finish_reason: 'tool_calls' })),
    );
    const result = await call({ ...GENERATE, tools: ['web.find'] }, at(server, { tools: described }));
    const read = turnIn(result).tool_calls.map((each) => [
      each.name,
      each.arguments,
      each.arguments_error?.reason,
    ]);
    expect(read).toEqual([
      ['web.find', {}, 'not_json'],
      ['web.find', { q: 1 }, undefined],
      ['web.find', {}, 'not_object'],
      ['made_up', {}, undefined],
    ]);
  });
});

describe('messages', () => {
  test('carry images and files', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image' as const, url: 'https://example.org/cat.png' },
      { type: 'image' as const, data: 'aGk=', media_type: 'image/png' },
      { type: 'file' as const, data: 'aGk=', media_type: 'application/pdf', filename: 'a.pdf' },
    ];
    await call({ ...STREAM, context: [{ role: 'user', content }] }, at(server));
    expect(bodyOf(server)['messages']).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://example.org/cat.png' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
        ],
      },
    ]);
  });

  test('with instructions in the middle reach a provider that accepts them only at the beginning', async () => {
    await using server = await startProvider(streamed(ANTHROPIC));
    const context = [
      { role: 'system' as const, content: 'First' },
      { role: 'user' as const, content: 'hi' },
      { role: 'assistant' as const, content: 'hello' },
      { role: 'system' as const, content: 'Later' },
      { role: 'user' as const, content: 'go on' },
    ];
    const providers = providersAt(server.url, 'anthropic');
    turnIn(await call({ ...STREAM, system_prompt: 'Zeroth', context }, { providers }));
    const { system, messages } = bodyOf(server) as { system: unknown; messages: { role: string }[] };
    expect(JSON.stringify(system)).toMatch(/Zeroth.*First/);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(JSON.stringify(messages)).toContain('<system>\\nLater\\n</system>');
  });

  test('reasoning is requested in the provider’s own form', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const providers = providersAt(server.url, 'openai-chat');
    const context = { models: ['p:o4-mini'] };
    await call({ ...STREAM, reasoning: 'high' }, { providers, context });
    expect(bodyOf(server)).toMatchObject({ reasoning_effort: 'high' });
  });
});

describe('an answer for a schema', () => {
  const output_schema = {
    type: 'object',
    properties: { age: { type: 'integer', minimum: 0 } },
    required: ['age'],
    additionalProperties: false,
  };
  const answers =
    (...contents: string[]): Answer =>
    (response, request, index) =>
      json(200, completion(contents[index] ?? 'nothing more'))(response, request, index);

  test.each(['{"age":7}', '```json\n{"age":7}\n```'])('fits: %j', async (content) => {
    await using server = await startProvider(answers(content));
    const result = await call({ ...GENERATE, output_schema }, at(server));
    expect(turnIn(result).output).toEqual({ age: 7 });
    expect(server.seen).toHaveLength(1);
    expect(bodyOf(server)).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { schema: output_schema } },
    });
    expect(result.execution.metadata).not.toHaveProperty('repaired');
  });

  test('and is a fence with thousands of empty lines is read in one pass', async () => {
    const lines = '\n'.repeat(100_000);
    await using server = await startProvider(answers(`\`\`\`json\n${lines}{"age":7}${lines}x`, '{"age":7}'));
    const result = await call({ ...GENERATE, output_schema }, at(server));
    expect(turnIn(result).output).toEqual({ age: 7 });
    expect(server.seen).toHaveLength(2);
  });

  test('and cannot be checked in time is not requested again', async () => {
    await using server = await startProvider(answers(JSON.stringify(`${'a'.repeat(40)}!`)));
    const slow = { type: 'string', pattern: '^(a+)+$' };
    const result = await call({ ...GENERATE, output_schema: slow }, { ...at(server), schemaLimitMs: 1_000 });
    expect(errorIn(result)).toMatchObject({ type: 'invalid_result', retryable: false });
    expect(errorIn(result).message).toContain('could not be checked: the check took longer than 1000 ms');
    expect(server.seen).toHaveLength(1);
  });

  test('that does not fit at first is repaired once, without tools, and both count as usage', async () => {
    await using server = await startProvider(answers('{"age":-1}', '{"age":1}'));
    const tool = { name: 'x', input_schema: {} };
    const result = await call({ ...GENERATE, output_schema, tools: [tool] }, at(server));
    expect(turnIn(result)).toMatchObject({ output: { age: 1 }, text: '{"age":1}' });
    expect(result.execution.usage).toMatchObject({ input_tokens: 20, output_tokens: 10, total_tokens: 30 });
    expect(result.execution.metadata).toMatchObject({ repaired: true });
    const repair = bodyOf(server, 1) as { tools?: unknown; messages: { content: string }[] };
    expect(repair.tools).toBeUndefined();
    expect(repair.messages.at(-1)?.content).toContain('output.age must be >= 0');
    expect(bodyOf(server)).toHaveProperty('tools');
  });

  test('that does not fit the second time either is a failure', async () => {
    await using server = await startProvider(answers('{"age":-1}', 'no'));
    const result = await call({ ...GENERATE, output_schema }, at(server));
    expect(errorIn(result)).toMatchObject({ type: 'invalid_result', retryable: false });
    expect(server.seen).toHaveLength(2);
    expect(result.execution.usage).toBeUndefined();
    expect(result.execution.metadata).toMatchObject({
      usage_so_far: { input_tokens: 20, output_tokens: 10, estimated: false },
    });
  });

  test('that was cut is not requested again', async () => {
    await using server = await startProvider(json(200, completion('{"ag', { finish_reason: 'length' })));
    const result = await call({ ...GENERATE, output_schema }, at(server));
    expect(errorIn(result)).toMatchObject({ type: 'invalid_result' });
    expect(errorIn(result).message).toContain('max_tokens');
    expect(server.seen).toHaveLength(1);
  });

  test('may call a tool first, and is not checked then', async () => {
    const tool_calls = [{ id: 'a', type: 'function', function: { name: 'x', arguments: '{}' } }];
    const message = { role: 'assistant', content: null, tool_calls };
    await using server = await startProvider(
      json(200, completion('', { message, finish_reason: 'tool_calls' })),
    );
    const result = await call({ ...GENERATE, output_schema, tools: [{ name: 'x' }] }, at(server));
    expect(turnIn(result)).toMatchObject({ type: 'tool_calls' });
    expect(turnIn(result)).not.toHaveProperty('output');
  });
});

describe('pieces', () => {
  test('are read no faster than they are taken', async () => {
    const chunk = sse([{ choices: [{ index: 0, delta: { content: 'x'.repeat(1_000) } }] }]);
    const CHUNKS = 40_000;
    let written = 0;
    await using server = await startProvider(async (response) => {
      response.writeHead(200, STREAM_HEAD);
      const closed = once(response, 'close');
      for (; written < CHUNKS && !response.destroyed; written += 1) {
        if (!response.write(chunk)) await Promise.race([once(response, 'drain'), closed]);
      }
      response.end();
    });
    const stop = new AbortController();
    const { promise: stuck, resolve } = Promise.withResolvers<void>();
    let asked = 0;
    const calling = call(
      STREAM,
      at(server, {
        context: {
          signal: stop.signal,
          drained() {
            asked += 1;
            if (asked === 3) resolve();
            return asked < 3
              ? Promise.resolve(true)
              : new Promise((open) => stop.signal.addEventListener('abort', () => open(true)));
          },
        },
      }),
    );
    await stuck;
    // Everything that sockets and clients buffer is written by now, and it is far from the whole answer.
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise((later) => setTimeout(later, 200));
    }
    expect(written).toBeLessThan(CHUNKS / 2);
    stop.abort();
    const result = await calling;
    expect(result.deltas).toHaveLength(3);
    expect(errorIn(result).type).toBe('cancelled');
  });

  test('lose control characters, and so does the answer', async () => {
    const chunks = ['a\u0000b\n', '\u001b[31mred'].map((content) => ({
      choices: [{ index: 0, delta: { content } }],
    }));
    const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    await using server = await startProvider(streamed(sse([...chunks, end, '[DONE]'])));
    const result = await call(STREAM, at(server));
    expect(turnIn(result).text).toBe('ab\n[31mred');
    expect(told(result, 'content')).toBe('ab\n[31mred');
  });
});

describe('metadata', () => {
  test('names the alias, and the models before this one', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const history = [{ model: 'q:big', type: 'provider_error', message: 'down' }];
    const context = { models: ['q:big', 'p:m'], candidate: { index: 1, history } };
    const result = await call({ ...STREAM, model: '', model_alias: 'fast' }, at(server, { context }));
    expect(result.execution.metadata).toEqual({
      model: 'p:m',
      provider: 'p',
      requested_alias: 'fast',
      fallbacks: history,
      finish_reason: 'stop',
      cost: 0.0001118,
    });
  });

  test('has no cost where there is no price', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const result = await call(STREAM, at(server, { context: { models: ['p:other'] } }));
    expect(result.execution.metadata).toEqual({
      model: 'p:other',
      provider: 'p',
      requested_model: 'p:m',
      finish_reason: 'stop',
    });
  });

  test.each([
    [[], 'no model'],
    [['nonsense'], 'provider:model'],
    [['elsewhere:m'], 'does not serve'],
  ])('of the models %j is an error with its reason', async (models, words) => {
    for (const type of ['llm_stream', 'llm_generate', 'llm_embed'] as const) {
      const result = await call(
        { type },
        { providers: providersAt('http://127.0.0.1:1', 'openai'), context: { models } },
      );
      expect(errorIn(result)).toMatchObject({ type: 'unknown_model', retryable: false });
      expect(errorIn(result).message).toContain(words);
      expect(result.execution.unavailable).toBe(true);
    }
  });
});
