/** The two ends of a text that is not kept.
 *  It must never depend on where the text is cut into pieces. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headOf, tailOf } from '../../../../src/platform/bounds/text-ends.ts';

test('runs of white space count as one', () => {
  const text = Buffer.from(`{${' '.repeat(1_000)}"id"\t :\r\n\r\n7${' '.repeat(1_000)}}`);
  expect(headOf(text, 256).toString()).toBe('{ "id" :\n7 }');
  expect(tailOf(text, 256).toString()).toBe('{ "id" :\n7 }');
  expect([headOf(text, 4).toString(), tailOf(text, 4).toString()]).toEqual(['{ "i', '\n7 }']);
});

test('the same ends come out of any pieces', () => {
  const pieces = fc.array(fc.string({ unit: fc.constantFrom(' ', '\n', 'a', '"', '\t') }));
  fc.assert(
    fc.property(pieces, (texts) => {
      const whole = Buffer.from(texts.join(''));
      let [head, tail] = [Buffer.alloc(0), Buffer.alloc(0)];
      for (const text of texts) {
        head = headOf(Buffer.from(text), 8, head) as typeof head;
        tail = tailOf(Buffer.from(text), 8, tail) as typeof tail;
      }
      expect([head, tail]).toEqual([headOf(whole, 8), tailOf(whole, 8)]);
    }),
  );
});
