/** Converts messages of the contract for a provider's client.
 *  It must never lose content. */
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/contract/message.ts';
import { promptOf } from '../../../src/llm/prompt.ts';

const names = { encode: (name: string) => name.replaceAll('.', '_') };

function prompt(messages: Message[], systemAnywhere = true, systemPrompt?: string) {
  const read = promptOf(messages, { names, systemAnywhere, systemPrompt });
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

  test('that answers no call is refused at its place', () => {
    const read = promptOf([asked, { role: 'tool', tool_call_id: 'other', content: 'x' }], {
      names,
      systemAnywhere: true,
    });
    expect(read).toMatchObject({ ok: false, path: '[1].tool_call_id' });
  });
});

describe('instructions', () => {
  const messages: Message[] = [
    { role: 'system', content: 'one' },
    { role: 'user', content: 'hi' },
    { role: 'system', content: 'two' },
  ];

  test('come first, the directive’s own before all', () => {
    expect(prompt(messages, true, 'zero')).toMatchObject([
      { role: 'system', content: 'zero' },
      { role: 'system', content: 'one' },
      { role: 'user' },
      { role: 'system', content: 'two' },
    ]);
  });

  test('in the middle become user messages where a provider accepts no others', () => {
    expect(prompt(messages, false)).toMatchObject([
      { role: 'system', content: 'one' },
      { role: 'user' },
      { role: 'user', content: [{ type: 'text', text: '<system>\ntwo\n</system>' }] },
    ]);
  });
});
