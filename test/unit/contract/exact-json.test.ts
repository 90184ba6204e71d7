// Which numbers of a JSON text survive, and where the others are (RFC 8259, section 6).
// Must never depend on how fast the machine is.
import { describe, expect, test, vi } from 'vitest';
import {
  InexactJson,
  markLostNumbers,
  parseExactJson,
  parseKeepingDigits,
} from '../../../src/contract/json/exact-json.ts';
import { wellFormed, wellFormedJson } from '../../../src/contract/json/well-formed.ts';

describe('a JSON text', () => {
  test.each([
    '9007199254740991',
    '-9007199254740992',
    '1700000000000000000',
    '1e300',
    '1E+23',
    '100000000000000000000000',
    '0.1000000000000000055511151231257827',
    '3.141592653589793238462643383279',
    '-0',
    '0e99999',
    '0.000',
    '"9007199254740993"',
    String.raw`"\\"`,
    String.raw`{"a\\":"\"9007199254740993"}`,
  ])('is read where its numbers survive: %s', (text) => {
    expect(parseExactJson(text)).toEqual(JSON.parse(text));
    expect(parseKeepingDigits(text)).toEqual({ value: JSON.parse(text), kept: [] });
  });

  test.each([
    ['9007199254740993', ''],
    ['[1,-9007199254740993]', '[1]'],
    ['{"a":{"b":[{},[],{"c":12345678901234567890}]}}', 'a.b[2].c'],
    ['{"x,y":[1,2],"a":[0,1,9007199254740993.0]}', 'a[2]'],
    [String.raw`{"\"\u0061":1e400}`, String.raw`["\"a"]`],
    ['{"a":[],"b":123456789012345678.25}', 'b'],
    ['[1e-400]', '[0]'],
    [`[${'9'.repeat(5_000)}]`, '[0]'],
    [`[9007199254740992.${'0'.repeat(100_000)}1]`, '[0]'],
  ])('is refused at the place of a number that does not: %.60s', (text, path) => {
    expect(() => parseExactJson(text)).toThrow(InexactJson);
    try {
      parseExactJson(text);
    } catch (error) {
      expect((error as InexactJson).fault.path).toBe(path);
    }
  });

  test('that is no JSON is a syntax error', () => {
    expect(() => parseExactJson('[9007199254740993')).toThrow(SyntaxError);
    expect(() => parseKeepingDigits('[9007199254740993')).toThrow(SyntaxError);
  });

  test('keeps the digits of all such numbers, or of those that are asked for', () => {
    const text = '{"a":[9007199254740993,1],"b":{"c":-9007199254740993},"d":1e999}';
    const { value, kept } = parseKeepingDigits(text);
    expect(value).toEqual({ a: ['9007199254740993', 1], b: { c: '-9007199254740993' }, d: '1e999' });
    expect(kept).toEqual([['a', 0], ['b', 'c'], ['d']]);
    expect(parseKeepingDigits(text, ([first]) => first === 'b').value).toMatchObject({
      a: [9_007_199_254_740_992, 1],
      b: { c: '-9007199254740993' },
    });
  });
});

// The author of a text may be hostile: neither time nor memory is the product of numbers and of the keys above them.
describe('a text with many such numbers', () => {
  const BIG = '9007199254740993';

  test('below one key reads the key once', () => {
    const parse = vi.spyOn(JSON, 'parse');
    const { kept } = parseKeepingDigits(`{"the key":[${Array(500).fill(BIG).join()}],"b":${BIG}}`);
    const reads = parse.mock.calls.length;
    parse.mockRestore();
    expect(kept).toHaveLength(501);
    expect([kept[499], kept[500]]).toEqual([['the key', 499], ['b']]);
    expect(reads).toBeLessThan(10);
  });

  test('deep below the top keeps all digits, and names the places of the first ones', () => {
    const [depth, count] = [400, 2_000];
    const text = `${'['.repeat(depth)}${Array(count).fill(BIG).join()}${']'.repeat(depth)}`;
    const { value, kept } = parseKeepingDigits(text);
    expect(JSON.stringify(value).split(`"${BIG}"`)).toHaveLength(count + 1);
    expect(kept.length).toBeGreaterThan(100);
    expect(kept.length * depth).toBeLessThanOrEqual(500_000);
  });
});

describe('numbers that no number holds', () => {
  test.each([
    ['{"a":1e999,"b":[1e-999,-1e400]}', '{"a":9007199254740992,"b":[9007199254740992,9007199254740992]}'],
    ['{"a":0.0,"b":0e-9,"c":1e-300,"d":12345678901234567890,"e":"1e999"}', null],
  ])('are marked for a reader that would write null or 0: %s', (text, marked) => {
    expect(markLostNumbers(text)).toBe(marked ?? text);
  });
});

describe('half a surrogate pair', () => {
  test('becomes U+FFFD in values and keys; a value without one is the same', () => {
    const value = { a: ['\ud83d\ude00', 1, null], b: { c: 'x' } };
    expect(wellFormed(value)).toBe(value);
    expect(wellFormed({ 'k\udc00': ['a\ud83d', { b: true }] })).toEqual({
      'k\ufffd': ['a\ufffd', { b: true }],
    });
  });

  test.each([
    '\ud83d',
    '\ud83d\ud83d',
    'a\udc00b',
    String.raw`\ud83d`,
    '\\\ud83d',
    '\\\\\udc00',
    '\ud83d\ude00',
  ])('becomes U+FFFD in written JSON, and nothing else changes: %j', (text) => {
    expect(JSON.parse(wellFormedJson(JSON.stringify({ text })))).toEqual({ text: text.toWellFormed() });
  });
});
