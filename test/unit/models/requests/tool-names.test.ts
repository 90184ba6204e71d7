/** Tool names converted for a provider, and back.
 *  It must never lose a name. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toolNames } from '../../../../src/models/requests/tool-names.ts';

const WIRE_NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
/** Names that are close to each other, where collisions are likely. */
const name = fc.oneof(
  fc.stringMatching(/^[a-c._ -]{1,4}$/),
  fc.stringMatching(/^x[._]{1,70}[a-b]$/),
  fc.string({ minLength: 1, maxLength: 256, unit: 'grapheme' }),
  fc.constantFrom('json', '_json', 'json_', 'a.b', 'a_b', 'a b', 'a__b', '1', '_1'),
);

describe('any tools', () => {
  test('have names that providers take, all different, and come back as they were', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 30 }), (given) => {
        const names = toolNames(given);
        const wireNames = given.map((one) => names.encode(one));
        for (const wireName of wireNames) expect(wireName).toMatch(WIRE_NAME);
        expect(new Set(wireNames).size).toBe(given.length);
        expect(wireNames.map((wireName) => names.decode(wireName))).toEqual(given);
      }),
      { numRuns: 2_000 },
    );
  });

  test('have the same names in whatever order they are listed', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 10 }), (given) => {
        const [there, back] = [toolNames(given), toolNames(given.toReversed())];
        expect(given.map((one) => there.encode(one))).toEqual(given.map((one) => back.encode(one)));
      }),
    );
  });
});

test.each([
  ['everything.get-sum', 'everything_get-sum'],
  ['plain_name', 'plain_name'],
  ['1st', '_1st'],
])('%s alone is %s', (given, wireName) => {
  expect(toolNames([given]).encode(given)).toBe(wireName);
});

test('a name that is taken is told apart by a digest', () => {
  const names = toolNames(['a.b', 'a_b']);
  expect(names.encode('a_b')).toBe('a_b');
  expect(names.encode('a.b')).toMatch(/^a_b_[0-9a-f]{8}$/);
});

test('a tool with the reserved name for structured output is not mistaken for it', () => {
  expect(toolNames(['json']).encode('json')).not.toBe('json');
});

test('a name that a model made up comes back unchanged', () => {
  expect(toolNames(['a.b']).decode('delete_everything')).toBe('delete_everything');
});
