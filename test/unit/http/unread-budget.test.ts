/** Which readers are cut when too much is left unread.
 *  It must not need a connection. */
import { expect, test } from 'vitest';
import { createUnreadBudget } from '../../../src/http/unread-budget.ts';

test('readers that wait longest are cut until the rest fits; a reader that has read does not count', () => {
  const cuts: string[] = [];
  const budget = createUnreadBudget(100);
  const hold = (name: string, bytes: number) => budget.hold(bytes, () => void cuts.push(name));
  hold('first', 40);
  const second = hold('second', 40);
  second();
  const third = hold('third', 50);
  expect(cuts).toEqual([]);
  hold('fourth', 30);
  expect(cuts).toEqual(['first']);
  third();
  third();
  hold('fifth', 70);
  expect(cuts).toEqual(['first']);
  hold('sixth', 90);
  expect(cuts).toEqual(['first', 'fourth', 'fifth']);
});

test('a reader above the whole budget is cut itself', () => {
  const cuts: string[] = [];
  createUnreadBudget(100).hold(101, () => void cuts.push('only'));
  expect(cuts).toEqual(['only']);
});
