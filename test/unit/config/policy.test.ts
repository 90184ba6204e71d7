/** Rules that an operator may not write: each is refused at the start, at its place. It must never evaluate one. */
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config/config.ts';

describe('the policy', () => {
  const messageOf = (when: string): string => {
    const policy = { rules: [{ name: 'r', when, decision: 'deny' }] };
    try {
      parseConfig({ policy }, { source: 'adjutant.json', directory: '.', environment: {} });
    } catch (error) {
      return String(error);
    }
    return '';
  };

  test.each([
    ['tool ==', 'is no expression'],
    ['tool == 5', 'is no expression'],
    ['nothing == 1', 'is no expression'],
    ['args.text.matches("(a+)+$")', 'calls matches()'],
    ['args.a.all(x, args.b.all(y, x == y))', 'within another loop'],
    ['counters.unknown > 1', 'reads the counter "unknown"'],
    ['tool', 'gives a string'],
  ])('refuses the start with the place of `%s`', (when, why) => {
    expect(messageOf(when)).toContain(why);
    expect(messageOf(when)).toContain('policy.rules[0].when');
  });

  /** The longest evaluation is that of a text of this size, with one loop at a time over the bounded values of a call. */
  test.each([
    ['text', `tool == "${'x'.repeat(2_048)}"`, 'is longer than 2048 characters'],
    ['terms', Array.from({ length: 180 }, () => "kind==''").join('||'), 'is no expression'],
    ['depth', `${'!('.repeat(40)}true${')'.repeat(40)}`, 'is no expression'],
    ['lists that it builds', 'args.a.map(x, x).size() > 1', 'calls map()'],
    ['lists that it chooses from', 'args.a.filter(x, x > 1).size() > 1', 'calls filter()'],
    ['loops in a loop', 'args.a.exists(x, x.all(y, y > 1))', 'within another loop'],
    // One search of this form took 0.5 s of processor time, and a longer one a second.
    ['searches for data', 'args.a.contains(args.b)', 'calls contains() with another argument'],
    ['searches in a loop', 'args.a.exists(x, args.b.contains(x))', 'calls contains() with another argument'],
    ['durations of data', "duration(args.a) > duration('1h')", 'calls duration() with another argument'],
    ['a duration without a unit', `duration('${'9'.repeat(100)}') > duration('1h')`, 'such as "1h30m"'],
    ['searches for text', `args.a.contains("${'x'.repeat(129)}")`, 'at most 128 characters'],
  ])('bounds the work of a rule by its %s', (_what, when, why) => {
    expect(messageOf(when)).toContain(why);
  });

  test('takes searches for short texts', () => {
    for (const when of [
      "['a', 'b'].exists(x, args.t.contains(x))",
      'args.t.contains(tenant)',
      "time - timestamp(args.at) > duration('1h30m')",
    ])
      expect(messageOf(when)).toBe('');
  });
});
