/** Long work in steps: other work has its turn between them, however many share the steps.
 *  It must never measure time: the clock is the test's. */
import { expect, test } from 'vitest';
import { createSteps } from '../../../../src/platform/bounds/steps.ts';

test('of those who share steps one goes on at a time, and other work has its turn between', async () => {
  let clock = 0;
  let turns = 0;
  let isOver = false;
  const other = (): void => {
    turns += 1;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  const step = createSteps(() => clock);
  const work = async (): Promise<number> => {
    await step();
    clock += 5;
    return turns;
  };
  const [first, second, third] = await Promise.all([work(), work(), work()]);
  isOver = true;
  expect(second).toBeGreaterThan(first);
  expect(third).toBeGreaterThan(second);
});

test('short work waits for nobody', async () => {
  const step = createSteps(() => 0);
  let turns = 0;
  setImmediate(() => (turns += 1));
  for (let count = 0; count < 1_000; count += 1) await step();
  expect(turns).toBe(0);
});

// Issue 33, point 7: what is given to sockets is written after the step, which its clock does not see.
test('what sockets are given ends a step as well', async () => {
  const step = createSteps(() => 0);
  let turns = 0;
  let isOver = false;
  const other = (): void => {
    turns += 1;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  for (let count = 0; count < 100; count += 1) await step(100_000);
  isOver = true;
  expect(turns).toBeGreaterThan(10);
});
