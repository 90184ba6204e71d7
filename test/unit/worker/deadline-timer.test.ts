/** The deadline of an attempt beside the limits of its call. It must not measure time: only who comes first counts. */
import { expect, test } from 'vitest';
import { after } from '../../../src/worker/deadline-timer.ts';

test('a deadline that passed while the process stood still comes before a later limit of the call', async () => {
  const fired: string[] = [];
  await new Promise<void>((resolve) => {
    after(1_010, () => fired.push('deadline'));
    setTimeout(() => {
      fired.push('limit of the call');
      resolve();
    }, 1_100);
    setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400), 900);
  });
  expect(fired).toEqual(['deadline', 'limit of the call']);
});

test.each([10, 1_020])('one that is ended does not come, with %d ms', async (ms) => {
  const fired: string[] = [];
  const end = after(ms, () => fired.push('deadline'));
  await new Promise((resolve) => setTimeout(resolve, ms > 1_000 ? 1_005 : 1));
  end();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(fired).toEqual([]);
});
