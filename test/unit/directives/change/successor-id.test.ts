/** The id of a redriven directive: contains the number of the redrive, and always stays a valid id.
 *  It must give the same answer for the same id: a repeat after a crash makes the same directive. */
import { expect, test } from 'vitest';
import { identifierSchema } from '../../../../src/contract/identifiers.ts';
import { successorId } from '../../../../src/directives/change/successor-id.ts';

test.each([
  ['a', 'a.redrive-1'],
  ['a.redrive-1', 'a.redrive-2'],
  ['a.redrive-9', 'a.redrive-10'],
  ['a.redrive-x', 'a.redrive-x.redrive-1'],
])('after %s comes %s', (id, successor) => {
  expect(successorId(id)).toBe(successor);
});

test('ids that are too long to extend stay distinct and valid', () => {
  const stem = 'x'.repeat(127);
  const first = successorId(`${stem}1`);
  const second = successorId(`${stem}2`);
  expect(first).not.toBe(second);
  expect(successorId(`${stem}1`)).toBe(first);
  for (const id of [first, second, successorId(first)]) expect(identifierSchema.parse(id)).toBe(id);
});
