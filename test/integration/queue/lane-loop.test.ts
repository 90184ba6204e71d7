/** A lane as its loop serves it, on a real Redis, under our scripts and under BullMQ's own: what BullMQ's queues and tools see and do
 *  counts alike. It must never look at what only one of them writes. */
import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { consumeLane, type JobOutcome } from '../../../src/queue/consume.ts';
import { jobId } from '../../../src/queue/job.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { laneScriptsOn } from '../../../src/queue/lane-scripts.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { openBoard } from '../../support/bull-board.ts';
import { eventually } from '../../support/eventually.ts';
import { shared, useRedis } from '../../support/shared.ts';

/** The version before the own one, in a run of its own: only BullMQ's scripts are used beside it. */
const IS_PREVIOUS = process.env['ADJUTANT_TEST_BULLMQ'] !== undefined;
const WAYS = ['our scripts', "BullMQ's scripts"] as const;

const redis = useRedis();

const store = shared(async () => {
  const connection = connectRedis(redis.url, 'commands');
  await connection.ping();
  return { connection, [Symbol.asyncDispose]: () => closeRedis(connection) };
});

interface BoardQueue {
  isPaused: boolean;
  counts: Record<string, number>;
  jobs: { id: string; name: string; data: object; delay?: number; failedReason?: string }[];
}

const NONE = { waiting: 0, active: 0, delayed: 0 };

/** A lane with a queue of BullMQ's own scripts; its loops end their jobs when they are let go. */
async function openLane(way: (typeof WAYS)[number]) {
  const prefix = `lanes-${randomUUID().slice(0, 8)}`;
  const name = 'lane';
  const connection = connectRedis(redis.url, 'commands') as Redis;
  const define = connection.defineCommand.bind(connection);
  if (way !== 'our scripts')
    connection.defineCommand = (command, definition) =>
      define(command, command === 'adjutant:job-done' ? { lua: 'return { 1 }' } : definition);
  const options = { connection: store.connection, prefix: lanePrefix(prefix, name), skipVersionCheck: true };
  const queue = new Queue(name, options);
  const errors: string[] = [];
  const taken: string[] = [];
  const waiting = new Map<string, (outcome: JobOutcome) => void>();

  async function work(concurrency: number, holds = false) {
    const consumer = consumeLane({
      lane: name,
      prefix,
      connection,
      concurrency,
      lockMs: 3_000,
      stalledCheckMs: 500,
      onError: ({ message }) => void errors.push(message),
      handle: async ({ id }) => {
        taken.push(id);
        if (!holds) return { kind: 'done' };
        return new Promise<JobOutcome>((resolve) => void waiting.set(id, resolve));
      },
    });
    await consumer.start();
    return consumer;
  }

  const consumers: Awaited<ReturnType<typeof work>>[] = [];
  return {
    queue,
    taken,
    errors,
    work: async (...how: Parameters<typeof work>) => void consumers.push(await work(...how)),
    add: async (id: string, more: object = {}) =>
      queue.add('directive', { request_id: 'r', id, digest: 'd' }, { jobId: jobId('r', id), ...more }),
    letGo: (id: string, outcome: JobOutcome = { kind: 'done' }) => waiting.get(id)?.(outcome),
    counts: async () => {
      const { wait, active, delayed, prioritized } = await queue.getJobCounts(
        'wait',
        'active',
        'delayed',
        'prioritized',
      );
      return { waiting: (wait ?? 0) + (prioritized ?? 0), active, delayed };
    },
    /** Names of the lane's keys that belong to jobs. */
    left: async () =>
      (await connection.keys(`*${prefix}*`))
        .map((key) => key.split(':').slice(3).join(':'))
        .filter((key) => !/^(meta|id|events|marker|stalled-check|limiter|taken:.*)$/.test(key)),
    [Symbol.asyncDispose]: async () => {
      for (const [, resolve] of waiting) resolve({ kind: 'done' });
      await Promise.all(consumers.map(async (consumer) => consumer.stop()));
      await queue.close();
      await closeRedis(connection);
    },
  };
}

