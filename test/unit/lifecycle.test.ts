/** Start in order, stop in reverse, whatever fails on the way.
 *  It must never depend on what a part does. */
import { describe, expect, test, vi } from 'vitest';
import {
  deadlineIn,
  pause,
  startAll,
  type Startable,
  stopAll,
  settledWithin,
} from '../../src/platform/lifecycle.ts';

function setUp(faults: Record<string, 'start' | 'stop' | 'both'> = {}) {
  const events: string[] = [];
  const part = (name: string): Startable => {
    const act = (what: 'start' | 'stop') => async (): Promise<void> => {
      events.push(`${what} ${name}`);
      await Promise.resolve();
      if (faults[name] === what || faults[name] === 'both') throw new Error(`${name} does not ${what}`);
    };
    return { name, start: act('start'), stop: act('stop') };
  };
  return { events, parts: ['a', 'b', 'c'].map(part) };
}

test('parts start in order and stop in reverse', async () => {
  const { events, parts } = setUp();
  await startAll(parts);
  await stopAll(parts);
  expect(events).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
});

test('each part has started before the next begins', async () => {
  const order: string[] = [];
  const slow = {
    name: 'slow',
    stop: async () => {},
    start: async () => {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      order.push('slow started');
    },
  };
  const next = { name: 'next', stop: async () => {}, start: async () => void order.push('next starts') };
  await startAll([slow, next]);
  expect(order).toEqual(['slow started', 'next starts']);
});

test('an interrupt leaves the rest unstarted, to be stopped by the caller', async () => {
  const { events, parts } = setUp();
  const interrupt = new AbortController();
  const last = { ...parts[0], name: 'last', start: async () => interrupt.abort() } as Startable;
  await startAll([...parts.slice(0, 1), last, ...parts.slice(1)], interrupt.signal);
  expect(events).toEqual(['start a']);
  await stopAll(parts);
  expect(events).toEqual(['start a', 'stop c', 'stop b', 'stop a']);
});

describe('when a part fails to start', () => {
  test('every part is stopped in reverse, since each may keep the process alive', async () => {
    const { events, parts } = setUp({ b: 'start' });
    await expect(startAll(parts)).rejects.toThrow('b does not start');
    expect(events).toEqual(['start a', 'start b', 'stop c', 'stop b', 'stop a']);
  });

  test('its error is reported, even when the stop fails too', async () => {
    const { events, parts } = setUp({ a: 'stop', b: 'both' });
    await expect(startAll(parts)).rejects.toThrow('b does not start');
    expect(events).toContain('stop a');
  });
});

test('every part is stopped although one fails, and the first error is reported', async () => {
  const { events, parts } = setUp({ c: 'stop', b: 'stop' });
  await expect(stopAll(parts)).rejects.toThrow('c does not stop');
  expect(events).toEqual(['stop c', 'stop b', 'stop a']);
});

test('a part that throws instead of rejecting does not keep others from stopping', async () => {
  const { events, parts } = setUp();
  const rude: Startable = {
    name: 'rude',
    start: async () => {},
    stop: () => {
      throw new Error('rude');
    },
  };
  await expect(stopAll([...parts, rude])).rejects.toThrow('rude');
  expect(events).toEqual(['stop c', 'stop b', 'stop a']);
});

test('a stop has one deadline: a part that does not answer is abandoned and named, and the others are stopped', async () => {
  const { events, parts } = setUp();
  const left: number[] = [];
  const deaf: Startable = {
    name: 'deaf',
    start: async () => {},
    stop: (by) => {
      left.push(by?.leftMs() ?? Infinity);
      return new Promise(() => {});
    },
  };
  expect(await stopAll([deaf, ...parts, deaf], deadlineIn(20))).toEqual(['deaf', 'deaf']);
  expect(events).toEqual(['stop c', 'stop b', 'stop a']);
  expect(left[0]).toBeLessThanOrEqual(20);
  expect(left[1]).toBeLessThan(2);
});

describe('a pause', () => {
  test('is ended by its signal', async () => {
    const stop = new AbortController();
    const paused = pause(2_000_000_000, stop.signal);
    stop.abort();
    await paused;
  });

  test('does not begin when the signal was given before', async () => {
    await pause(2_000_000_000, AbortSignal.abort());
  });
});

test('what is waited for a while leaves no timer behind when it comes first, however it ends', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  await settledWithin(Promise.resolve(), 60_000);
  await settledWithin(Promise.reject(new Error('broken')), 60_000);
  expect(timers()).toBe(before);
  await settledWithin(new Promise(() => {}), 1);
  const warned = vi.spyOn(process, 'emitWarning');
  await settledWithin(new Promise(() => {}), -1);
  expect(warned).not.toHaveBeenCalled();
});
