/** The slots of a lane: never more in than there are, nobody forgotten.
 *  It must never need a clock. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLaneSlots } from '../../../src/worker/lane-slots.ts';

test('who finds no slot waits for one, in the order of asking', async () => {
  const slots = createLaneSlots(1);
  const order: string[] = [];
  expect(slots.tryEnter()).toBe(true);
  expect(slots.hasRoom()).toBe(false);
  expect(slots.tryEnter()).toBe(false);
  const waiting = ['a', 'b'].map(async (name) => {
    await slots.enter();
    order.push(name);
  });
  slots.release();
  await waiting[0];
  expect(order).toEqual(['a']);
  expect(slots.tryEnter()).toBe(false);
  slots.release();
  await waiting[1];
  slots.release();
  expect(slots.hasRoom()).toBe(true);
});

test('whatever the order of coming and going, the slots are never overdrawn and never lost', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom('enter', 'try', 'leave')),
      async (concurrency, steps) => {
        const slots = createLaneSlots(concurrency);
        let inside = 0;
        const entering: Promise<void>[] = [];
        for (const step of steps) {
          if (step === 'leave' && inside > 0) {
            inside -= 1;
            slots.release();
          } else if (step === 'try') inside += slots.tryEnter() ? 1 : 0;
          else if (step === 'enter') entering.push(slots.enter().then(() => void (inside += 1)));
          await Promise.resolve();
          await Promise.resolve();
          await Promise.resolve();
          expect(inside).toBeLessThanOrEqual(concurrency);
        }
        const asked = entering.length;
        for (let left = 0; left < asked + concurrency; left += 1) {
          await new Promise(setImmediate);
          if (inside === 0) break;
          inside -= 1;
          slots.release();
        }
        await Promise.all(entering);
        for (; inside > 0; inside -= 1) slots.release();
        for (let slot = 0; slot < concurrency; slot += 1) expect(slots.tryEnter()).toBe(true);
        expect(slots.tryEnter()).toBe(false);
      },
    ),
  );
});
