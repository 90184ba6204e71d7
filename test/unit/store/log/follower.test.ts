/** How a follower handles announcements that are lost, repeated, out of order or too many.
 *  It must never be saved by the follower's regular check of the log: the clock stands still. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import { createFollower } from '../../../../src/store/log/follower.ts';
import type { Journal } from '../../../../src/store/request/journal.ts';
import type { Listener } from '../../../../src/store/log/announcement.ts';
import type { Subscriber } from '../../../../src/store/log/subscriber.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A log in which each signal is announced, or not. */
function setUp() {
  const log: Signal[] = [];
  let hear: Listener = () => {};
  let closed = false;
  const journal = {
    log: {
      read: async (_id: string, after: number, { limit }: { limit: number }) => ({
        signals: log.slice(after, after + limit),
        more: log.length > after + limit,
      }),
    },
    head: async () => ({ status: closed ? 'closed' : 'open', sequence: log.length }),
  } as unknown as Journal;
  const listen: Subscriber['listen'] = async (_id, listener) => {
    hear = listener;
    return () => {};
  };
  const { follow } = createFollower(journal, { listen } as Subscriber);
  const announce = (sequence: number, signal: Signal | null = log[sequence - 1] ?? null): void =>
    hear({ sequence, closed: closed && sequence === log.length, signal, characters: 100 });
  const append = (count: number): void => {
    for (let added = 0; added < count; added += 1)
      log.push({ sequence: log.length + 1, type: 'x', data: {} } as unknown as Signal);
  };
  const end = (): void => {
    append(1);
    closed = true;
    announce(log.length);
  };
  return { signals: follow('r'), append, announce, end, gap: () => hear(null) };
}

const settle = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** Reads on while `during` happens, until the request closes. */
async function followed({ signals }: ReturnType<typeof setUp>, during: () => Promise<void> | void) {
  const seen: number[] = [];
  const reading = (async () => {
    for await (const { sequence } of signals) seen.push(sequence);
  })();
  await settle();
  await during();
  await reading;
  return seen;
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

type Log = ReturnType<typeof setUp>;

test.each<[string, number, (log: Log) => Promise<void> | void]>([
  [
    'announcements in their order are taken as they come',
    5,
    async (log) => {
      for (const sequence of upTo(5)) {
        log.append(1);
        log.announce(sequence);
        await settle();
      }
    },
  ],
  [
    'signals lost before an announcement are read from the log',
    4,
    (log) => {
      log.append(4);
      log.announce(4);
    },
  ],
  [
    'an announcement without its signal causes a read of the log',
    1,
    (log) => {
      log.append(1);
      log.announce(1, null);
    },
  ],
  [
    'a repeated and a late announcement change nothing',
    3,
    (log) => {
      log.append(3);
      for (const sequence of [2, 1, 2, 3, 3, 1]) log.announce(sequence);
    },
  ],
])('%s', async (_what, count, happens) => {
  const log = setUp();
  const seen = await followed(log, async () => {
    await happens(log);
    await settle();
    log.end();
  });
  expect(seen).toEqual(upTo(count + 1));
});

test('after a gap the log is read, though nothing more is announced', async () => {
  const log = setUp();
  log.append(1);
  await log.signals.next();
  const next = log.signals.next();
  await settle();
  log.append(1);
  log.gap();
  expect((await next).value).toMatchObject({ sequence: 2 });
});

test('more announcements than are held are read from the log', async () => {
  const log = setUp();
  log.append(1);
  expect((await log.signals.next()).value).toMatchObject({ sequence: 1 });
  log.append(999);
  for (let sequence = 2; sequence <= 1_000; sequence += 1) log.announce(sequence);
  for (let sequence = 2; sequence <= 1_000; sequence += 1) {
    expect((await log.signals.next()).value).toMatchObject({ sequence });
  }
});
