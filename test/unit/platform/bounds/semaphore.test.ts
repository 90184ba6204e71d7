/** Places of a semaphore: never overdrawn, in order of arrival, none lost.
 *  It must never need a clock. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSemaphore } from '../../../../src/platform/bounds/semaphore.ts';

test('gives out no more places than there are', () => {
  const semaphore = createSemaphore(2);
  expect([semaphore.tryTake(), semaphore.tryTake(), semaphore.tryTake()]).toEqual([true, true, false]);
  expect(semaphore.hasRoom()).toBe(false);
  semaphore.release();
  expect(semaphore.hasRoom()).toBe(true);
  expect([semaphore.tryTake(), semaphore.tryTake()]).toEqual([true, false]);
});

test('takes a free place without a wait', async () => {
  const semaphore = createSemaphore(1);
  const taken = semaphore.take();
  expect(semaphore.hasRoom()).toBe(false);
  expect(await taken).toBe(true);
});

test('hands a place to the caller that has waited longest, before any new one', async () => {
  const semaphore = createSemaphore(1);
  semaphore.tryTake();
  const order: string[] = [];
  const first = semaphore.take().then(() => order.push('first'));
  const second = semaphore.take().then(() => order.push('second'));
  semaphore.release();
  expect(semaphore.tryTake()).toBe(false);
  await first;
  expect([order, semaphore.isAwaited()]).toEqual([['first'], true]);
  semaphore.release();
  await second;
  expect(semaphore.isAwaited()).toBe(false);
  expect(order).toEqual(['first', 'second']);
});

test('a caller that gives up leaves the queue', async () => {
  const semaphore = createSemaphore(1);
  semaphore.tryTake();
  const abort = new AbortController();
  const gaveUp = semaphore.take(abort.signal);
  const stayed = semaphore.take(new AbortController().signal);
  abort.abort();
  expect(await gaveUp).toBe(false);
  semaphore.release();
  expect(await stayed).toBe(true);
  semaphore.release();
  expect(await semaphore.take(AbortSignal.abort())).toBe(false);
  expect(semaphore.tryTake()).toBe(true);
});

test('a caller keeps its place when its signal fires', async () => {
  const semaphore = createSemaphore(1);
  semaphore.tryTake();
  const abort = new AbortController();
  const taken = semaphore.take(abort.signal);
  semaphore.release();
  abort.abort();
  expect(await taken).toBe(true);
  expect(semaphore.tryTake()).toBe(false);
});

test('places are never overdrawn and never lost, in any order of events', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom('take', 'try', 'give up', 'leave')),
      async (places, steps) => {
        const semaphore = createSemaphore(places);
        const signals: AbortController[] = [];
        const taking: Promise<void>[] = [];
        let inside = 0;
        for (const step of steps) {
          if (step === 'try') inside += semaphore.tryTake() ? 1 : 0;
          else if (step === 'give up') signals.pop()?.abort();
          else if (step === 'leave' && inside > 0) {
            inside -= 1;
            semaphore.release();
          } else if (step === 'take') {
            const abort = new AbortController();
            signals.push(abort);
            taking.push(semaphore.take(abort.signal).then((taken) => void (inside += taken ? 1 : 0)));
          }
          await new Promise(setImmediate);
          expect(inside).toBeLessThanOrEqual(places);
        }
        for (const abort of signals) abort.abort();
        await Promise.all(taking);
        for (; inside > 0; inside -= 1) semaphore.release();
        const left = Array.from({ length: places + 1 }, () => semaphore.tryTake());
        expect(left).toEqual([...Array<boolean>(places).fill(true), false]);
      },
    ),
  );
});

test('what is set aside is not in the way of the one place that is left, and counts among all places', async () => {
  const semaphore = createSemaphore(2);
  semaphore.tryTake();
  semaphore.narrow();
  expect(semaphore.tryTake()).toBe(false);
  const next = semaphore.take();
  semaphore.setAside();
  expect(await next).toBe(true);
  semaphore.setAside();
  expect(semaphore.tryTake()).toBe(false);
  semaphore.release(true);
  expect([semaphore.tryTake(), semaphore.tryTake()]).toEqual([true, false]);
  semaphore.release(true);
  expect(semaphore.tryTake()).toBe(false);
});
