/** What happens to a call when its clients leave: at once, after a grace, or not at all.
 *  It must not wait for real time. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DirectiveRefused, problem } from '../../../../../src/contract/problem.ts';
import { createDepartures, type SharedWaits } from '../../../../../src/http/mcp/calls/departures.ts';

const PLACE = { requestId: 'r', id: 'call' };
const GRACE_MS = 30_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function scene(cancel = vi.fn(async () => {})) {
  const stop = new AbortController();
  const onError = vi.fn();
  const options = { cancel, shared: null, graceMs: GRACE_MS, stop: stop.signal, onError };
  const departures = createDepartures(options);
  return { cancel, stop, onError, join: () => departures.join(PLACE) };
}

test('an explicit cancel acts at once', () => {
  const { cancel, join } = scene();
  join()('cancelled');
  expect(cancel).toHaveBeenCalledOnce();
});

test('a cancel that overtakes its submission is repeated', async () => {
  const cancel = vi.fn().mockRejectedValueOnce(new Error('not found')).mockResolvedValue(undefined);
  const { join, onError } = scene(cancel);
  join()('cancelled');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(cancel).toHaveBeenCalledTimes(2);
  expect(onError).not.toHaveBeenCalled();
});

test('a lost connection cancels after the grace, and not before', async () => {
  const { cancel, join } = scene();
  join()('lost');
  await vi.advanceTimersByTimeAsync(GRACE_MS - 1);
  expect(cancel).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(cancel).toHaveBeenCalledOnce();
});

test.each(['done', 'lost'] as const)(
  'a client that comes back within the grace keeps the call: %s',
  async (how) => {
    const { cancel, join } = scene();
    join()('lost');
    await vi.advanceTimersByTimeAsync(GRACE_MS / 2);
    const leave = join();
    await vi.advanceTimersByTimeAsync(GRACE_MS * 2);
    expect(cancel).not.toHaveBeenCalled();
    leave(how);
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    expect(cancel).toHaveBeenCalledTimes(how === 'lost' ? 1 : 0);
  },
);

test('a call goes on while another client waits for it', async () => {
  const { cancel, join } = scene();
  const [first, second] = [join(), join()];
  first('lost');
  await vi.advanceTimersByTimeAsync(GRACE_MS * 2);
  second('done');
  await vi.advanceTimersByTimeAsync(GRACE_MS * 2);
  expect(cancel).not.toHaveBeenCalled();
});

test('a cancel outlives an outage of minutes', async () => {
  const cancel = vi.fn().mockRejectedValue(new Error('Redis is unreachable'));
  const { join, onError } = scene(cancel);
  join()('cancelled');
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(onError).not.toHaveBeenCalled();
  cancel.mockReset().mockResolvedValue(undefined);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(cancel).toHaveBeenCalledOnce();
});

test.each([
  ['of a call that was never accepted', new DirectiveRefused(problem('not_found')), 60_000, 5],
  ['that never succeeds', new Error('Redis is unreachable'), 60 * 60_000, 64],
])('a cancel %s is given up, and reported', async (_, error, afterMs, tries) => {
  const { cancel, join, onError } = scene(vi.fn().mockRejectedValue(error));
  join()('cancelled');
  await vi.advanceTimersByTimeAsync(afterMs);
  expect(cancel).toHaveBeenCalledTimes(tries);
  expect(onError).toHaveBeenCalledExactlyOnceWith(error);
});

test('a client that cancels ends nothing that another one waits for', async () => {
  const { cancel, join } = scene();
  const [first, second] = [join(), join()];
  first('cancelled');
  expect(cancel).not.toHaveBeenCalled();
  second('cancelled');
  expect(cancel).toHaveBeenCalledOnce();
});

test('a cancel that is to be repeated ends with the client that joins the call', async () => {
  const { cancel, join } = scene(vi.fn().mockRejectedValue(new Error('Redis is unreachable')));
  join()('cancelled');
  join();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(cancel).toHaveBeenCalledOnce();
});

test('a service that stops cancels nothing', async () => {
  const { cancel, join, stop, onError } = scene();
  join()('lost');
  stop.abort();
  await vi.advanceTimersByTimeAsync(GRACE_MS * 2);
  expect([cancel.mock.calls, onError.mock.calls]).toEqual([[], []]);
});

/** As `createCallWaits`, by the clock of the test. */
function memoryWaits() {
  const marks = new Map<string, { who: string; until: number }>();
  const redis = { isAway: false };
  const reach = (): void => {
    if (redis.isAway) throw new Error('Redis is unreachable');
  };
  const mark = vi.fn<SharedWaits['mark']>(async (requestId, who, forMs) => {
    reach();
    marks.set(requestId, { who, until: Date.now() + forMs });
  });
  const markedBy = async (requestId: string): Promise<string | null> => {
    reach();
    const known = marks.get(requestId);
    return known !== undefined && known.until > Date.now() ? known.who : null;
  };
  return { marks, redis, mark, markedBy };
}

/** Two APIs that share their waits. */
function twoApis() {
  const waits = memoryWaits();
  const cancel = vi.fn(async () => {});
  const options = { cancel, shared: waits, graceMs: GRACE_MS, stop: new AbortController().signal };
  const api = () => createDepartures({ ...options, onError: vi.fn() });
  const [first, second] = [api(), api()];
  return { cancel, waits, joinFirst: () => first.join(PLACE), joinSecond: () => second.join(PLACE) };
}

describe('a client that comes back to another API', () => {
  test('keeps its call, also in the last moment of the grace, and as long as it waits', async () => {
    const { cancel, joinFirst, joinSecond } = twoApis();
    joinFirst()('lost');
    await vi.advanceTimersByTimeAsync(GRACE_MS - 1);
    const leave = joinSecond();
    await vi.advanceTimersByTimeAsync(10 * GRACE_MS);
    expect(cancel).not.toHaveBeenCalled();
    leave('done');
    await vi.advanceTimersByTimeAsync(10 * GRACE_MS);
    expect(cancel).not.toHaveBeenCalled();
  });

  test('has a whole grace there too, and its call is cancelled once', async () => {
    const { cancel, joinFirst, joinSecond } = twoApis();
    const [leaveFirst, leaveSecond] = [joinFirst(), joinSecond()];
    leaveFirst('lost');
    await vi.advanceTimersByTimeAsync(GRACE_MS / 2);
    leaveSecond('lost');
    await vi.advanceTimersByTimeAsync(GRACE_MS - 1);
    expect(cancel).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    expect(cancel).toHaveBeenCalledOnce();
  });

  test('keeps its call over an outage in which every mark is lost', async () => {
    const { cancel, waits, joinFirst, joinSecond } = twoApis();
    joinFirst()('lost');
    joinSecond();
    waits.redis.isAway = true;
    await vi.advanceTimersByTimeAsync(60_000);
    waits.marks.clear();
    waits.redis.isAway = false;
    await vi.advanceTimersByTimeAsync(10 * GRACE_MS);
    expect(cancel).not.toHaveBeenCalled();
  });

  test('nobody comes back: the call is cancelled, and a short wait has marked nothing before', async () => {
    const { cancel, waits, joinFirst } = twoApis();
    const leave = joinFirst();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(waits.mark).not.toHaveBeenCalled();
    leave('lost');
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    expect(cancel).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(cancel).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(10 * GRACE_MS);
    expect(waits.mark).toHaveBeenCalledOnce();
  });
});
