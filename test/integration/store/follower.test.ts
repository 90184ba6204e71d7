/** Following a request's log on a real Redis: every sequence once and in order, whatever the channel loses.
 *  It must never use its own reading of the log as what a follower saw. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { createFollower } from '../../../src/store/log/follower.ts';
import { draftSignal } from '../../../src/store/log/signal-draft.ts';
import { createSubscriber } from '../../../src/store/log/subscriber.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { untilHolds } from '../../support/eventually.ts';
import { endOf, originOf } from '../../support/journal.ts';
import { openStore } from '../../support/store.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

/** Larger signals are announced by number only. */
const OVER_THE_LIMIT = 70_000;

const redis = useRedis();
const open = eachTest(openFollower);

async function openFollower() {
  const open = await openStore(redis.url);
  const listening = connectRedis(redis.url, 'subscriber');
  const errors: Error[] = [];
  const onError = (error: Error): void => void errors.push(error);
  const subscriber = createSubscriber({ listening, publishing: open.connection, onError }, open.keys);
  const { journal } = open;

  /** An open directive under a claim, which may append signals and end. */
  async function running(request_id: string) {
    const call = await open.accepted({ request_id });
    const ref = await open.claimed(call);
    return {
      say: (message = '') => journal.log.append(ref, [progressOf(call, message)]),
      end: () => journal.finish(ref, 'succeeded', [endOf(call)]),
    };
  }

  return {
    ...open,
    listening,
    errors,
    running,
    subscriber,
    follower: createFollower(journal, subscriber),
    [Symbol.asyncDispose]: async () => {
      subscriber.close();
      await closeRedis(listening);
      await open[Symbol.asyncDispose]();
    },
  };
}

function progressOf(call: ToolExec, message: string) {
  const data = { call_id: call.id, tool_name: call.tool_name, progress: 1, message, metadata: {} };
  return draftSignal('ai.tool.progress', data, originOf(call));
}

async function all(signals: AsyncIterable<Signal>): Promise<Signal[]> {
  const read: Signal[] = [];
  for await (const signal of signals) read.push(signal);
  return read;
}

function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

const sequences = (signals: readonly Signal[]): number[] => signals.map(({ sequence }) => sequence);

