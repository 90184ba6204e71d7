/** A model's turn as history of the next request, on each provider's own wire: order, reasoning, results, instructions, cache.
 *  It must never reach a real provider. */
import { describe, expect, test } from 'vitest';
import { assistantMessage, type ModelTurn, modelTurnSchema } from '../../../src/contract/model/model-turn.ts';
import type { Message } from '../../../src/contract/model/message.ts';
import type { RemoteProviderOptions } from '../../../src/models/requests/provider-options.ts';
import { type Api, call, type CallResult, providersAt, turnIn } from '../../support/model-calls.ts';
import {
  type Answer,
  bodyOf,
  json,
  type ProviderServer,
  sse,
  startProvider,
  streamed,
} from '../../support/provider-server.ts';

type Type = 'llm_stream' | 'llm_generate';
type Fields = Partial<RemoteProviderOptions>;

const TYPES: Type[] = ['llm_stream', 'llm_generate'];
const TOOL = { name: 's.t', input_schema: { type: 'object' } };
const USER: Message = { role: 'user', content: 'go' };

function ask(
  server: ProviderServer,
  api: Api,
  type: Type,
  context: Message[],
  fields: Fields = {},
): Promise<CallResult> {
  return call({ type, tools: [TOOL], context }, { providers: providersAt(server.url, api, fields) });
}

/** The turn and its results, these in the reverse order of the calls, as JSON would store them. */
function history(turn: ModelTurn): Message[] {
  const results = turn.tool_calls.map(({ id, arguments: { n } }): Message => ({
    role: 'tool',
    tool_call_id: id,
    content: `result ${String(n)}`,
  }));
  return JSON.parse(
    JSON.stringify([USER, assistantMessage(modelTurnSchema.parse(turn)), ...results.toReversed()]),
  ) as Message[];
}

/** The body of the request after the answer. */
async function sentAfter(
  answer: Answer,
  api: Api,
  type: Type,
  fields: Fields = {},
): Promise<Record<string, unknown>> {
  await using server = await startProvider(answer);
  const turn = turnIn(await ask(server, api, type, [USER], fields));
  turnIn(await ask(server, api, type, history(turn), fields));
  return bodyOf(server, 1);
}

