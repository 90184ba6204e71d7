/** Converts messages of the contract for a provider's client.
 *  It must never lose content. */
import { describe, expect, test } from 'vitest';
import type { AssistantPart, Message, ProviderData } from '../../../../src/contract/model/message.ts';
import { OPEN_RULES, promptOf, type PromptRules } from '../../../../src/models/requests/prompt.ts';
import type { ReasoningHistory } from '../../../../src/models/requests/reasoning-history.ts';

const names = { encode: (name: string) => name.replaceAll('.', '_') };

const STRICT: Partial<PromptRules> = { systemAnywhere: false };

function prompt(messages: Message[], rules: Partial<PromptRules> = {}, systemPrompt?: string) {
  const read = promptOf(messages, { names, rules: { ...OPEN_RULES, ...rules }, systemPrompt });
  if (!read.ok) throw new Error(`${read.path} ${read.message}`);
  return read.prompt;
}

describe('an assistant’s message', () => {
  test('keeps reasoning, text and calls in order, with what the provider wants back', () => {
    const data = { anthropic: { signature: 's' } };
    const message: Message = {
      role: 'assistant',
      content: [
        { type: 'thinking', text: 'hm', provider_data: data },
        { type: 'text', text: '' },
        { type: 'text', text: 'so' },
        { type: 'image', data: 'a-_b', media_type: 'image/png' },
      ],
      tool_calls: [{ id: 'c', name: 's.t', arguments: { a: 1 }, provider_data: { google: { x: 'y' } } }],
    };
    expect(prompt([message])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: data },
          { type: 'text', text: 'so' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'a+/b' } },
          {
            type: 'tool-call',
            toolCallId: 'c',
            toolName: 's_t',
            input: { a: 1 },
            providerOptions: { google: { x: 'y' } },
          },
        ],
      },
    ]);
  });

  test.each([
    ['', undefined],
    [null, []],
    [undefined, undefined],
  ])('that is empty is left out: %j', (content, tool_calls) => {
    expect(prompt([{ role: 'assistant', content, tool_calls } as Message])).toEqual([]);
  });
});

describe('the place of a call', () => {
  const calls = ['c1', 'c2', 'c3'].map((id) => ({ id, name: 's.t', arguments: {} }));
  const thinking = (text: string) => ({ type: 'thinking' as const, text });
  const order = (content: AssistantPart[]): unknown[] => {
    const [message] = prompt([{ role: 'assistant', content, tool_calls: calls }]);
    return ((message?.content ?? []) as { toolCallId?: string; text?: string }[]).map(
      ({ toolCallId, text }) => toolCallId ?? text,
    );
  };
  const at = (id: string) => ({ type: 'tool_call' as const, id });

  test('is kept among the parts', () => {
    expect(order([thinking('a'), at('c1'), thinking('b'), at('c2'), at('c3')])).toEqual([
      'a',
      'c1',
      'b',
      'c2',
      'c3',
    ]);
  });

  test('is the end for calls without one, as in histories from before places were kept', () => {
    expect(order([at('c2'), thinking('a'), thinking('b')])).toEqual(['c2', 'a', 'b', 'c1', 'c3']);
    expect(order([thinking('a'), thinking('b')])).toEqual(['a', 'b', 'c1', 'c2', 'c3']);
  });

  test('of no call, or named twice, neither adds nor loses one', () => {
    expect(order([at('other'), at('c1'), at('c1'), thinking('a')])).toEqual(['c1', 'a', 'c2', 'c3']);
  });
});

// DeepSeek requires `reasoning_content` with tool calls (abhigyanpatwari/GitNexus#43, qwersyk/Newelle#404), Cerebras and Groq
// refuse it (Kilo-Org/kilocode#10375, SimonSchubert/Kai#265).
describe('reasoning for a server with chat completions', () => {
  const sent = (
    history: ReasoningHistory,
    provider_data?: ProviderData,
    tool_calls = [{ id: 'c', name: 's.t', arguments: {} }],
  ) => {
    const content: AssistantPart[] = [
      { type: 'thinking', text: 'hm', ...(provider_data && { provider_data }) },
    ];
    const rules = { ...STRICT, reasoning: { provider: 'p', history } };
    const [message] = prompt([{ role: 'assistant', content, tool_calls }], rules);
    expect(JSON.stringify(message?.content ?? '')).not.toContain('hm');
    return message?.providerOptions?.['openaiCompatible'];
  };
  const own = (reasoning_field: string) => ({ p: { reasoning_field } });

  test.each<[ReasoningHistory, ProviderData | undefined, object | undefined]>([
    ['as_received', own('reasoning'), { reasoning: 'hm' }],
    ['as_received', own('reasoning_content'), { reasoning_content: 'hm' }],
    ['as_received', own('constructor'), undefined],
    ['as_received', undefined, { reasoning_content: 'hm' }],
    ['as_received', { q: { reasoning_field: 'reasoning_content' } }, undefined],
    ['as_received', { anthropic: { signature: 's' } }, undefined],
    ['none', own('reasoning_content'), undefined],
    ['reasoning', { anthropic: { signature: 's' } }, { reasoning: 'hm' }],
    ['reasoning_content', own('reasoning'), { reasoning_content: 'hm' }],
  ])('%s, from %j: %j', (history, data, members) => {
    expect(sent(history, data)).toEqual(members);
  });

  test('is an empty member where the server requires one and no model thought', () => {
    const rules = { ...STRICT, reasoning: { provider: 'p', history: 'reasoning_content' as const } };
    const call = { id: 'c', name: 's.t', arguments: {} };
    expect(prompt([{ role: 'assistant', tool_calls: [call] }], rules)).toMatchObject([
      { providerOptions: { openaiCompatible: { reasoning_content: '' } } },
    ]);
    expect(prompt([{ role: 'assistant', content: 'x' }], rules)[0]).not.toHaveProperty('providerOptions');
  });

  test('alone, and not to be sent, leaves no empty message', () => {
    expect(sent('none', undefined, [])).toBeUndefined();
  });
});

