// Messages of model directives: what is accepted, and at which place the rest is refused.
// Must never accept a message that no provider accepts.
import { describe, expect, test } from 'vitest';
import { parseSubmission } from '../../src/contract/directive/directive.ts';
import { embeddingsSchema } from '../../src/contract/model/embedding.ts';
import { messageSchema } from '../../src/contract/model/message.ts';
import { assistantMessage, type ModelTurn, modelTurnSchema } from '../../src/contract/model/model-turn.ts';

const image = { type: 'image', url: 'https://example.org/a.png' };
const file = { type: 'file', data: 'aGk=', media_type: 'application/pdf' };
const toolCall = { id: 'c', name: 'a.b', arguments: {} };
const provider_data = { google: { signature: 's' } };
const calling = (more: object) => ({ role: 'assistant', tool_calls: [{ ...toolCall, ...more }] });

function pathsOf(...context: unknown[]): string[] {
  const parsed = parseSubmission({ type: 'llm_stream', model: 'p:m', context });
  return parsed.ok ? [] : parsed.errors.map(({ path }) => path);
}

describe('a message', () => {
  test.each([
    { role: 'system', content: 'x' },
    { role: 'user', content: '' },
    { role: 'user', content: [{ type: 'text', text: 'x' }, image] },
    { role: 'user', content: [{ ...file, filename: 'a.pdf' }] },
    { role: 'assistant', content: 'x' },
    { role: 'assistant', tool_calls: [toolCall] },
    { role: 'assistant', content: null, tool_calls: [{ ...toolCall, provider_data }] },
    { role: 'assistant', content: [{ type: 'thinking', text: 'x', provider_data }] },
    { role: 'tool', tool_call_id: 'c', content: '{"ok":true}', is_error: false, name: 'a.b' },
    { role: 'tool', tool_call_id: 'c', content: [image] },
  ])('%j is kept unchanged', (message) => {
    expect(messageSchema.parse(message)).toStrictEqual(message);
    expect(pathsOf(message)).toEqual([]);
  });

  test.each<[unknown, string]>([
    [{ content: 'x' }, 'context[0].role'],
    [{ role: 'robot', content: 'x' }, 'context[0].role'],
    [{ role: 'user' }, 'context[0].content'],
    [{ role: 'user', content: 'x', extra: 1 }, 'context[0].extra'],
    [{ role: 'user', content: [{ type: 'text' }] }, 'context[0].content[0].text'],
    [{ role: 'user', content: [{ type: 'video' }] }, 'context[0].content[0].type'],
    [{ role: 'user', content: [{ ...image, data: 'aGk=' }] }, 'context[0].content[0].url'],
    [{ role: 'user', content: [{ type: 'image' }] }, 'context[0].content[0].url'],
    [{ role: 'user', content: [{ type: 'image', url: 'file:///etc/passwd' }] }, 'context[0].content[0].url'],
    [{ role: 'user', content: [{ type: 'image', data: 'not base64!' }] }, 'context[0].content[0].data'],
    [{ role: 'user', content: [{ type: 'file', data: 'aGk=' }] }, 'context[0].content[0].media_type'],
    [{ role: 'user', content: [{ type: 'thinking', text: 'x' }] }, 'context[0].content[0].type'],
    [{ role: 'system', content: [] }, 'context[0].content'],
    [{ role: 'tool', content: 'x' }, 'context[0].tool_call_id'],
    [calling({ arguments: '{}' }), 'context[0].tool_calls[0].arguments'],
    [calling({ type: 'function' }), 'context[0].tool_calls[0].type'],
  ])('%j is refused at its place', (message, path) => {
    expect(pathsOf(message)).toEqual([path]);
  });

  test('inside an object of messages is refused at its place too', () => {
    const context = { messages: [{ role: 'user', content: 'x' }, { role: 'user' }] };
    const parsed = parseSubmission({ type: 'llm_stream', model: 'p:m', context });
    expect(parsed).toMatchObject({ ok: false, errors: [{ path: 'context.messages[1].content' }] });
  });
});

test.each([
  [{ type: 'llm_stream', reasoning: 'hard' }, 'reasoning'],
  [{ type: 'llm_generate', idle_timeout_ms: 0 }, 'idle_timeout_ms'],
  [{ type: 'llm_stream', tools: [{ name: 'a', parameters: {} }] }, 'tools[0].parameters'],
  [{ type: 'llm_stream', context: { messages: [], state: {} } }, 'context.state'],
  [{ type: 'llm_embed', texts: 'x', encoding_format: 'int8' }, 'encoding_format'],
])('%j is refused at %s', (fields, path) => {
  const context = fields.type === 'llm_embed' ? {} : { context: [] };
  const parsed = parseSubmission({ model: 'p:m', ...context, ...fields });
  expect(parsed.ok ? [] : parsed.errors.map((error) => error.path)).toEqual([path]);
});

describe('a turn', () => {
  const turn: ModelTurn = {
    type: 'tool_calls',
    text: 'x',
    thinking: '',
    tool_calls: [toolCall],
    usage: null,
    model: 'm',
    finish_reason: 'tool_calls',
    duration_ms: 1,
    first_chunk_ms: null,
  };

  test('is a message of the history, which a directive accepts', () => {
    expect(modelTurnSchema.parse(turn)).toStrictEqual(turn);
    expect(messageSchema.parse(assistantMessage(turn))).toStrictEqual({
      role: 'assistant',
      content: 'x',
      tool_calls: [toolCall],
    });
  });

  test('with parts is a message of these parts, and one without calls has none', () => {
    const content_parts = [{ type: 'thinking' as const, text: 'hm' }];
    expect(assistantMessage({ ...turn, tool_calls: [], content_parts })).toStrictEqual({
      role: 'assistant',
      content: content_parts,
    });
  });
});

test.each([
  ['float', [[1, 2]], true],
  ['base64', ['AACAPw=='], true],
  ['float', ['AACAPw=='], false],
  ['base64', [[1, 2]], false],
])('embeddings as %s: %j', (encoding_format, embeddings, valid) => {
  const counted = { count: 1, dimensions: 2, usage: null, model: 'm', duration_ms: 1 };
  const payload = { encoding_format, embeddings, ...counted };
  expect(embeddingsSchema.safeParse(payload).success).toBe(valid);
});
