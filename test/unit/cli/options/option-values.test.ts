/** Times and arguments as people type them. Independent of the zone of the machine: local times are compared with local parts. */
import { describe, expect, test } from 'vitest';
import { pastInstantOption } from '../../../../src/cli/options/option-values.ts';
import { toolArguments } from '../../../../src/cli/options/tool-arguments.ts';

const NOW = new Date(2026, 10, 23, 9, 15, 30);
const local = (day: number, hours: number, minutes = 0): string =>
  new Date(2026, 10, day, hours, minutes).toISOString();

test.each([
  ['30m', new Date(NOW.getTime() - 1_800_000).toISOString()],
  ['2h ago', new Date(NOW.getTime() - 7_200_000).toISOString()],
  ['7d', new Date(NOW.getTime() - 604_800_000).toISOString()],
  ['today', local(23, 0)],
  ['yesterday', local(22, 0)],
  ['noon', local(22, 12)],
  ['9:00', local(23, 9)],
  ['14:30', local(22, 14, 30)],
  ['2026-11-22T14:30', local(22, 14, 30)],
  ['2026-11-22', '2026-11-22T00:00:00.000Z'],
  ['2026-11-22T14:30+02:00', '2026-11-22T12:30:00.000Z'],
])('%s', (text, instant) => {
  expect(pastInstantOption(text, NOW)).toBe(instant);
});

test.each(['24:00', '2x', 'tomorrow', 'constructor', '', '12', '99999999d', '2026-99-99'])(
  '%j is refused with all forms',
  (text) => {
    expect(() => pastInstantOption(text, NOW)).toThrow(/30m.*noon, today, yesterday.*14:30.*2027-01-31/);
  },
);

describe('arguments of a tool call', () => {
  const properties = {
    a: { type: 'number' },
    name: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' } },
    point: { type: 'object' },
    limit: { type: ['integer', 'null'] },
    sure: { type: 'boolean' },
  };
  const read = (...words: string[]): unknown => toolArguments(words, { type: 'object', properties });

  test('are one JSON object, or words with the types of the schema', () => {
    expect(read()).toEqual({});
    expect(read('{"a": 1}')).toEqual({ a: 1 });
    expect(read('a=1.5', 'name=42', 'sure=true', 'limit=null', 'point={"x": 1}')).toEqual({
      a: 1.5,
      name: '42',
      sure: true,
      limit: null,
      point: { x: 1 },
    });
    expect(read('name=a=b', 'tags=x', 'tags=y')).toEqual({ name: 'a=b', tags: ['x', 'y'] });
    expect(read('tags=["x"]')).toEqual({ tags: ['x'] });
  });

  test('that the schema does not name are JSON, or else texts', () => {
    expect(read('other=7', 'text=seven', 'long=12345678901234567890')).toEqual({
      other: 7,
      text: 'seven',
      long: '12345678901234567890',
    });
    expect(toolArguments(['__proto__=1'], {})).toEqual(JSON.parse('{"__proto__": 1}'));
  });

  test.each([
    [['a=x'], '"a" must be of type number, not "x"'],
    [['a=1', 'a=2'], '"a" is given 2 times'],
    [['a=1', '{}'], '"{}" is no argument of the form key=value'],
    [['{oops'], 'The arguments are not JSON'],
    [['[1]'], 'The arguments are not a JSON object'],
  ])('%j are refused', (words, message) => {
    expect(() => read(...words)).toThrow(message);
  });
});