describe('a tool’s message', () => {
  const asked: Message = { role: 'assistant', tool_calls: [{ id: 'c', name: 's.t', arguments: {} }] };
  const answer = (more: Partial<Extract<Message, { role: 'tool' }>>) =>
    prompt([asked, { role: 'tool', tool_call_id: 'c', content: 'x', ...more }])[1];

  test('goes to the call it answers', () => {
    const head = { type: 'tool-result', toolCallId: 'c', toolName: 's_t' };
    expect(answer({})).toEqual({
      role: 'tool',
      content: [{ ...head, output: { type: 'text', value: 'x' } }],
    });
    expect(answer({ is_error: true })?.content).toEqual([
      { ...head, output: { type: 'error-text', value: 'x' } },
    ]);
    const parts = [
      { type: 'text' as const, text: 't' },
      { type: 'image' as const, url: 'https://example.org/a.png' },
    ];
    expect(answer({ content: parts })?.content).toEqual([
      {
        ...head,
        output: {
          type: 'content',
          value: [
            { type: 'text', text: 't' },
            {
              type: 'file',
              mediaType: 'image',
              data: { type: 'url', url: new URL('https://example.org/a.png') },
            },
          ],
        },
      },
    ]);
  });

  // Google: "the number of function response parts is equal to the number of function call parts" of one content.
  test('joins the other results of the same calls, in the order of the calls', () => {
    const calls = ['c', 'd', 'e'].map((id) => ({ id, name: 's.t', arguments: {} }));
    const result = (tool_call_id: string): Message => ({ role: 'tool', tool_call_id, content: 'x' });
    const round = [{ role: 'assistant', tool_calls: calls } as Message, ...['e', 'c', 'd'].map(result)];
    const read = prompt([...round, ...round]);
    expect(read.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant', 'tool']);
    for (const index of [1, 3])
      expect(read[index]?.content).toMatchObject(['c', 'd', 'e'].map((toolCallId) => ({ toolCallId })));
  });

  test('that answers no call is refused at its place', () => {
    const read = promptOf([asked, { role: 'tool', tool_call_id: 'other', content: 'x' }], {
      names,
      rules: OPEN_RULES,
    });
    expect(read).toMatchObject({ ok: false, path: '[1].tool_call_id' });
  });
});

describe('instructions', () => {
  const messages: Message[] = [
    { role: 'system', content: 'one' },
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'ho' },
    { role: 'system', content: 'two' },
  ];

  test('at the beginning are one message, the directive’s own before all', () => {
    expect(prompt(messages, {}, 'zero')).toMatchObject([
      { role: 'system', content: 'zero\n\none' },
      { role: 'user' },
      { role: 'assistant' },
      { role: 'system', content: 'two' },
    ]);
  });

  test('in the middle become user messages where a provider accepts no others', () => {
    expect(prompt(messages, STRICT)).toMatchObject([
      { role: 'system', content: 'one' },
      { role: 'user' },
      { role: 'assistant' },
      { role: 'user', content: [{ type: 'text', text: '<system>\ntwo\n</system>' }] },
    ]);
  });

  test('without text are left out', () => {
    const empty: Message = { role: 'system', content: '' };
    expect(prompt([empty, { role: 'user', content: 'hi' }, empty], STRICT)).toMatchObject([{ role: 'user' }]);
  });
});

// The templates of Mistral and Gemma raise "conversation roles must alternate" (vllm-project/vllm#6862).
describe('user messages in a row', () => {
  const image = { type: 'image' as const, url: 'https://example.org/a.png' };
  const messages: Message[] = [
    { role: 'user', content: 'a' },
    { role: 'user', content: [{ type: 'text', text: 'b' }, image] },
    { role: 'system', content: 'c' },
  ];

  test('are one where roles must alternate, with all their parts', () => {
    expect(prompt(messages, STRICT)).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a\n\nb' },
          { type: 'file' },
          { type: 'text', text: '<system>\nc\n</system>' },
        ],
      },
    ]);
  });

  // Mistral: "Unexpected role 'user' after role 'tool'" (pydantic/pydantic-ai#1210, zed-industries/zed#31736).
  test('after the results of tools follow a message of the assistant where a provider requires one', () => {
    const round: Message[] = [
      { role: 'assistant', tool_calls: [{ id: 'c', name: 's.t', arguments: {} }] },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
      { role: 'user', content: 'stop' },
    ];
    const rules = { ...STRICT, assistantAfterTools: true };
    const roles = (given: Partial<PromptRules>) => prompt(round, given).map(({ role }) => role);
    expect(roles(rules)).toEqual(['assistant', 'tool', 'assistant', 'user']);
    expect(roles(STRICT)).toEqual(['assistant', 'tool', 'user']);
  });

  test('stay apart where they need not', () => {
    expect(prompt(messages).map(({ role }) => role)).toEqual(['user', 'user', 'system']);
  });
});
