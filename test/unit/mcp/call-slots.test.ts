/** Places on the wire: bounded, in order, never lost.
 *  It must never need a server. */
import { expect, test } from 'vitest';
import { createCallSlots } from '../../../src/mcp/call-slots.ts';

const never = new AbortController().signal;

test('gives out no more places than there are', () => {
  const slots = createCallSlots(2);
  expect([slots.tryTake(), slots.tryTake(), slots.tryTake()]).toEqual([true, true, false]);
  slots.release();
  expect([slots.tryTake(), slots.tryTake()]).toEqual([true, false]);
});

test('hands a place to who has waited longest, before anybody new', async () => {
  const slots = createCallSlots(1);
  slots.tryTake();
  const order: string[] = [];
  const first = slots.wait(never).then(() => order.push('first'));
  const second = slots.wait(never).then(() => order.push('second'));
  slots.release();
  expect(slots.tryTake()).toBe(false);
  await first;
  slots.release();
  await second;
  expect(order).toEqual(['first', 'second']);
});

test('who gives up leaves the line', async () => {
  const slots = createCallSlots(1);
  slots.tryTake();
  const abort = new AbortController();
  const gaveUp = slots.wait(abort.signal);
  const stayed = slots.wait(never);
  abort.abort();
  expect(await gaveUp).toBe(false);
  slots.release();
  expect(await stayed).toBe(true);
  expect(await slots.wait(AbortSignal.abort())).toBe(false);
  slots.release();
  expect(slots.tryTake()).toBe(true);
});
