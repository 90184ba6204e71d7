/** Answers in forms that are not quite those of the providers' documents, as public reports show them: they are read as what they are.
 *  It must never wait for a limit: each answer ends by what the provider did, or by the grace of a finished answer. */
import { describe, expect, test, vi } from 'vitest';
import { type Api, call, errorIn, providersAt, told, turnIn } from '../../support/model-calls.ts';
import {
  type Answer,
  json,
  sse,
  startProvider,
  STREAM_HEAD,
  streamed,
} from '../../support/provider-server.ts';

// The grace of a finished answer, whose length no test needs.
vi.mock(import('../../../src/models/answers/answer-limits.ts'), async (original) => ({
  ...(await original()),
  END_GRACE_MS: 150 as 2_000,
}));

interface Wire {
  /** Events before the text. */
  readonly start: readonly unknown[];
  text(delta: string): unknown;
  /** Events after the text, with the finish reason. */
  finish(reason: string): readonly unknown[];
  /** The event after which nothing follows. */
  readonly end: readonly unknown[];
  /** The names of the reasons `stop` and of a refusal. */
  readonly stop: string;
  readonly refused: string;
  whole(text: string): Record<string, unknown>;
}

const chat: Wire = {
  start: [{ id: 'c', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }],
  text: (content) => ({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content } }] }),
  finish: (finish_reason) => [{ id: 'c', choices: [{ index: 0, delta: {}, finish_reason }] }],
  end: ['[DONE]'],
  stop: 'stop',
  refused: 'content_filter',
  whole: (content) => ({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  }),
};
const message = { id: 'i', type: 'message', role: 'assistant' };
const WIRES: Record<Api, Wire> = {
  compatible: chat,
  'openai-chat': chat,
  openai: {
    start: [
      { type: 'response.created', response: { id: 'r', created_at: 1, model: 'm' } },
      { type: 'response.output_item.added', output_index: 0, item: message },
    ],
    text: (delta) => ({ type: 'response.output_text.delta', item_id: 'i', output_index: 0, delta }),
    finish: () => [{ type: 'response.output_item.done', output_index: 0, item: message }],
    end: [{ type: 'response.completed', response: { usage: { input_tokens: 3, output_tokens: 2 } } }],
    stop: 'stop',
    refused: '',
    whole: (text) => ({
      id: 'r',
      object: 'response',
      created_at: 1,
      model: 'm',
      status: 'completed',
      output: [{ ...message, content: [{ type: 'output_text', text, annotations: [] }] }],
      usage: { input_tokens: 3, output_tokens: 2 },
    }),
  },
  anthropic: {
    start: [
      { type: 'message_start', message: { id: 'a', model: 'm', usage: { input_tokens: 3 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ],
    text: (text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    finish: (stop_reason) => [
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 2 } },
    ],
    end: [{ type: 'message_stop' }],
    stop: 'end_turn',
    refused: 'refusal',
    whole: (text) => ({
      id: 'a',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 2 },
    }),
  },
  google: {
    start: [],
    text: (text) => ({ candidates: [{ content: { parts: [{ text }], role: 'model' } }] }),
    finish: (finishReason) => [{ candidates: [{ content: { parts: [] }, finishReason }] }],
    end: [],
    stop: 'STOP',
    refused: 'SAFETY',
    whole: (text) => ({
      candidates: [{ content: { parts: [{ text }], role: 'model' }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
    }),
  },
};
const APIS = Object.keys(WIRES) as Api[];
const CHATS: Api[] = ['compatible', 'openai-chat'];
const STREAM = { type: 'llm_stream' } as const;
const GENERATE = { type: 'llm_generate' } as const;

type Providers = NonNullable<Parameters<typeof providersAt>[2]>;

async function asked(
  api: Api,
  answer: Answer,
  fields: Parameters<typeof call>[0] = STREAM,
  more: Providers = {},
) {
  await using server = await startProvider(answer);
  const result = await call(fields, { providers: providersAt(server.url, api, more) });
  return { ...result, requests: server.seen.length };
}

/** The events of `hello there`, with others between its two deltas. */
function around(api: Api, ...odd: unknown[]): string {
  const { start, text, finish, stop, end } = WIRES[api];
  return (
    sse([...start, text('hello ')]) +
    odd.map((event) => (typeof event === 'string' ? event : sse([event]))).join('') +
    sse([text('there'), ...finish(stop), ...end])
  );
}

describe.concurrent.each(APIS)('%s: one odd event loses no answer', (api) => {
  test.each<[string, unknown]>([
    // An SSE comment and an event without data are ignored (WHATWG HTML, 9.2.6).
    ['a comment', ': keep-alive\n\n'],
    ['a named event without data', 'event: ping\n\n'],
    ['an empty event', 'data:\n\n'],
    ['an event of white space', 'data:  \n\n'],
    // vercel/ai#7417
    ['data that is null', 'data: null\n\n'],
    // Anthropic: "new event types may be added, and your code should handle unknown event types gracefully".
    ['an event of an unknown type', { type: 'vendor.invented', value: { a: [1] } }],
    ['a keep-alive event', { type: 'ping' }],
    // llama.cpp, ROCm/ATOM#1711
    ['a report of progress', { object: 'chat.completion.progress', progress: 0.5 }],
    ['a report of progress with a message', { object: 'progress', message: 'loading the model' }],
    ['an object without members', {}],
  ])('%s', async (_name, odd) => {
    const result = await asked(api, streamed(around(api, odd)));
    expect(turnIn(result)).toMatchObject({ text: 'hello there', finish_reason: 'stop' });
    expect(told(result, 'content')).toBe('hello there');
  });

  test('an error that is null', async () => {
    const { start, text, finish, stop, end } = WIRES[api];
    const delta = { ...(text('hello') as object), error: null };
    const result = await asked(api, streamed(sse([...start, delta, ...finish(stop), ...end])));
    expect(turnIn(result)).toMatchObject({ text: 'hello' });
  });

  test('a byte order mark, lines that end with CR LF, and an end without an empty line', async () => {
    const text = `\u{feff}${around(api)}`.replaceAll('\n', '\r\n').replace(/\r\n\r\n$/, '');
    expect(turnIn(await asked(api, streamed(text)))).toMatchObject({
      text: 'hello there',
      finish_reason: 'stop',
    });
  });

  test('an unreadable event is an error', async () => {
    const result = await asked(api, streamed(around(api, 'data: {"choices":[{"del\n\n')));
    expect(errorIn(result)).toMatchObject({ type: 'provider_error', details: { reason: 'broken_json' } });
  });
});

describe.concurrent.each(CHATS)('%s: chunks in other forms', (api) => {
  const odd = (choice: object) => ({ id: 'c', choices: [{ index: 0, ...choice }] });
  test.each<[string, unknown]>([
    ['without choices', { id: 'c', usage: { prompt_tokens: 1, completion_tokens: 1 } }],
    ['choices null', { id: 'c', choices: null }],
    ['choices empty, usage only', { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }],
    ['a choice that is null', { choices: [null] }],
    ['usage with texts', { choices: [], usage: { prompt_tokens: '3', completion_tokens_details: 'none' } }],
    ['delta null', odd({ delta: null })],
    ['delta missing', odd({})],
    ['content null', odd({ delta: { content: null } })],
    ['tool_calls null', odd({ delta: { tool_calls: null } })],
    ['tool_calls empty', odd({ delta: { tool_calls: [] } })],
    ['another role', odd({ delta: { role: 'model', content: '' } })],
    ['no index', { choices: [{ delta: { content: '' }, finish_reason: null }] }],
    ['an empty finish reason', odd({ delta: {}, finish_reason: '' })],
    ['a numeric id and a textual date', { id: 7, created: 'now', choices: [] }],
    [
      'unknown annotations and log probabilities',
      odd({ delta: { annotations: [{ type: 'x' }] }, logprobs: 1 }),
    ],
  ])('%s', async (_name, event) => {
    const result = await asked(api, streamed(around(api, event)));
    expect(turnIn(result)).toMatchObject({ text: 'hello there', finish_reason: 'stop' });
  });

  test('content in parts', async () => {
    const parts = [{ type: 'text', text: 'a' }, { type: 'unknown' }, { type: 'text', text: 'b' }];
    const result = await asked(
      api,
      streamed(sse([odd({ delta: { content: parts } }), ...chat.finish('stop'), '[DONE]'])),
    );
    expect(turnIn(result).text).toBe('ab');
  });

  // earendil-works/pi#2466, pydantic/pydantic-ai#5170
  test('fragments of calls without index, without function, with another type', async () => {
    const fragments = [
      [{ id: 'x', type: 'function', function: { name: 'one', arguments: '{"a"' } }],
      [{ function: { arguments: ':1}' }, type: '' }],
      [{ id: 'y', type: null, function: { name: 'two', arguments: { b: 2 } } }],
      [{ id: 'y', function: null }],
      [{ id: 'y' }],
    ].map((tool_calls) => odd({ delta: { content: null, tool_calls } }));
    const result = await asked(api, streamed(sse([...fragments, ...chat.finish('tool_calls'), '[DONE]'])));
    expect(turnIn(result).tool_calls).toMatchObject([
      { id: 'x', name: 'one', arguments: { a: 1 } },
      { id: 'y', name: 'two', arguments: { b: 2 } },
    ]);
  });

  // Gemini's interface for OpenAI's clients gave all calls of an answer the index 0: a fragment that belonged to none was dropped.
  test.each([
    ['another tool', 'one', [{ a: {} }, { b: { b: 2 } }]],
    ['the same tool, under a new id in each fragment', 'two', [{ a: { b: 2 } }]],
  ])('calls with one index, of which the first has no arguments: %s', async (_kind, first, expected) => {
    const fragments = [
      { index: 0, id: 'a', function: { name: first, arguments: '' } },
      { index: 0, id: 'b', function: { name: 'two', arguments: '' } },
      { index: 0, function: { arguments: '{"b"' } },
      { index: 0, function: { arguments: ':2}' } },
    ].map((fragment) => odd({ delta: { tool_calls: [fragment] } }));
    const result = await asked(api, streamed(sse([...fragments, ...chat.finish('tool_calls'), '[DONE]'])));
    expect(turnIn(result).tool_calls.map((one) => ({ [one.id]: one.arguments }))).toStrictEqual(expected);
  });

  test('a whole answer whose members are null or of another type', async () => {
    const call = { id: 'x', type: 'tool', function: { name: 'one', arguments: { a: 1 } } };
    const message = { role: 'model', content: null, refusal: null, tool_calls: [null, call], annotations: 1 };
    const answer = {
      id: 1,
      error: null,
      usage: null,
      choices: [{ message, logprobs: [], finish_reason: 'tool_calls' }],
    };
    const result = await asked(api, json(200, answer), GENERATE);
    expect(turnIn(result).tool_calls).toMatchObject([{ id: 'x', name: 'one', arguments: { a: 1 } }]);
  });

  test.each([{ choices: null }, { choices: [] }, { choices: [{ message: null }] }])(
    'a whole answer without a message is empty: %j',
    async (answer) => {
      const result = await asked(api, json(200, { ...answer, usage: { prompt_tokens: 1 } }), GENERATE);
      expect(errorIn(result).details).toMatchObject({ reason: 'empty_answer' });
    },
  );
});

describe('kinds of blocks and parts that are not known', () => {
  const { start, finish } = WIRES.anthropic;
  const unknownBlock = [
    { type: 'content_block_start', index: 7, content_block: { type: 'hologram', beam: 1 } },
    { type: 'content_block_delta', index: 7, delta: { type: 'beam_delta', beam: 2 } },
    { type: 'content_block_delta', index: 7, delta: { type: 'text_delta', text: 'beam' } },
    { type: 'content_block_stop', index: 7 },
    { type: 'content_block_delta', index: 0, delta: { type: 'hue_delta', hue: 2 } },
  ];
  const item = { type: 'hologram', id: 'h' };
  const unknownItem = [
    { type: 'response.output_item.added', output_index: 1, item },
    { type: 'response.output_item.done', output_index: 1, item },
    { type: 'response.output_text.annotation.added', annotation: { type: 'hologram' } },
  ];
  const unknownPart = [
    { candidates: [{ content: { parts: [{ hologram: { beam: 1 } }, null] } }] },
    { candidates: [{ content: {} }] },
    { candidates: [{ content: null, groundingMetadata: 'x', safetyRatings: 7 }] },
    { candidates: null },
    { candidates: [], promptFeedback: { safetyRatings: 'x' } },
  ];

  test.each<[Api, unknown[]]>([
    ['anthropic', unknownBlock],
    ['openai', unknownItem],
    ['google', unknownPart],
  ])('%s, streamed', async (api, events) => {
    expect(turnIn(await asked(api, streamed(around(api, ...events))))).toMatchObject({ text: 'hello there' });
  });

  test.each<[Api, string, unknown[]]>([
    ['anthropic', 'content', [{ type: 'hologram' }, null, { type: 'text', text: 'hello' }]],
    ['openai', 'output', [item, null, ...(WIRES.openai.whole('hello')['output'] as unknown[])]],
    [
      'google',
      'candidates',
      [{ finishReason: 'STOP', safetyRatings: 1, content: { parts: [{ x: 1 }, null, { text: 'hello' }] } }],
    ],
  ])('%s, whole', async (api, key, value) => {
    const result = await asked(api, json(200, { ...WIRES[api].whole(''), [key]: value }), GENERATE);
    expect(turnIn(result).text).toBe('hello');
  });

  test('an Anthropic stream without counts of tokens', async () => {
    const bare = [{ type: 'message_start' }, ...start.slice(1), WIRES.anthropic.text('hello')];
    const end = [
      ...finish('end_turn').slice(0, 1),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ];
    const result = await asked('anthropic', streamed(sse([...bare, ...end, { type: 'message_stop' }])));
    expect(turnIn(result)).toMatchObject({ text: 'hello', finish_reason: 'stop' });
  });
});

/** Answers, and leaves the connection open. */
function leftOpen(text: string): Answer {
  return (response) => {
    response.writeHead(200, STREAM_HEAD);
    response.write(text);
  };
}

describe.concurrent.each(APIS)('%s: the end of an answer', (api) => {
  test('its last event ends it, though the connection stays open', async () => {
    await using server = await startProvider(leftOpen(around(api)));
    const result = await call(STREAM, { providers: providersAt(server.url, api) });
    expect(turnIn(result)).toMatchObject({ text: 'hello there', finish_reason: 'stop' });
    await server.seen[0]?.closed;
  });

  test('an end mark without a finish reason is an answer if it says something', async () => {
    const { start, text } = WIRES[api];
    const mark = api === 'anthropic' ? { type: 'message_stop' } : '[DONE]';
    const turn = turnIn(await asked(api, leftOpen(sse([...start, text('hello'), mark]))));
    expect(turn).toMatchObject({ text: 'hello', finish_reason: 'unknown' });
    const empty = await asked(api, leftOpen(sse(['[DONE]'])));
    expect(errorIn(empty)).toMatchObject({ type: 'provider_error', details: { reason: 'empty_answer' } });
  });

  test('white space alone is an empty answer', async () => {
    const { start, text, finish, stop, end } = WIRES[api];
    const blank = await asked(api, streamed(sse([...start, text(' \n\t'), ...finish(stop), ...end])));
    expect(errorIn(blank).details).toMatchObject({ reason: 'empty_answer' });
    const whole = await asked(api, json(200, WIRES[api].whole('\n\n')), GENERATE);
    expect(errorIn(whole).details).toMatchObject({ reason: 'empty_answer' });
  });
});

test.concurrent.each<Api>(['compatible', 'openai-chat', 'anthropic', 'google'])(
  '%s: a finish reason ends an answer without an end mark, with the tokens reported after it',
  async (api) => {
    const { start, text, finish, stop } = WIRES[api];
    const usage = {
      anthropic: [],
      google: [{ usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 } }],
    };
    const after = usage[api as 'google'] ?? [
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
    ];
    const result = await asked(api, leftOpen(sse([...start, text('hello'), ...finish(stop), ...after])));
    expect(turnIn(result)).toMatchObject({ text: 'hello', usage: { input_tokens: 3, output_tokens: 2 } });
  },
);

describe('a refusal of an answer with an output schema is not repaired', () => {
  const output_schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
  const NO = 'I cannot help with that.';
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const { start } = WIRES.openai;
  const refusalItem = { ...message, content: [{ type: 'refusal', refusal: NO }] };
  const filtered = (api: Api): string => {
    const { start: begun, text, finish, refused, end } = WIRES[api];
    return sse([...begun, text(NO), ...finish(refused), ...end]);
  };
  test.each<[string, Api, Answer, typeof STREAM | typeof GENERATE]>([
    ...CHATS.flatMap((api): [string, Api, Answer, typeof STREAM | typeof GENERATE][] => [
      [
        'the field refusal',
        api,
        streamed(sse([chunk({ refusal: NO }), chunk({}, 'stop'), '[DONE]'])),
        STREAM,
      ],
      [
        'the field refusal',
        api,
        json(200, {
          choices: [{ index: 0, message: { content: null, refusal: NO }, finish_reason: 'stop' }],
        }),
        GENERATE,
      ],
      ['content_filter', api, streamed(filtered(api)), STREAM],
    ]),
    ['stop_reason refusal', 'anthropic', streamed(filtered('anthropic')), STREAM],
    [
      'stop_reason refusal',
      'anthropic',
      json(200, { ...WIRES.anthropic.whole(NO), stop_reason: 'refusal' }),
      GENERATE,
    ],
    ['SAFETY', 'google', streamed(filtered('google')), STREAM],
    [
      'a blocked prompt',
      'google',
      streamed(sse([{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }])),
      STREAM,
    ],
    [
      'a blocked prompt',
      'google',
      json(200, { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }),
      GENERATE,
    ],
    ['a refusal part', 'openai', json(200, { ...WIRES.openai.whole(''), output: [refusalItem] }), GENERATE],
    [
      'a refusal part',
      'openai',
      streamed(
        sse([
          ...start,
          { type: 'response.refusal.delta', item_id: 'i', output_index: 0, content_index: 0, delta: NO },
          ...WIRES.openai.finish(''),
          ...WIRES.openai.end,
        ]),
      ),
      STREAM,
    ],
  ])('%s, %s', async (_name, api, answer, fields) => {
    const result = await asked(api, answer, { ...fields, output_schema });
    expect(errorIn(result)).toMatchObject({ type: 'invalid_result', details: { reason: 'refused' } });
    expect(result.requests).toBe(1);
  });
});

describe.concurrent.each(APIS)('%s: what the provider said is in the message of the error', (api) => {
  const page = '<!doctype html><html><head><title>502 Bad Gateway</title></head><body>x</body></html>';
  const text =
    (status: number, body: string, type: string): Answer =>
    (response) => {
      response.writeHead(status, { 'content-type': type });
      response.end(body);
    };
  const SAID: readonly [string, unknown, string][] = [
    ['FastAPI, as text', { detail: 'the tokenizer is not loaded' }, 'the tokenizer is not loaded'],
    ['FastAPI, as a list', { detail: [{ loc: ['body', 'n'], msg: 'is too large' }] }, 'body.n: is too large'],
    ['an error as text', { error: 'model is loading' }, 'model is loading'],
    ['vLLM', { object: 'error', message: 'the cache is full', code: 400 }, 'the cache is full'],
    ['a message alone', { message: 'no such deployment' }, 'no such deployment'],
    ['JSON without a message', { reason: 'odd', at: 7 }, '"reason":"odd"'],
    ['a list of errors', { errors: [{ message: 'the worker is gone' }] }, 'the worker is gone'],
    [
      'a list',
      [{ error: { code: 400, message: 'the key is odd', status: 'INVALID_ARGUMENT' } }],
      'the key is odd',
    ],
  ];

  test.each(SAID)('%s', async (_name, body, said) => {
    for (const fields of [STREAM, GENERATE]) {
      for (const status of [400, 200]) {
        const error = errorIn(await asked(api, json(status, body), fields));
        expect(error.message).toContain(said);
        expect(error.details).toHaveProperty('status');
      }
    }
  });

  test('beside an empty answer', async () => {
    const answer = { ...WIRES[api].whole(''), error: { message: 'the upstream is gone', code: 502 } };
    for (const fields of [STREAM, GENERATE]) {
      const error = errorIn(await asked(api, json(200, answer), fields));
      expect(error).toMatchObject({ type: 'provider_error', details: { status: 502 } });
      expect(error.message).toContain('the upstream is gone');
    }
  });

  test('as an event of the stream', async () => {
    for (const body of [
      { error: 'model is loading' },
      { error: { message: 'model is loading', code: 503 } },
    ]) {
      const { start, text: delta } = WIRES[api];
      const error = errorIn(await asked(api, streamed(sse([...start, delta('hello'), body]))));
      expect(error).toMatchObject({ type: 'provider_error', retryable: true });
      expect(error.message).toContain('model is loading');
    }
  });

  test('a plain text and the title of a page, bounded', async () => {
    const long = `out of memory ${'x'.repeat(100_000)}`;
    for (const fields of [STREAM, GENERATE]) {
      for (const status of [500, 200]) {
        const plain = errorIn(await asked(api, text(status, long, 'text/plain'), fields));
        expect(plain.message).toContain('out of memory');
        expect(plain.message.length).toBeLessThan(2_500);
        const html = errorIn(await asked(api, text(status, page, 'text/html'), fields));
        expect(html.message).toContain('502 Bad Gateway');
        expect(html.message).not.toContain('<');
      }
    }
  });

  test('a key in an error of status 200 is hidden', async () => {
    const error = errorIn(
      await asked(api, json(200, { error: 'the key plain-secret-1 is odd' }), GENERATE, {
        key: () => 'plain-secret-1',
      }),
    );
    expect(JSON.stringify(error)).not.toContain('plain-secret-1');
  });
});

// Providers repeat the key that they refuse, also inside a stream that has begun.
describe.concurrent('a key in an error inside a stream is hidden', () => {
  const SECRET = 'plain-secret-1';
  const message = `the key ${SECRET} is odd`;
  const failed = { type: 'response.failed', response: { error: { code: 'x', message } } };
  const EVENTS: readonly [Api, object][] = [
    ['compatible', { error: { message } }],
    ['openai-chat', { error: message }],
    ['openai', { type: 'error', error: { message, code: 'x' } }],
    ['openai', failed],
    ['anthropic', { type: 'error', error: { type: 'api_error', message } }],
    ['google', { error: { code: 401, message } }],
  ];

  test.each(EVENTS)('%s %j', async (api, event) => {
    const answer = streamed(sse([...WIRES[api].start, event], { named: 'type' in event }));
    const error = errorIn(await asked(api, answer, STREAM, { key: () => SECRET }));
    expect(JSON.stringify(error)).not.toContain(SECRET);
    expect(error.message).toContain('[REDACTED]');
  });
});

describe.concurrent.each(APIS)('%s: a whole JSON answer to a request for a stream', (api) => {
  test.each(['application/json', 'text/event-stream'])('is read as the answer, as %s', async (type) => {
    const result = await asked(api, (response) => {
      response.writeHead(200, { 'content-type': type });
      response.end(JSON.stringify(WIRES[api].whole('hello')));
    });
    const usage = { input_tokens: 3, output_tokens: 2 };
    expect(turnIn(result)).toMatchObject({ text: 'hello', finish_reason: 'stop', usage });
    expect(told(result, 'content')).toBe('hello');
  });

  test('events that are labelled as JSON are read as events', async () => {
    const result = await asked(api, streamed(around(api), { 'content-type': 'application/json' }));
    expect(turnIn(result).text).toBe('hello there');
  });
});

describe('a whole JSON answer with calls and thinking, to a request for a stream', () => {
  const reasoning = { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'hm' }] };
  const responses = { type: 'function_call', id: 'f', call_id: 'x', name: 'one', arguments: '{"a":1}' };
  const blocks = [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'tool_use', id: 'x', name: 'one', input: { a: 1 } },
  ];
  const parts = [{ text: 'hm', thought: true }, { functionCall: { id: 'x', name: 'one', args: { a: 1 } } }];
  const call = { id: 'x', type: 'function', function: { name: 'one', arguments: '{"a":1}' } };
  const message = { content: null, reasoning_content: 'hm', tool_calls: [call] };
  test.each<[Api, object]>([
    ['openai', { output: [reasoning, responses] }],
    ['anthropic', { content: blocks, stop_reason: 'tool_use' }],
    ['google', { candidates: [{ content: { parts }, finishReason: 'STOP' }] }],
    ['compatible', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }],
  ])('%s', async (api, members) => {
    const turn = turnIn(await asked(api, json(200, { ...WIRES[api].whole(''), ...members })));
    expect(turn).toMatchObject({ thinking: 'hm', finish_reason: 'tool_calls' });
    expect(turn.tool_calls).toMatchObject([{ name: 'one', arguments: { a: 1 } }]);
  });
});

