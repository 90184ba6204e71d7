/** Tool calls of answers that end at the limit of output tokens, on every wire: none of them has arguments to execute.
 *  It must never reach a real provider. */
import { describe, expect, test } from 'vitest';
import { type Api, call, errorIn, providersAt, turnIn } from '../../support/model-calls.ts';
import { type Answer, bodyOf, json, sse, startProvider, streamed } from '../../support/provider-server.ts';

const CUT = '{"folder":"/var/tmp/sess';
const WHOLE = '{"folder":"/var/tmp"}';
const HALF = '\ud83d';

type Answers = (written: string, isCut: boolean) => Record<'llm_stream' | 'llm_generate', Answer>;

/** OpenAI, chat completions: `finish_reason: "length"`. */
const chat: Answers = (written, isCut) => {
  const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const called = { id: 'c', type: 'function', function: { name: 'purge', arguments: written } };
  const finish_reason = isCut ? 'length' : 'tool_calls';
  const chunks = [
    { ...head, choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [{ index: 0, ...called }] } }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason }] },
    '[DONE]',
  ];
  const message = { role: 'assistant', content: null, tool_calls: [called] };
  const choices = [{ index: 0, message, finish_reason }];
  const whole = { ...head, object: 'chat.completion', choices };
  return { llm_stream: streamed(sse(chunks)), llm_generate: json(200, whole) };
};

/** OpenAI, responses: `response.incomplete` with `incomplete_details.reason: "max_output_tokens"`. */
const responses: Answers = (written, isCut) => {
  const status = isCut ? 'incomplete' : 'completed';
  const item = { id: 'fc', type: 'function_call', call_id: 'c', name: 'purge', arguments: written, status };
  const incomplete_details = isCut ? { reason: 'max_output_tokens' } : null;
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const made = {
    id: 'r',
    object: 'response',
    created_at: 1,
    model: 'm',
    output: [],
    incomplete_details: null,
  };
  const response = { ...made, status, output: [item], incomplete_details, usage };
  const output_index = 0;
  const events = [
    { type: 'response.created', response: { ...made, status: 'in_progress' } },
    { type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } },
    { type: 'response.function_call_arguments.delta', item_id: 'fc', output_index, delta: written },
    { type: 'response.function_call_arguments.done', item_id: 'fc', output_index, arguments: written },
    { type: 'response.output_item.done', output_index, item },
    { type: `response.${status}`, response },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
  return { llm_stream: streamed(sse(events, { named: true })), llm_generate: json(200, response) };
};

/** Anthropic, messages: `stop_reason: "max_tokens"`; an answer in one piece has the part of `input` that was parsed. */
const anthropic: Answers = (written, isCut) => {
  const stop_reason = isCut ? 'max_tokens' : 'tool_use';
  const block = { type: 'tool_use', id: 'c', name: 'purge', input: {} };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const made = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'm',
    stop_reason: null,
    usage,
  };
  const events = [
    { type: 'message_start', message: made },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: written } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  const content = [{ ...block, input: inputOf(written) }];
  return {
    llm_stream: streamed(sse(events, { named: true })),
    llm_generate: json(200, { ...made, content, stop_reason }),
  };
};

/** Google, generateContent: `finishReason: "MAX_TOKENS"`; arguments are always an object. */
const google: Answers = (written, isCut) => {
  const parts = [{ functionCall: { name: 'purge', args: inputOf(written) } }];
  const finishReason = isCut ? 'MAX_TOKENS' : 'STOP';
  const answer = { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason }] };
  return { llm_stream: streamed(sse([answer])), llm_generate: json(200, answer) };
};

function inputOf(written: string): unknown {
  return written === CUT ? {} : JSON.parse(written);
}

const WIRES: [Api, Answers][] = [
  ['openai-chat', chat],
  ['compatible', chat],
  ['openai', responses],
  ['anthropic', anthropic],
  ['google', google],
];
const PURGE = { name: 'purge', input_schema: { type: 'object' } };