/** Anthropic: "thinking blocks in the latest assistant message cannot be modified", their order included. */
describe('Anthropic', () => {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const head = { id: 'm', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
  const BLOCKS = [
    { type: 'thinking', thinking: 'one', signature: 'sig-1' },
    { type: 'tool_use', id: 'u1', name: 's_t', input: { n: 1 } },
    { type: 'redacted_thinking', data: 'sealed' },
    { type: 'text', text: 'and so' },
    { type: 'tool_use', id: 'u2', name: 's_t', input: { n: 2 } },
    { type: 'tool_use', id: 'u3', name: 's_t', input: { n: 3 } },
  ];

  function events(block: (typeof BLOCKS)[number], index: number): unknown[] {
    const delta = (fields: object): object => ({ type: 'content_block_delta', index, delta: fields });
    const begun = (fields: object): object => ({
      type: 'content_block_start',
      index,
      content_block: { ...block, ...fields },
    });
    const stop = { type: 'content_block_stop', index };
    if (block.type === 'thinking')
      return [
        begun({ thinking: '', signature: '' }),
        delta({ type: 'thinking_delta', thinking: block.thinking }),
        delta({ type: 'signature_delta', signature: block.signature }),
        stop,
      ];
    if (block.type === 'tool_use')
      return [
        begun({ input: {} }),
        delta({ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }),
        stop,
      ];
    if (block.type === 'text')
      return [begun({ text: '' }), delta({ type: 'text_delta', text: block.text }), stop];
    return [begun({}), stop];
  }

  const ANSWERS: Record<Type, Answer> = {
    llm_generate: json(200, { ...head, content: BLOCKS, stop_reason: 'tool_use', usage }),
    llm_stream: streamed(
      sse(
        [
          { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
          ...BLOCKS.flatMap(events),
          { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
          { type: 'message_stop' },
        ],
        { named: true },
      ),
    ),
  };

  test.each(TYPES)('%s: thinking, calls and text go back block for block', async (type) => {
    const { messages } = (await sentAfter(ANSWERS[type], 'anthropic', type)) as {
      messages: { content: object[] }[];
    };
    expect(messages[1]?.content).toMatchObject(BLOCKS);
    expect(messages[2]?.content).toMatchObject([
      { type: 'tool_result', tool_use_id: 'u1' },
      { type: 'tool_result', tool_use_id: 'u2' },
      { type: 'tool_result', tool_use_id: 'u3' },
    ]);
  });

  const marks = (body: unknown): unknown[] => {
    const found: unknown[] = [];
    JSON.stringify(body, (key, value: unknown) => {
      if (key === 'cache_control' && value) found.push(value);
      return value;
    });
    return found;
  };

  // "A maximum of 4 blocks with cache_control may be provided" (BlockRunAI/Franklin#73).
  test.each([
    ['5m', { type: 'ephemeral' }],
    ['1h', { type: 'ephemeral', ttl: '1h' }],
  ] as const)(
    'with a cache for %s has four breakpoints: tools, instructions, the last answered message, the last message',
    async (ttl, mark) => {
      await using server = await startProvider(ANSWERS.llm_generate);
      const fields: Fields = { promptCache: () => ttl };
      const turn = turnIn(await ask(server, 'anthropic', 'llm_generate', [USER], fields));
      const context: Message[] = [{ role: 'system', content: 'be brief' }, ...history(turn)];
      turnIn(await ask(server, 'anthropic', 'llm_generate', context, fields));
      const body = bodyOf(server, 1) as {
        tools: unknown[];
        system: unknown[];
        messages: { content: unknown[] }[];
      };
      expect(marks(body)).toEqual([mark, mark, mark, mark]);
      const places = [
        body.tools.at(-1),
        body.system.at(-1),
        body.messages[0]?.content.at(-1),
        body.messages[2]?.content.at(-1),
      ];
      expect(places).toMatchObject(places.map(() => ({ cache_control: mark })));
    },
  );

  test('without a cache, and for a single question, has no breakpoint', async () => {
    await using server = await startProvider(ANSWERS.llm_generate);
    turnIn(await ask(server, 'anthropic', 'llm_generate', [USER], { promptCache: () => 'off' }));
    const providers = providersAt(server.url, 'anthropic', { promptCache: () => '5m' });
    turnIn(await call({ type: 'llm_generate', system_prompt: 'be brief', context: [USER] }, { providers }));
    expect(server.seen.map(({ body }) => marks(body))).toEqual([[], []]);
  });

  // "cache_control cannot be set for empty text blocks" (askalf/dario#1066).
  test('has no breakpoint at an empty text', async () => {
    await using server = await startProvider(ANSWERS.llm_generate);
    const empty: Message = {
      role: 'user',
      content: [
        { type: 'image', url: 'https://example.org/a.png' },
        { type: 'text', text: '' },
      ],
    };
    turnIn(await ask(server, 'anthropic', 'llm_generate', [empty], { promptCache: () => '5m' }));
    expect(marks(bodyOf(server)['messages'])).toEqual([]);
    expect(marks(bodyOf(server))).toHaveLength(1);
  });

  test('the tokens of the cache are in the usage, and cost what they cost', async () => {
    const counted = {
      input_tokens: 100,
      output_tokens: 10,
      cache_read_input_tokens: 2_000,
      cache_creation_input_tokens: 400,
    };
    const text = [{ type: 'text', text: 'done' }];
    await using server = await startProvider(
      json(200, { ...head, content: text, stop_reason: 'end_turn', usage: counted }),
    );
    const { execution } = await ask(server, 'anthropic', 'llm_generate', [USER], { promptCache: () => '5m' });
    expect(execution.usage).toMatchObject({
      input_tokens: 2_500,
      output_tokens: 10,
      metadata: {
        cache_read_input_tokens: 2_000,
        cache_creation_input_tokens: 400,
        // 100 fresh at 1, 2,000 read at 0.1, 400 written at 1.25, 10 of output at 10 dollars per million.
        cost: 0.0009,
      },
    });
  });
});

/** OpenAI: "function_call was provided without its required reasoning item": each follows its own. */
describe('OpenAI, responses', () => {
  const OUTPUT = [1, 2].flatMap((n) => [
    {
      id: `rs_${n}`,
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: `thought ${n}` }],
      encrypted_content: `sealed-${n}`,
    },
    {
      id: `fc_${n}`,
      type: 'function_call',
      status: 'completed',
      call_id: `call_${n}`,
      name: 's_t',
      arguments: `{"n":${n}}`,
    },
  ]);
  const RESPONSE = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    error: null,
    incomplete_details: null,
    model: 'gpt-5',
  };
  const completed = {
    ...RESPONSE,
    status: 'completed',
    output: OUTPUT,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const ANSWERS: Record<Type, Answer> = {
    llm_generate: json(200, completed),
    llm_stream: streamed(
      sse(
        [
          { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
          ...OUTPUT.flatMap((item, output_index) => [
            {
              type: 'response.output_item.added',
              output_index,
              item: { ...item, ...(item.type === 'reasoning' ? { summary: [] } : { arguments: '' }) },
            },
            ...(item.type === 'reasoning'
              ? [
                  {
                    type: 'response.reasoning_summary_text.delta',
                    item_id: item.id,
                    output_index,
                    summary_index: 0,
                    delta: item.summary?.[0]?.text,
                  },
                ]
              : [
                  {
                    type: 'response.function_call_arguments.delta',
                    item_id: item.id,
                    output_index,
                    delta: item.arguments,
                  },
                ]),
            { type: 'response.output_item.done', output_index, item },
          ]),
          { type: 'response.completed', response: completed },
        ],
        { named: true },
      ),
    ),
  };

  test.each(TYPES)('%s: each reasoning item goes back before its call, sealed as it came', async (type) => {
    const { input } = (await sentAfter(ANSWERS[type], 'openai', type)) as {
      input: Record<string, unknown>[];
    };
    expect(input.slice(1)).toMatchObject([
      { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed-1', summary: [{ text: 'thought 1' }] },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'reasoning', id: 'rs_2', encrypted_content: 'sealed-2', summary: [{ text: 'thought 2' }] },
      { type: 'function_call', call_id: 'call_2' },
      { type: 'function_call_output', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_2' },
    ]);
  });

  test.each<Api>(['openai', 'openai-chat'])(
    '%s: the calls of a request share a cache key, which names neither it nor the tenant',
    async (api) => {
      const answer =
        api === 'openai'
          ? ANSWERS.llm_generate
          : json(200, {
              choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
            });
      await using server = await startProvider(answer);
      const asked = (tenant: string, promptCache: 'key' | 'off', tools = [TOOL]) =>
        call(
          { type: 'llm_generate', tools, context: [USER] },
          {
            providers: providersAt(server.url, api, { promptCache: () => promptCache }),
            context: { tenant },
          },
        );
      turnIn(await asked('acme', 'key'));
      turnIn(await asked('acme', 'key'));
      turnIn(await asked('other', 'key'));
      turnIn(await asked('acme', 'off'));
      turnIn(await asked('acme', 'key', []));
      const keys = server.seen.map(({ body }) => (body as Record<string, unknown>)['prompt_cache_key']);
      expect(keys[0]).toMatch(/^[\w-]{43}$/);
      expect(keys[1]).toBe(keys[0]);
      expect(keys[2]).not.toBe(keys[0]);
      // OpenAI's own choice of a machine, by the beginning of the prompt, serves single questions better.
      expect(keys.slice(3)).toEqual([undefined, undefined]);
    },
  );
});

/** Google: as many response parts in the next content as call parts in one, and each signature on the part it came with. */
describe('Google', () => {
  const PARTS = [
    { text: 'one', thought: true, thoughtSignature: 'sig-t' },
    { functionCall: { name: 's_t', args: { n: 1 } }, thoughtSignature: 'sig-1' },
    { text: 'two', thought: true },
    { functionCall: { name: 's_t', args: { n: 2 } } },
    { functionCall: { name: 's_t', args: { n: 3 } } },
  ];
  const answer = {
    candidates: [{ content: { role: 'model', parts: PARTS }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
  };
  const ANSWERS: Record<Type, Answer> = {
    llm_generate: json(200, answer),
    llm_stream: streamed(sse([answer])),
  };

  test.each(TYPES)(
    '%s: the results of parallel calls are one content, in the order of the calls',
    async (type) => {
      const { contents } = (await sentAfter(ANSWERS[type], 'google', type)) as {
        contents: { role: string; parts: object[] }[];
      };
      expect(contents.map(({ role }) => role)).toEqual(['user', 'model', 'user']);
      expect(contents[1]?.parts).toMatchObject(PARTS);
      expect(contents[2]?.parts.map((part) => JSON.stringify(part).match(/result \d/)?.[0])).toEqual([
        'result 1',
        'result 2',
        'result 3',
      ]);
    },
  );
});

describe('a server with chat completions', () => {
  const tool_calls = [1, 2].map((n) => ({
    index: n - 1,
    id: `c${n}`,
    type: 'function',
    function: { name: 's_t', arguments: `{"n":${n}}` },
  }));
  const answers = (field: string): Record<Type, Answer> => ({
    llm_generate: json(200, {
      choices: [{ message: { [field]: 'let me look', tool_calls }, finish_reason: 'tool_calls' }],
    }),
    llm_stream: streamed(
      sse([
        { choices: [{ index: 0, delta: { [field]: 'let me ' } }] },
        { choices: [{ index: 0, delta: { [field]: 'look' } }] },
        { choices: [{ index: 0, delta: { tool_calls } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
        '[DONE]',
      ]),
    ),
  });
  const CASES = TYPES.flatMap((type) => [[type, 'reasoning'] as const, [type, 'reasoning_content'] as const]);

  // Groq and Cerebras return `reasoning` and refuse `reasoning_content`; DeepSeek's tool loops require `reasoning_content`.
  test.each(CASES)(
    '%s: reasoning that came as %s goes back so, and results in the order of the calls',
    async (type, field) => {
      const { messages } = (await sentAfter(answers(field)[type], 'compatible', type)) as {
        messages: object[];
      };
      expect(messages).toMatchObject([
        { role: 'user' },
        { role: 'assistant', [field]: 'let me look' },
        { role: 'tool', tool_call_id: 'c1' },
        { role: 'tool', tool_call_id: 'c2' },
      ]);
      expect(Object.keys(messages[1] ?? {}).filter((name) => name.startsWith('reasoning'))).toEqual([field]);
    },
  );

  test.each(TYPES)('%s: a setting names another member, or none', async (type) => {
    const none = await sentAfter(answers('reasoning')[type], 'compatible', type, {
      reasoningHistory: 'none',
    });
    expect(JSON.stringify(none['messages'])).not.toContain('reasoning');
    const other = await sentAfter(answers('reasoning')[type], 'compatible', type, {
      reasoningHistory: 'reasoning_content',
    });
    expect(other['messages']).toMatchObject([{}, { reasoning_content: 'let me look' }, {}, {}]);
  });

  // "System message must be at the beginning" and "conversation roles must alternate": Qwen, Gemma, Mistral at vLLM and llama.cpp.
  test.each(TYPES)(
    '%s: one instruction comes first, later ones in the user’s message after them',
    async (type) => {
      await using server = await startProvider(answers('reasoning')[type]);
      const context: Message[] = [
        { role: 'system', content: 'b' },
        USER,
        { role: 'assistant', content: 'y' },
        { role: 'system', content: 'c' },
        { role: 'user', content: 'z' },
      ];
      const providers = providersAt(server.url, 'compatible');
      turnIn(await call({ type, system_prompt: 'a', context }, { providers }));
      expect(bodyOf(server)['messages']).toEqual([
        { role: 'system', content: 'a\n\nb' },
        { role: 'user', content: 'go' },
        { role: 'assistant', content: 'y' },
        { role: 'user', content: '<system>\nc\n</system>\n\nz' },
      ]);
    },
  );

  // Mistral: "Unexpected role 'user' after role 'tool'" (pydantic/pydantic-ai#1210, zed-industries/zed#31736).
  test.each([
    ['p:mistralai/Devstral-Small', null, ['user', 'assistant', 'tool', 'assistant', 'user']],
    ['p:mistral-large', false, ['user', 'assistant', 'tool', 'user']],
    ['p:qwen', null, ['user', 'assistant', 'tool', 'user']],
    ['p:qwen', true, ['user', 'assistant', 'tool', 'assistant', 'user']],
  ] as const)(
    '%s, setting %s: the roles after a tool’s results are %j',
    async (model, assistantAfterTools, roles) => {
      await using server = await startProvider(answers('reasoning').llm_generate);
      const context: Message[] = [
        USER,
        { role: 'assistant', tool_calls: [{ id: 'c', name: 's.t', arguments: {} }] },
        { role: 'tool', tool_call_id: 'c', content: 'x' },
        { role: 'user', content: 'stop' },
      ];
      const providers = providersAt(server.url, 'compatible', { assistantAfterTools });
      turnIn(await call({ type: 'llm_generate', context }, { providers, context: { models: [model] } }));
      expect((bodyOf(server)['messages'] as Message[]).map(({ role }) => role)).toEqual(roles);
    },
  );
});
