/** An answer as a turn: arguments, reasons, parts.
 *  It must never depend on a provider. */
import { describe, expect, test } from 'vitest';
import { modelTurnSchema } from '../../../src/contract/model-turn.ts';
import type { ModelAnswer } from '../../../src/llm/model-answer.ts';
import { turnOf } from '../../../src/llm/model-turn.ts';
import { toolNames } from '../../../src/llm/tool-names.ts';

const REF = { provider: 'p', model: 'm', name: 'p:m' };
const answer: ModelAnswer = {
  parts: [{ type: 'text', text: 'x' }],
  calls: [],
  finish: { unified: 'stop', raw: 'stop' },
  usage: null,
  modelId: null,
  warnings: [],
  headers: {},
  durationMs: 1,
  firstChunkMs: null,
};

function turn(fields: Partial<ModelAnswer>, scripted = false) {
  const read = turnOf({ ...answer, ...fields }, REF, toolNames(['a.b']), { scripted });
  expect(modelTurnSchema.parse(read.turn)).toStrictEqual(read.turn);
  return read;
}

describe('arguments', () => {
  test.each([
    ['{"a":[1]}', { a: [1] }, true],
    ['', {}, true],
    ['{"a":', {}, false],
    ['[]', {}, false],
    ['"a"', {}, false],
    ['null', {}, false],
    ['{"__proto__":{"a":1}}', {}, false],
    [`{"a":${'['.repeat(100)}${']'.repeat(100)}}`, {}, false],
  ])('%s', (input, given, readable) => {
    const { turn: read, unreadableArguments } = turn({ calls: [{ id: 'c', wireName: 'a_b', input }] });
    expect(read.tool_calls).toEqual([{ id: 'c', name: 'a.b', arguments: given }]);
    expect(unreadableArguments).toEqual(readable ? [] : ['c']);
  });
});

describe('the reason to stop', () => {
  const call = { id: 'c', wireName: 'a_b', input: '{}' };

  test.each([
    ['stop', 'end_turn', [], 'stop'],
    ['length', 'max_tokens', [], 'length'],
    ['content-filter', 'refusal', [], 'content_filter'],
    ['tool-calls', 'tool_use', [call], 'tool_calls'],
    ['stop', 'STOP', [call], 'tool_calls'],
    ['length', 'max_tokens', [call], 'length'],
    ['other', 'pause_turn', [], 'unknown'],
    ['other', 'max_output_tokens', [], 'length'],
    ['other', undefined, [], 'unknown'],
  ] as const)('%s (%s), calls %j', (unified, raw, calls, reason) => {
    expect(turn({ finish: { unified, raw }, calls: [...calls] }).turn.finish_reason).toBe(reason);
  });
});

describe('parts', () => {
  test('are left out when they are only text', () => {
    const parts = [
      { type: 'text' as const, text: 'a' },
      { type: 'text' as const, text: 'b' },
    ];
    expect(turn({ parts }).turn).not.toHaveProperty('content_parts');
    expect(turn({ parts }).turn.text).toBe('ab');
  });

  test('are kept in order where there is more', () => {
    const { content_parts } = turn({
      parts: [
        { type: 'thinking', text: '', providerData: { p: { sealed: 'x' } } },
        { type: 'text', text: '' },
        { type: 'text', text: 'a' },
        { type: 'file', mediaType: 'image/png', source: { data: 'aGk=' } },
        { type: 'file', mediaType: 'audio/wav', source: { url: 'https://example.org/a.wav' } },
      ],
    }).turn;
    expect(content_parts).toEqual([
      { type: 'thinking', text: '', provider_data: { p: { sealed: 'x' } } },
      { type: 'text', text: 'a' },
      { type: 'image', media_type: 'image/png', data: 'aGk=' },
      { type: 'file', media_type: 'audio/wav', url: 'https://example.org/a.wav' },
    ]);
  });
});

test('only a scripted turn is marked as scripted', () => {
  expect(turn({}, true).turn.scripted).toBe(true);
  expect(turn({}).turn).not.toHaveProperty('scripted');
});