describe.each(IS_PREVIOUS ? WAYS.slice(1) : WAYS)('a lane under %s', (way) => {
  test('takes its jobs in order, counts them by what they wait for, and leaves nothing of them', async () => {
    await using lane = await openLane(way);
    for (const id of ['a1', 'a2', 'a3']) await lane.add(id);
    await lane.work(1, true);
    for (const [index, id] of ['a1', 'a2', 'a3'].entries()) {
      await eventually(() => lane.taken.at(-1)).toBe(id);
      expect(await lane.counts()).toEqual({ ...NONE, active: 1, waiting: 2 - index });
      lane.letGo(id);
    }
    await eventually(() => lane.counts()).toEqual(NONE);
    expect(await lane.left()).toEqual([]);
  });

  test('keeps an end in an error among its failed jobs, which block no new job of their id', async () => {
    await using lane = await openLane(way);
    await lane.work(1, true);
    await lane.add('a1');
    await eventually(() => lane.taken).toEqual(['a1']);
    lane.letGo('a1', { kind: 'done', failure: 'timeout: too slow' });
    await eventually(() => lane.queue.getFailed()).toMatchObject([
      { data: { id: 'a1' }, failedReason: 'timeout: too slow', attemptsMade: 1 },
    ]);
    expect(await lane.counts()).toEqual(NONE);
    const [job] = await lane.queue.getFailed();
    await job?.retry();
    await eventually(() => lane.taken).toEqual(['a1', 'a1']);
  });

  test('is not taken from while it is paused', async () => {
    await using lane = await openLane(way);
    await lane.queue.pause();
    await lane.work(2);
    await lane.add('a1');
    await lane.queue.resume();
    await eventually(() => lane.taken).toEqual(['a1']);
    await lane.queue.pause();
    await lane.add('a2');
    expect(await lane.counts()).toEqual({ ...NONE, waiting: 1 });
    expect(lane.taken).toEqual(['a1']);
  });

  test('keeps its limits: jobs at once over all workers, and jobs in a period', async () => {
    await using lane = await openLane(way);
    await lane.queue.setGlobalConcurrency(1);
    for (const id of ['a1', 'a2']) await lane.add(id);
    await lane.work(2, true);
    await lane.work(2, true);
    await eventually(() => lane.taken).toEqual(['a1']);
    expect(await lane.counts()).toEqual({ ...NONE, active: 1, waiting: 1 });
    await lane.queue.setGlobalRateLimit(1, 3_600_000);
    await lane.queue.removeGlobalConcurrency();
    lane.letGo('a1');
    await eventually(() => lane.taken).toEqual(['a1', 'a2']);
    await lane.add('a3');
    lane.letGo('a2');
    await eventually(() => lane.counts()).toEqual({ ...NONE, waiting: 1 });
    expect(lane.taken).toEqual(['a1', 'a2']);
  });

  test('takes what is delayed when it is due, and what has a priority', async () => {
    await using lane = await openLane(way);
    await lane.work(1);
    await lane.add('a1', { delay: 200 });
    await lane.add('a2', { delay: 3_600_000 });
    await lane.add('a3', { priority: 2 });
    await eventually(() => lane.taken.toSorted()).toEqual(['a1', 'a3']);
    expect(await lane.counts()).toEqual({ ...NONE, delayed: 1 });
  });

  test('puts a job off, with the number of its next attempt', async () => {
    await using lane = await openLane(way);
    await lane.work(1, true);
    await lane.add('a1');
    await eventually(() => lane.taken).toEqual(['a1']);
    lane.letGo('a1', { kind: 'later', at: Date.now() + 3_600_000, attempt: 2 });
    await eventually(() => lane.queue.getDelayed()).toMatchObject([{ data: { id: 'a1', attempt: 2 } }]);
  });

  test('drops a job that names no directive, says so, and goes on', async () => {
    await using lane = await openLane(way);
    await lane.queue.add('other', { text: 'x' });
    await lane.add('a1');
    await lane.work(1);
    await eventually(() => lane.taken).toEqual(['a1']);
    expect(lane.errors.join()).toMatch(/names no directive/);
    await eventually(() => lane.left()).toEqual([]);
  });

  test('is read and paused by a Bull Board', async () => {
    await using lane = await openLane(way);
    const ask = openBoard(lane.queue);
    const read = async (status: string) => {
      const query = { activeQueue: lane.queue.name, status, page: '1', jobsPerPage: '10' };
      const { queues } = (await ask('get', '/api/queues', query)) as { queues: BoardQueue[] };
      return queues[0];
    };
    await lane.work(1, true);
    await lane.add('a1');
    await eventually(() => lane.taken).toHaveLength(1);
    for (const id of ['a2', 'a3']) await lane.add(id);
    await lane.add('a4', { delay: 3_600_000 });
    const active = await read('active');
    expect(active?.counts).toMatchObject({ active: 1, waiting: 2, delayed: 1, failed: 0, completed: 0 });
    expect(active?.jobs).toMatchObject([{ id: jobId('r', 'a1'), name: 'directive', data: { id: 'a1' } }]);
    await ask('put', '/api/queues/:queueName/pause');
    lane.letGo('a1');
    await eventually(() => lane.counts()).toEqual({ waiting: 2, active: 0, delayed: 1 });
    expect([(await read('waiting'))?.isPaused, lane.taken]).toEqual([true, ['a1']]);
    await ask('put', '/api/queues/:queueName/resume');
    await eventually(() => lane.taken).toEqual(['a1', 'a2']);
  });
});