describe('a follower', () => {
  test('sees every signal of twenty concurrent writers once and in order, large ones too', async () => {
    const request_id = randomUUID();
    const writers = await Promise.all(Array.from({ length: 20 }, () => open.running(request_id)));
    const following = [0, 7, 20].map((after) => all(open.follower.follow(request_id, { after })));
    await Promise.all(
      writers.map(async (writer, index) => {
        for (let turn = 0; turn < 30; turn += 1) {
          await writer.say((turn + index) % 10 === 0 ? 'x'.repeat(OVER_THE_LIMIT) : 'small');
        }
      }),
    );
    await Promise.all(writers.map((writer) => writer.end()));
    const total = 20 * (1 + 30 + 1);
    const [whole, later, latest] = await Promise.all(following);
    expect(sequences(whole ?? [])).toEqual(upTo(total));
    expect(sequences(later ?? [])).toEqual(upTo(total, 8));
    expect(sequences(latest ?? [])).toEqual(upTo(total, 21));
    expect(whole).toEqual(
      (await open.journal.log.read(request_id, 0, { limit: 1_000, bytes: 10_000_000 })).signals,
    );
  });

  test('misses nothing when its subscription is killed again and again', async () => {
    const request_id = randomUUID();
    const writer = await open.running(request_id);
    const seen: Signal[] = [];
    const following = (async () => {
      for await (const signal of open.follower.follow(request_id)) seen.push(signal);
    })();
    for (let round = 0; round < 5; round += 1) {
      for (let turn = 0; turn < 10; turn += 1) await writer.say();
      const back = new Promise((resolve) => {
        open.listening.once('ready', resolve);
      });
      const killed = await open.connection.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      expect(killed).toBe(1);
      for (let turn = 0; turn < 10; turn += 1) await writer.say();
      await back;
    }
    await writer.end();
    await following;
    expect(sequences(seen)).toEqual(upTo(102));
  });

  test('goes on over messages that cannot be read', async () => {
    const request_id = randomUUID();
    const writer = await open.running(request_id);
    const signals = open.follower.follow(request_id);
    expect((await signals.next()).value).toMatchObject({ sequence: 1 });
    const rest = all(signals);
    const unreadable = [
      '',
      'x',
      '2',
      '{"sequence":2',
      '{"sequence":2,"type":"x"}',
      '{"sequence":-1}',
      '{"sequence":1e400,"closed":true}',
    ];
    for (const text of unreadable) await open.connection.spublish(open.keys.log(request_id), text);
    await writer.say();
    await writer.end();
    expect(sequences(await rest)).toEqual([2, 3]);
    expect(open.errors.map(({ message }) => message)).toEqual([expect.stringContaining('cannot be read')]);
  });

  test('that reads slowly reads from the log what it could not hold', async () => {
    const request_id = randomUUID();
    const writer = await open.running(request_id);
    const signals = open.follower.follow(request_id);
    expect((await signals.next()).value).toMatchObject({ sequence: 1 });
    await Promise.all(Array.from({ length: 1_000 }, () => writer.say()));
    await writer.end();
    expect(sequences(await all(signals))).toEqual(upTo(1_002, 2));
  });

  test('goes on when the request is opened again before it saw the close', async () => {
    const request_id = randomUUID();
    const first = await open.running(request_id);
    const signals = open.follower.follow(request_id);
    expect((await signals.next()).value).toMatchObject({ sequence: 1 });
    const reopened = Promise.withResolvers<void>();
    const ended = await open.subscriber.listen(request_id, (heard) => {
      if (heard?.sequence === 3) reopened.resolve();
    });
    expect(await first.end()).toMatchObject({ closed: true });
    const second = await open.running(request_id);
    // What the follower has heard, it has not read: it reads when it is asked.
    await reopened.promise;
    ended();
    const rest = all(signals);
    expect(await second.end()).toMatchObject({ closed: true });
    expect(sequences(await rest)).toEqual([2, 3, 4]);
  });

  test('ends with the close it saw, and resumes where it was when the request is opened again', async () => {
    const request_id = randomUUID();
    const first = await open.running(request_id);
    const before = all(open.follower.follow(request_id));
    await first.end();
    expect(sequences(await before)).toEqual([1, 2]);
    const second = await open.running(request_id);
    const resumed = all(open.follower.follow(request_id, { after: 2 }));
    await second.end();
    expect(sequences(await resumed)).toEqual([3, 4]);
  });

  test('without waiting ends with the last signal so far', async () => {
    const request_id = randomUUID();
    const writer = await open.running(request_id);
    await Promise.all(Array.from({ length: 300 }, () => writer.say()));
    expect(sequences(await all(open.follower.follow(request_id, { follow: false })))).toEqual(upTo(301));
  });

  test('is ended by its signal while it waits', async () => {
    const request_id = randomUUID();
    await open.running(request_id);
    const stop = new AbortController();
    const signals = open.follower.follow(request_id, { signal: stop.signal });
    await signals.next();
    const waiting = signals.next();
    stop.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  test('of an unknown request ends at once', async () => {
    expect(await all(open.follower.follow(randomUUID()))).toEqual([]);
  });
});

test('a thousand followers of one request share one subscription, which ends after them', async () => {
  const request_id = randomUUID();
  const writer = await open.running(request_id);
  const stop = new AbortController();
  const followers = Array.from({ length: 1_000 }, () =>
    open.follower.follow(request_id, { signal: stop.signal }),
  );
  await Promise.all(followers.map((signals) => signals.next()));
  const channel = open.keys.log(request_id);
  const subscriptions = () => open.connection.call('PUBSUB', 'SHARDNUMSUB', channel);
  expect(await subscriptions()).toEqual([channel, 1]);
  const waiting = followers.map((signals) => signals.next());
  await writer.say();
  for (const { value } of await Promise.all(waiting)) expect(value).toMatchObject({ sequence: 2 });
  const ending = followers.map((signals) => signals.next());
  stop.abort();
  await Promise.all(ending);
  await untilHolds(async () => expect(await subscriptions()).toEqual([channel, 0]));
});

// Issue 33, point 7: each follower of a request read its log for itself.
test('twenty followers of one request read each part of its log once', async () => {
  const { say, end } = await open.running('shared');
  const read = vi.spyOn(open.journal.log, 'read');
  const followers = Array.from({ length: 20 }, async () => all(open.follower.follow('shared')));
  await untilHolds(() => expect(read).toHaveBeenCalled());
  await say('x'.repeat(OVER_THE_LIMIT));
  await say('x'.repeat(OVER_THE_LIMIT));
  await end();
  for (const signals of await Promise.all(followers)) expect(sequences(signals).at(-1)).toBe(signals.length);
  const places = read.mock.calls.map(([, after]) => after);
  expect(places.length, 'with twenty reads each there would be sixty').toBeLessThan(20);
});

test('a follower that begins later reads only the end of the log that an earlier one has read', async () => {
  const { say, end } = await open.running('later');
  for (let count = 0; count < 12; count += 1) await say('x'.repeat(OVER_THE_LIMIT));
  const read = vi.spyOn(open.journal.log, 'read');
  const earlier = open.follower.follow('later');
  for (let count = 0; count < 12; count += 1) await earlier.next();
  const places = read.mock.calls.map(([, after]) => after);
  expect(places.length).toBeGreaterThan(2);
  read.mockClear();
  const later = open.follower.follow('later');
  for (let sequence = 1; sequence <= 12; sequence += 1)
    expect((await later.next()).value).toMatchObject({ sequence });
  expect(read.mock.calls.map(([, after]) => after)).toEqual(places.slice(-1));
  await end();
  expect(sequences(await all(later)).at(-1)).toBe(sequences(await all(earlier)).at(-1));
});