describe.each(WIRES)('%s', (api, answers) => {
  describe.each(['llm_stream', 'llm_generate'] as const)('%s', (type) => {
    async function calls(written: string, isCut: boolean) {
      await using server = await startProvider(answers(written, isCut)[type]);
      const setup = { providers: providersAt(server.url, api) };
      return turnIn(await call({ type, tools: [PURGE] }, setup)).tool_calls;
    }

    test('whole arguments of a finished answer are read', async () => {
      const [read] = await calls(WHOLE, false);
      expect(read).toMatchObject({ name: 'purge', arguments: { folder: '/var/tmp' } });
      expect(read).not.toHaveProperty('arguments_error');
    });

    test.each([CUT, WHOLE, '{}'])('arguments of a cut answer are unusable: %s', async (written) => {
      const [read] = await calls(written, true);
      expect(read).toMatchObject({ arguments: {}, arguments_error: { reason: 'cut' } });
      expect(read?.arguments_error?.message).toContain('maximum number of output tokens');
    });

    test('integers that lose digits are unusable', async () => {
      const [read] = await calls('{"id":9007199254740993}', false);
      expect(read).toMatchObject({ arguments: {}, arguments_error: { reason: 'inexact_number' } });
    });

    test('a history with unusable arguments and half surrogate pairs is sent as valid JSON', async () => {
      await using server = await startProvider(answers(WHOLE, false)[type]);
      const [unusable] = await calls(WHOLE, true);
      const context = [
        { role: 'user' as const, content: `half ${HALF} \\ud83d` },
        { role: 'assistant' as const, content: `a${HALF}`, tool_calls: unusable ? [unusable] : [] },
        { role: 'tool' as const, tool_call_id: unusable?.id ?? '', content: `b${HALF}` },
      ];
      await call({ type, tools: [PURGE], context }, { providers: providersAt(server.url, api) });
      const sent = JSON.stringify(bodyOf(server));
      expect(sent).not.toMatch(/[^\\]\\ud83d/);
      expect(sent).not.toContain('arguments_error');
      expect(sent).toContain(String.raw`half ${'\u{fffd}'} \\ud83d`);
      expect(sent).toContain('a\u{fffd}');
      expect(sent).toContain('b\u{fffd}');
    });
  });
});

describe('the end of an answer', () => {
  const context = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'Let me look.', tool_calls: [{ id: 'c', name: 'purge', arguments: {} }] },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ];

  async function ended(finish_reason: string, content: string | null, fields: object) {
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason }];
    const whole = { id: 'x', object: 'chat.completion', created: 1, model: 'm', choices };
    await using server = await startProvider(json(200, whole));
    const asked = { type: 'llm_generate' as const, ...fields };
    return await call(asked, { providers: providersAt(server.url, 'compatible') });
  }

  // Anthropic's guide on stop reasons: an empty `end_turn` after tool results is an end, not a fault.
  test('without text is an end after results of tools, and a failure elsewhere', async () => {
    const result = await ended('stop', '', { context });
    expect(turnIn(result)).toMatchObject({ type: 'final_answer', text: '', finish_reason: 'stop' });
    expect(errorIn(await ended('stop', '', {}))).toMatchObject({ details: { reason: 'empty_answer' } });
  });

  test('that announces tool calls and brings none is a failure that says so', async () => {
    const error = errorIn(await ended('tool_calls', 'Let me look.', {}));
    expect(error).toMatchObject({ type: 'provider_error', details: { reason: 'no_tool_calls' } });
    expect(error.message).toContain('sent no tool call');
  });

  // A proxy that loses its connection to the model may still write [DONE]: what is missing of a call is not {}.
  test.each(['openai-chat', 'compatible'] as const)(
    '%s: unnamed, within a call, gives no arguments',
    async (api) => {
      const begun = { index: 0, id: 'c', type: 'function', function: { name: 'purge', arguments: '' } };
      const events = [{ choices: [{ index: 0, delta: { tool_calls: [begun] } }] }, '[DONE]'];
      await using server = await startProvider(streamed(sse(events)));
      const asked = { type: 'llm_stream' as const, tools: [PURGE] };
      const [read] = turnIn(await call(asked, { providers: providersAt(server.url, api) })).tool_calls;
      expect(read).toMatchObject({ arguments: {}, arguments_error: { reason: 'cut' } });
    },
  );

  // Anthropic's streaming guide: new kinds of deltas may come; in a call they may hold its arguments.
  test.each([
    [
      'a delta of an unknown kind',
      [
        { type: 'content_block_delta', index: 1, delta: { type: 'input_v2', partial_json: WHOLE } },
        { type: 'content_block_stop', index: 1 },
      ],
    ],
    ['an end within its call', []],
  ])('anthropic: %s gives no call without arguments', async (_kind, rest) => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm', usage };
    const events = [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'I purge.' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'c', name: 'purge', input: {} },
      },
      ...rest,
      { type: 'message_stop' },
    ];
    await using server = await startProvider(streamed(sse(events, { named: true })));
    const asked = { type: 'llm_stream' as const, tools: [PURGE] };
    const { execution } = await call(asked, { providers: providersAt(server.url, 'anthropic') });
    expect(execution.result).toMatchObject({ ok: false });
  });
});