test.runIf(IS_PREVIOUS)('scripts that were written for another version of BullMQ are not used', async () => {
  const connection = connectRedis(redis.url, 'commands');
  const scripts = laneScriptsOn(connection, 'previous');
  expect(await scripts.check()).toMatch(/BullMQ is \d+\.\d+\.\d+, not \d+\.\d+\.\d+/);
  expect(scripts.fit()).toBe(false);
  await closeRedis(connection);
});

describe.skipIf(IS_PREVIOUS)('the scripts of a lane', () => {
  test('are used once they have shown that they fit, and leave nothing of it', async () => {
    const connection = connectRedis(redis.url, 'commands');
    const scripts = laneScriptsOn(connection, 'checked');
    expect(await scripts.check()).toBeNull();
    expect(laneScriptsOn(connection, 'checked')).toBe(scripts);
    expect(await (connection as Redis).keys('{checked:*')).toEqual([]);
    const queue = new Queue(`fit-${randomUUID()}`, { connection, skipVersionCheck: true }, scripts.backend);
    await queue.add('directive', {}, { jobId: 'a' });
    // Whoever reads it knows that BullMQ's script was not used.
    expect(await connection.exists(queue.toKey('events'), queue.toKey('id'))).toBe(0);
    await queue.close();
    await closeRedis(connection);
  });

  test('leave nothing of their check when its connection ends meanwhile', async () => {
    for (let answers = 1; answers <= 12; answers += 1) {
      const connection = connectRedis(redis.url, 'commands') as Redis;
      await connection.ping();
      endAfter(connection, answers);
      await laneScriptsOn(connection, 'ended').check();
    }
    expect(await (store.connection as Redis).keys('{ended:*')).toEqual([]);
  });

  test('are used once Redis answers a check, also after one that failed', async () => {
    const connection = connectRedis(redis.url, 'commands') as Redis;
    // Without memory Redis refuses the whole transaction.
    await connection.config('SET', 'maxmemory', '1');
    const scripts = laneScriptsOn(connection, 'again');
    const reasons = [await scripts.check(), await scripts.check()];
    await connection.config('SET', 'maxmemory', '0');
    expect(reasons).toEqual([
      expect.stringMatching(/for now, .*EXECABORT/),
      expect.stringMatching(/for now, .*EXECABORT/),
    ]);
    await eventually(() => scripts.fit()).toBe(true);
    expect(await scripts.check()).toBeNull();
    await closeRedis(connection);
  });

  test.each([
    ['job-take', "return { 'kind', 'none' }", /a job is not as it was added/],
    ['job-done', 'return { 1 }', /jobs that were done are still there/],
    ['job-add', 'return 1 + nil', /for now, .*nil value/],
  ])('are not used when %s does not fit', async (name, lua, reason) => {
    const connection = connectRedis(redis.url, 'commands');
    const define = connection.defineCommand.bind(connection);
    connection.defineCommand = (command, definition) =>
      define(command, command === `adjutant:${name}` ? { lua } : definition);
    const { check, backend } = laneScriptsOn(connection, 'unfit');
    expect(await check()).toMatch(reason);
    const queue = new Queue(`unfit-${randomUUID()}`, { connection, skipVersionCheck: true }, backend);
    await queue.add('directive', {}, { jobId: 'a' });
    expect(await queue.getJobCounts('wait')).toEqual({ wait: 1 });
    await queue.close();
    await closeRedis(connection);
  });
});

/** The connection ends as soon as it has that many answers. */
function endAfter(connection: Redis, answers: number): void {
  const send = connection.sendCommand.bind(connection);
  let left = answers;
  connection.sendCommand = (command, ...target) => {
    const reply = send(command, ...target) as Promise<unknown>;
    void reply.then(
      () => (left -= 1) === 0 && connection.disconnect(),
      () => {},
    );
    return reply;
  };
}
