/** Texts of a hash that are parsed once.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import { createParsedFields } from '../../../../src/store/catalog/tool-catalog.ts';

test('a text is parsed again only when it has changed, and a field that is gone is not kept', async () => {
  const parse = createParsedFields(async (text) => JSON.parse(text) as object);
  const [first, other] = await parse([
    ['a', '{"n":1}'],
    ['__proto__', '{"n":2}'],
  ]);
  const [same, changed] = await parse([
    ['a', '{"n":1}'],
    ['__proto__', '{"n":3}'],
  ]);
  expect(same?.[1]).toBe(first?.[1]);
  expect([other, changed]).toEqual([
    ['__proto__', { n: 2 }],
    ['__proto__', { n: 3 }],
  ]);
  expect(await parse([])).toEqual([]);
  expect((await parse([['a', '{"n":1}']]))[0]?.[1]).not.toBe(first?.[1]);
});
