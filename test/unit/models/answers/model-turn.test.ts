/** An answer as a turn: arguments, reasons, parts.
 *  It must never depend on a provider. */
import { describe, expect, test } from 'vitest';
import { modelTurnSchema } from '../../../../src/contract/model/model-turn.ts';
import type { ModelAnswer } from '../../../../src/models/answers/model-answer.ts';
import { turnOf } from '../../../../src/models/answers/model-turn.ts';
import { toolNames } from '../../../../src/models/requests/tool-names.ts';

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
  expect(modelTurnSchema.parse(read)).toStrictEqual(read);
  return read;
}

/** JSON Schema 2020-12 and every provider's reference: the arguments of a call are one JSON object. */
describe('arguments', () => {
  const written = (...inputs: string[]) =>
    inputs.map((input, at) => ({ id: `c${at}`, wireName: 'a_b', input }));

  test.each([
    ['{"a":[1]}', { a: [1] }],
    ['', {}],
    [' {} ', {}],
    [
      '{"a":1.0e2,"b":-0.10000000000000000555,"c":9007199254740991}',
      { a: 100, b: -0.1, c: 9_007_199_254_740_991 },
    ],
    [String.raw`{"a":"x\ud83d","\udc00":["\ud83d\ude00"]}`, { a: 'x\u{fffd}', '\u{fffd}': ['\u{1f600}'] }],
  ])('%s are read', (input, given) => {
    expect(turn({ calls: written(input) }).tool_calls).toEqual([{ id: 'c0', name: 'a.b', arguments: given }]);
  });

  test.each([
    ['{"a":', 'not_json', 'not one JSON object'],
    ['{}""', 'not_json', 'not one JSON object'],
    ['{"a":1}{"a":1}', 'not_json', 'not one JSON object'],
    ["{'folder': 'tmp'}", 'not_json', 'not one JSON object'],
    ['{"a":1,}', 'not_json', 'not one JSON object'],
    ['```json\n{}\n```', 'not_json', 'not one JSON object'],
    ['{"a":NaN}', 'not_json', 'not one JSON object'],
    [JSON.stringify('{"a":1}'), 'not_object', 'a string, not an object'],
    ['[]', 'not_object', 'a list, not an object'],
    ['null', 'not_object', 'null, not an object'],
    ['{"__proto__":{"a":1}}', 'forbidden_key', '__proto__ is not allowed'],
    [`{"a":${'['.repeat(70)}${']'.repeat(70)}}`, 'too_deep', 'deeper than 64 levels'],
    [`{"a":${'['.repeat(500_000)}`, 'too_deep', 'deeper than 64 levels'],
    [`{"a":[${'1,'.repeat(150_000)}1]}`, 'too_many_values', 'more than 10000 values'],
    ['{"a":[{"b":9007199254740993}]}', 'inexact_number', 'a[0].b is a number that would lose digits'],
    ['{"a":9007199254740992}', 'inexact_number', 'a is a number'],
    ['{"a":1e999}', 'inexact_number', 'a is a number'],
    ['{"a":1e-999}', 'inexact_number', 'a is a number'],
  ])('%.40s are none: %s', (input, reason, message) => {
    const [call] = turn({ calls: written(input) }).tool_calls;
    expect(call).toMatchObject({ arguments: {}, arguments_error: { reason } });
    expect(call?.arguments_error?.message).toContain(message);
    expect(call?.arguments_error?.written).toBe(input.slice(0, 500));
  });

  test('of all calls of an answer have a bound together', () => {
    const half = `{"a":[${'1,'.repeat(6_000)}1]}`;
    const [first, second] = turn({ calls: written(half, half) }).tool_calls;
    expect(first).not.toHaveProperty('arguments_error');
    expect(second).toMatchObject({ arguments_error: { reason: 'too_many_values' } });
  });

  test.each([
    ['length', 'max_tokens', ''],
    ['length', 'max_tokens', '{"folder":"/var/tmp/sess'],
    ['length', 'max_tokens', '{"folder":"/"}'],
    ['content-filter', 'refusal', '{}'],
    ['other', 'incomplete', '{}'],
  ] as const)('of an answer that ended with %s (%s) are cut: %s', (unified, raw, input) => {
    const calls = turn({ finish: { unified, raw }, calls: written('{}', input) }).tool_calls;
    expect(calls).toMatchObject([
      { arguments: {}, arguments_error: { reason: 'cut' } },
      { arguments: {}, arguments_error: { reason: 'cut', written: input } },
    ]);
    expect(calls[1]?.arguments_error?.message).toContain(`after ${input.length} characters`);
  });
});

test('half a surrogate pair in text or thinking becomes U+FFFD', () => {
  const parts = [
    { type: 'thinking' as const, text: 'a\ud83d' },
    { type: 'text' as const, text: '\ude00b' },
  ];
  const read = turn({ parts });
  expect(read).toMatchObject({ text: '\u{fffd}b', thinking: 'a\u{fffd}' });
  expect(read.content_parts).toMatchObject([{ text: 'a\u{fffd}' }, { text: '\u{fffd}b' }]);
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
    expect(turn({ finish: { unified, raw }, calls: [...calls] }).finish_reason).toBe(reason);
  });
});

describe('parts', () => {
  test('are left out when they are only text', () => {
    const parts = [
      { type: 'text' as const, text: 'a' },
      { type: 'text' as const, text: 'b' },
    ];
    expect(turn({ parts })).not.toHaveProperty('content_parts');
    expect(turn({ parts }).text).toBe('ab');
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
    });
    expect(content_parts).toEqual([
      { type: 'thinking', text: '', provider_data: { p: { sealed: 'x' } } },
      { type: 'text', text: 'a' },
      { type: 'image', media_type: 'image/png', data: 'aGk=' },
      { type: 'file', media_type: 'audio/wav', url: 'https://example.org/a.wav' },
    ]);
  });
});

test('only a scripted turn is marked as scripted', () => {
  expect(turn({}, true).scripted).toBe(true);
  expect(turn({})).not.toHaveProperty('scripted');
});