// RFC 8259, section 6. The clients of these wires parse the arguments and write them again: null, or 0.
describe.each(['1e400', '9'.repeat(400), '1e-400'])('an argument that no number holds: %s', (written) => {
  const filled = (answer: object): string => JSON.stringify(answer).replace('"AMOUNT"', written);
  const args = { amount: 'AMOUNT' };
  const anthropicAnswer = filled({
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
    content: [{ type: 'tool_use', id: 'c', name: 'purge', input: args }],
  });
  const parts = [{ functionCall: { name: 'purge', args } }];
  const googleAnswer = filled({
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
  });
  const called = { id: 'c', type: 'function', function: { name: 'purge', arguments: args } };
  const chatAnswer = filled({
    id: 'x',
    created: 1,
    model: 'm',
    choices: [
      { index: 0, message: { role: 'assistant', tool_calls: [called] }, finish_reason: 'tool_calls' },
    ],
  });
  test.each([
    ['anthropic', 'llm_generate', json(200, anthropicAnswer)],
    ['anthropic', 'llm_stream', json(200, anthropicAnswer)],
    ['google', 'llm_generate', json(200, googleAnswer)],
    ['google', 'llm_stream', streamed(`data: ${googleAnswer}\n\n`)],
    ['compatible', 'llm_generate', json(200, chatAnswer)],
    ['openai-chat', 'llm_stream', json(200, chatAnswer)],
  ] as const)('%s, %s', async (api, type, answer) => {
    await using server = await startProvider(answer);
    const result = await call({ type, tools: [PURGE] }, { providers: providersAt(server.url, api) });
    const [read] = turnIn(result).tool_calls;
    expect(read).toMatchObject({ arguments: {}, arguments_error: { reason: 'inexact_number' } });
  });
});

// Members of a call that its client does not read must not become the arguments {}.
describe('arguments at another place or of another type', () => {
  const item = { id: 'fc', type: 'function_call', call_id: 'c', name: 'purge', status: 'completed' };
  const folder = { folder: '/var/tmp' };
  const head = { id: 'r', created_at: 1, model: 'm' };
  const delta = {
    type: 'response.function_call_arguments.delta',
    item_id: 'fc',
    output_index: 0,
    delta: WHOLE,
  };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const items = [
    { type: 'response.created', response: head },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
    delta,
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { usage } },
  ];
  const whole = { ...head, object: 'response', status: 'completed' };
  const chatAnswer = (called: object): Answer =>
    json(200, {
      choices: [
        {
          message: { tool_calls: [{ id: 'c', function: { name: 'purge', ...called } }] },
          finish_reason: 'tool_calls',
        },
      ],
    });

  test.each([
    ['openai', 'llm_stream', streamed(sse(items, { named: true })), folder],
    ['openai', 'llm_generate', json(200, { ...whole, output: [{ ...item, arguments: folder }] }), folder],
    ['compatible', 'llm_generate', chatAnswer({ parameters: folder }), folder],
    ['openai-chat', 'llm_generate', chatAnswer({ input: folder }), folder],
    ['compatible', 'llm_generate', chatAnswer({ arguments: true }), null],
    ['openai-chat', 'llm_generate', chatAnswer({ arguments: 5 }), null],
    ['openai', 'llm_generate', json(200, { ...whole, output: [{ ...item, arguments: '' }] }), {}],
  ] as const)('%s, %s', async (api, type, answer, expected) => {
    await using server = await startProvider(answer);
    const result = await call({ type, tools: [PURGE] }, { providers: providersAt(server.url, api) });
    const [read] = turnIn(result).tool_calls;
    expect(read?.arguments).toStrictEqual(expected ?? {});
    expect(read?.arguments_error?.reason).toBe(expected === null ? 'not_object' : undefined);
  });
});
