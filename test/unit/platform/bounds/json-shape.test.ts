/** The shape of JSON, measured without parsing it.
 *  It must never differ from what a parser would find. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonExcess } from '../../../../src/platform/bounds/json-shape.ts';
import { anyCharacter } from '../../../support/any-character.ts';

function shapeOf(value: unknown): { depth: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 0 };
  const members = Object.values(value).map(shapeOf);
  return {
    depth: 1 + Math.max(0, ...members.map(({ depth }) => depth)),
    values: Math.max(0, members.length - 1) + 1 + members.reduce((sum, { values }) => sum + values, 0),
  };
}

const texts = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 200 }),
  fc.constantFrom('\\', '"', '\\"', '[{,'),
);

test('the limits are crossed exactly when a parser finds more', () => {
  const values = fc.letrec((tie) => ({
    node: fc.oneof({ maxDepth: 6 }, texts, fc.array(tie('node')), fc.dictionary(texts, tie('node'))),
  })).node;
  fc.assert(
    fc.property(values, (value) => {
      const json = Buffer.from(JSON.stringify(value));
      const { depth, values: count } = shapeOf(value);
      expect(jsonExcess(json, { maxDepth: depth, maxValues: count })).toBeNull();
      if (depth > 0) expect(jsonExcess(json, { maxDepth: depth - 1, maxValues: count })).toContain('deeper');
      if (count > 0) expect(jsonExcess(json, { maxDepth: depth, maxValues: count - 1 })).toContain('values');
    }),
  );
});

test('long strings with many escapes cost no more than their length', () => {
  const json = Buffer.from(
    JSON.stringify(['\\"'.repeat(2_000_000), '\\'.repeat(4_000_000), '[['.repeat(1_000)]),
  );
  expect(jsonExcess(json, { maxDepth: 1, maxValues: 3 })).toBeNull();
});

test('text that is not JSON is accepted without an error', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      jsonExcess(Buffer.from(`"${text}`), { maxDepth: 0, maxValues: 0 });
    }),
  );
});
