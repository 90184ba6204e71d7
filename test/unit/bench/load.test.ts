/** The closed loop of the benchmark.
 *  It must not depend on how fast the machine is. */
import { expect, test } from 'vitest';
import { runLoad } from '../../../bench/load.ts';

test('each operation runs once, and no more than the concurrency at a time', async () => {
  const seen: number[] = [];
  let running = 0;
  let most = 0;
  const result = await runLoad(
    async (index) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      seen.push(index);
      running -= 1;
    },
    25,
    4,
  );
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, index) => index));
  expect(most).toBe(4);
  expect(result.count).toBe(25);
});

test('an operation that fails fails the run', async () => {
  const failing = async (index: number): Promise<void> => {
    await new Promise(setImmediate);
    if (index === 3) throw new Error('no answer');
  };
  await expect(runLoad(failing, 10, 2)).rejects.toThrow('no answer');
});