/** DeepSeek-R1, Qwen and others write their thinking into the text, as their servers pass it on without a parser of reasoning. */
describe('thinking in tags', () => {
  const TEXTS: readonly ['leading' | 'open' | null, string, string, string][] = [
    ['leading', '<think>hm</think>hello', 'hm', 'hello'],
    ['leading', ' \n<think>\nhm\n</think>\n\nhello', '\nhm\n', 'hello'],
    ['leading', '<think></think>hello', '', 'hello'],
    ['leading', 'see <think>hm</think>', '', 'see <think>hm</think>'],
    ['leading', '<thin hello', '', '<thin hello'],
    ['leading', '<think>a </thin b</think>hello </think>', 'a </thin b', 'hello </think>'],
    ['leading', '<', '', '<'],
    ['open', 'hm</think>hello', 'hm', 'hello'],
    ['leading', `${' '.repeat(1_100)}<think>hm</think>`, '', `${' '.repeat(1_100)}<think>hm</think>`],
    ['open', '<think>hm</think>hello', 'hm', 'hello'],
    [null, '<think>hm</think>hello', '', '<think>hm</think>hello'],
  ];

  test.each(TEXTS)('%s: %j, in any cut', async (thinkTags, content, thinking, text) => {
    for (const size of [1, 3, 7, content.length]) {
      const cuts = content.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? [];
      const events = [...chat.start, ...cuts.map((cut) => chat.text(cut)), ...chat.finish('stop'), '[DONE]'];
      const result = await asked('compatible', streamed(sse(events)), STREAM, { thinkTags });
      expect(turnIn(result)).toMatchObject({ thinking, text });
      expect([told(result, 'thinking'), told(result, 'content')]).toStrictEqual([thinking, text]);
    }
    const whole = await asked('compatible', json(200, chat.whole(content)), GENERATE, { thinkTags });
    expect(turnIn(whole)).toMatchObject({ thinking, text });
  });

  test('a part of a tag comes before what follows it', async () => {
    const thinkTags = 'leading';
    const cut = [{ content: '<think>a' }, { content: 'bc </th' }].map((delta) => ({ choices: [{ delta }] }));
    const events = [cut[0], { choices: [{ ...cut[1]?.choices[0], finish_reason: 'length' }] }, '[DONE]'];
    const last = await asked('compatible', streamed(sse(events)), STREAM, { thinkTags });
    expect(turnIn(last)).toMatchObject({ thinking: 'abc </th', text: '' });
    const deltas = [{ content: '<' }, { reasoning_content: 'hm' }, { content: 'b>' }];
    const mixed = deltas.map((delta) => ({ choices: [{ index: 0, delta }] }));
    const answer = streamed(sse([...mixed, ...chat.finish('stop'), '[DONE]']));
    expect(turnIn(await asked('compatible', answer, STREAM, { thinkTags }))).toMatchObject({ text: '<b>' });
  });

  test('a whole answer to a stream is split once', async () => {
    const answer = json(200, chat.whole('</think>hello'));
    expect(turnIn(await asked('compatible', answer, STREAM, { thinkTags: 'open' }))).toMatchObject({
      thinking: '',
      text: 'hello',
    });
  });

  test('a server that separates the thinking itself is not read a second time', async () => {
    const deltas = [{ reasoning_content: 'hm' }, { content: '<think>' }, { content: 'hello' }];
    const events = deltas.map((delta) => ({ choices: [{ index: 0, delta }] }));
    const answer = streamed(sse([...events, ...chat.finish('stop'), '[DONE]']));
    expect(turnIn(await asked('compatible', answer, STREAM, { thinkTags: 'open' }))).toMatchObject({
      thinking: 'hm',
      text: '<think>hello',
    });
  });
});
