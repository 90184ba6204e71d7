/** The deadline of an attempt beside the limits of its call. It must not measure time: only who comes first counts. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { after } from '../../../../src/worker/attempt/execute.ts';

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

test.each([
  ['at once', 10, 5],
  ['in its whole seconds', 1_020, 500],
  ['in what is left of them', 1_020, 1_010],
])('one that is ended %s does not come', (_when, ms, endedAt) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const fired: string[] = [];
  const end = after(ms, () => fired.push('deadline'));
  after(ms, () => fired.push('another'));
  vi.advanceTimersByTime(endedAt);
  end();
  vi.advanceTimersByTime(2_000);
  expect(fired).toEqual(['another']);
});
