/** A lane under BullMQ's own scripts and under ours, on a real Redis: BullMQ's queues and workers see the same of both.
 *  It must never look at what only one of them writes. */
import { randomUUID } from 'node:crypto';
import { createRedisBackend, type Job, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { laneBackend } from '../../../src/queue/lane-backend.ts';
import { laneScriptsOn } from '../../../src/queue/lane-scripts.ts';
import { closeRedis, connectRedis, type RedisConnection } from '../../../src/platform/redis/connection.ts';
import { replyError } from '../../../src/platform/redis/error.ts';
import { openBoard } from '../../support/bull-board.ts';
import { eventually } from '../../support/eventually.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();

const store = shared(async () => {
  const connection = connectRedis(redis.url, 'commands');
  await connection.ping();
  return { connection, [Symbol.asyncDispose]: () => closeRedis(connection) };
});

const theirs = (): typeof createRedisBackend => createRedisBackend;
const ours = (connection: RedisConnection) => laneBackend(connection, () => true);

/** A lane of one queue, and workers of it whose jobs end when they are let go. */
function openLane(backendOf: (connection: RedisConnection) => typeof createRedisBackend) {
  const { connection } = store;
  const lane = `lane-${randomUUID()}`;
  const options = { connection, prefix: '{lanes}', skipVersionCheck: true };
  const backend = backendOf(connection);
  const queue = new Queue(lane, options, backend);
  const workers: Worker[] = [];
  const taken: string[] = [];
  const waiting = new Map<string, () => void>();

  function work(concurrency: number, holds = false): Worker {
    const process = async (job: Job): Promise<null> => {
      taken.push(`${job.id}:${(job.data as { text: string }).text}`);
      if (holds) await new Promise<void>((resolve) => waiting.set(job.id ?? '', resolve));
      return null;
    };
    const removed = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 }, drainDelay: 1 };
    const worker = new Worker(lane, process, { ...options, ...removed, concurrency }, backend);
    worker.on('error', () => {});
    workers.push(worker);
    return worker;
  }

  return {
    queue,
    taken,
    work,
    add: (id: string, more: object = {}) =>
      queue.add('directive', { text: `of ${id}` }, { jobId: id, ...more }),
    letGo: (id: string) => waiting.get(id)?.(),
    counts: async () => {
      const { wait, active, delayed, prioritized } = await queue.getJobCounts(
        'wait',
        'active',
        'delayed',
        'prioritized',
      );
      return { waiting: (wait ?? 0) + (prioritized ?? 0), active, delayed };
    },
    /** What jobs leave; each queue keeps the others. */
    left: async () => {
      const keys = await (connection as Redis).keys(`{lanes}:${lane}:*`);
      return keys
        .map((key) => key.split(':').slice(2).join(':'))
        .filter((key) => !/^(meta|id|events|marker|stalled-check|limiter|taken:.*)$/.test(key));
    },
    async [Symbol.asyncDispose]() {
      for (const end of waiting.values()) end();
      await Promise.all(workers.map((worker) => worker.close()));
      await queue.close();
    },
  };
}

/** What a Bull Board shows of a lane, as far as it is looked at. */
interface BoardQueue {
  isPaused: boolean;
  hasWorkers: boolean | null;
  counts: Record<string, number>;
  jobs: { id: string; delay: number }[];
}

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

const NONE = { waiting: 0, active: 0, delayed: 0 };

describe.each([
  ["BullMQ's scripts", theirs],
  ['our scripts', ours],
])('a lane under %s', (_name, backendOf) => {
  test('takes its jobs in order, counts them by what they wait for, and leaves nothing of them', async () => {
    await using lane = openLane(backendOf);
    for (const id of ['a/1', 'a/2', 'a/3']) await lane.add(id);
    expect(await lane.counts()).toEqual({ ...NONE, waiting: 3 });
    await lane.queue.addJobLog('a/1', 'a line of another tool');
    expect((await lane.queue.getWaiting()).map(({ id, name, data }) => [id, name, data])).toContainEqual([
      'a/1',
      'directive',
      { text: 'of a/1' },
    ]);
    lane.work(2, true);
    await eventually(() => lane.taken).toEqual(['a/1:of a/1', 'a/2:of a/2']);
    expect(await lane.counts()).toEqual({ waiting: 1, active: 2, delayed: 0 });
    expect((await lane.queue.getActive()).map(({ processedOn }) => typeof processedOn)).toEqual([
      'number',
      'number',
    ]);
    lane.letGo('a/1');
    await eventually(() => lane.taken).toHaveLength(3);
    for (const id of ['a/2', 'a/3']) lane.letGo(id);
    await eventually(() => lane.counts()).toEqual(NONE);
    await eventually(() => lane.left()).toEqual([]);
  });

  test('has a job once, however often it is added', async () => {
    await using lane = openLane(backendOf);
    await lane.add('a/1');
    await lane.queue.addBulk(
      [1, 2].map((n) => ({ name: 'directive', data: { text: 'other' }, opts: { jobId: `a/${n}` } })),
    );
    expect(await lane.counts()).toEqual({ ...NONE, waiting: 2 });
    expect((await lane.queue.getJob('a/1'))?.data).toEqual({ text: 'of a/1' });
  });

  test('keeps the order of many that are added together, behind one that was there', async () => {
    await using lane = openLane(backendOf);
    await lane.add('a/130');
    const ids = Array.from({ length: 130 }, (_, index) => `a/${index + 1}`);
    await lane.queue.addBulk(ids.map((jobId) => ({ name: 'directive', data: {}, opts: { jobId } })));
    const waiting = await lane.queue.getJobs('waiting', 0, -1, true);
    expect(waiting.map(({ id }) => id)).toEqual(['a/130', ...ids.slice(0, -1)]);
  });

  test('is not taken from while it is paused', async () => {
    await using lane = openLane(backendOf);
    await lane.queue.pause();
    await lane.add('a/1');
    lane.work(1);
    await lane.work(1).waitUntilReady();
    expect(await lane.queue.isPaused()).toBe(true);
    expect(await lane.counts()).toEqual({ ...NONE, waiting: 1 });
    expect(lane.taken).toEqual([]);
    await lane.queue.resume();
    await eventually(() => lane.taken).toEqual(['a/1:of a/1']);
  });

  test('keeps its limits: jobs at once over all workers, and jobs in a period', async () => {
    await using lane = openLane(backendOf);
    await lane.queue.setGlobalConcurrency(1);
    for (const id of ['a/1', 'a/2']) await lane.add(id);
    lane.work(2, true);
    lane.work(2, true);
    await eventually(() => lane.taken).toEqual(['a/1:of a/1']);
    expect(await lane.counts()).toEqual({ waiting: 1, active: 1, delayed: 0 });
    lane.letGo('a/1');
    await eventually(() => lane.taken).toEqual(['a/1:of a/1', 'a/2:of a/2']);
    lane.letGo('a/2');
    await eventually(() => lane.counts()).toEqual(NONE);
    await lane.queue.removeGlobalConcurrency();
    await lane.queue.setGlobalRateLimit(1, 3_600_000);
    for (const id of ['a/3', 'a/4']) await lane.add(id);
    await eventually(() => lane.taken).toHaveLength(3);
    expect(await lane.queue.getRateLimitTtl()).toBeGreaterThan(0);
    expect((await lane.counts()).waiting).toBe(1);
  });

  test('takes what is delayed when it is due, and what has a priority', async () => {
    await using lane = openLane(backendOf);
    lane.work(1);
    await lane.add('a/1', { delay: 60 });
    await lane.add('a/2', { delay: 3_600_000 });
    await eventually(() => lane.taken).toEqual(['a/1:of a/1']);
    await lane.add('a/3', { priority: 2 });
    await eventually(() => lane.taken).toHaveLength(2);
    expect(await lane.counts()).toEqual({ ...NONE, delayed: 1 });
  });

  test('is read and paused by a Bull Board', async () => {
    await using lane = openLane(backendOf);
    const stranger = new Queue(lane.queue.name, { connection: store.connection, prefix: '{lanes}' });
    const ask = openBoard(stranger);
    const read = async (status: string) => {
      const query = { activeQueue: stranger.name, status, page: '1', jobsPerPage: '10' };
      const { queues } = (await ask('get', '/api/queues', query)) as { queues: BoardQueue[] };
      return queues[0];
    };
    lane.work(1, true);
    await lane.add('a/1');
    await eventually(() => lane.taken).toHaveLength(1);
    for (const id of ['a/2', 'a/3']) await lane.add(id);
    await lane.add('a/4', { delay: 3_600_000 });
    const active = await read('active');
    expect(active).toMatchObject({ isPaused: false, hasWorkers: true });
    expect(active?.counts).toMatchObject({ active: 1, waiting: 2, delayed: 1, failed: 0, completed: 0 });
    expect(active?.jobs).toMatchObject([
      { id: 'a/1', name: 'directive', data: { text: 'of a/1' }, attempts: 0 },
    ]);
    expect((await read('waiting'))?.jobs.map(({ id }) => id).toSorted()).toEqual(['a/2', 'a/3']);
    expect((await read('delayed'))?.jobs).toMatchObject([{ id: 'a/4', delay: 3_600_000 }]);
    const job = (id: string) => ask('get', '/api/queues/:queueName/:jobId', {}, { jobId: id });
    expect([await job('a/1'), await job('a/2')]).toMatchObject([{ status: 'active' }, { status: 'waiting' }]);
    await ask('put', '/api/queues/:queueName/pause');
    lane.letGo('a/1');
    await eventually(() => lane.counts()).toEqual({ waiting: 2, active: 0, delayed: 1 });
    expect([(await read('waiting'))?.isPaused, lane.taken]).toEqual([true, ['a/1:of a/1']]);
    await ask('put', '/api/queues/:queueName/resume');
    await eventually(() => lane.taken).toEqual(['a/1:of a/1', 'a/2:of a/2']);
    await stranger.close();
  });

  test('does not lose a job whose lock another worker has by now', async () => {
    await using lane = openLane(backendOf);
    await lane.add('a/1');
    lane.work(1, true);
    await eventually(() => lane.taken).toHaveLength(1);
    await store.connection.set(lane.queue.toKey('a/1:lock'), 'another', 'PX', 60_000);
    lane.letGo('a/1');
    await lane.add('a/2');
    await eventually(() => lane.taken).toHaveLength(2);
    expect(await lane.queue.getJobState('a/1')).toBe('active');
    await store.connection.del(lane.queue.toKey('a/1:lock'));
  });
});

describe('our scripts', () => {
  test('recognise the end of a job that a lost connection repeats: no second job is taken', async () => {
    await using lane = openLane(ours);
    for (const id of ['a/1', 'a/2', 'a/3']) await lane.add(id);
    const { connection } = store;
    const backend = ours(connection)(lane.queue.name, { ...lane.queue.opts, connection });
    const [job] = await backend.moveToActive('token');
    const end = async () =>
      (await backend.moveToCompleted({ ...job, queue: null }, null, undefined as never, 'token', true))
        .result as unknown[];
    const [first, repeated] = [await end(), await end()];
    expect([first[1], repeated[1]]).toEqual(['a/2', 'a/2']);
    expect(await lane.counts()).toEqual({ waiting: 1, active: 1, delayed: 0 });
    // So many that were taken since are looked at.
    const newer = Array.from({ length: 127 }, (_, number) => `newer/${number}`);
    await connection.lpush(lane.queue.toKey('active'), ...newer);
    expect((await end())[1]).toBe('a/2');
    await connection.lpush(lane.queue.toKey('active'), 'newest/1');
    expect(await end()).toBeUndefined();
    expect(await lane.counts()).toEqual({ waiting: 1, active: 129, delayed: 0 });
  });

  test('take a job whose options somebody has broken, and the next one', async () => {
    await using lane = openLane(ours);
    for (const id of ['a/1', 'a/2']) await lane.add(id);
    await store.connection.hset(lane.queue.toKey('a/1'), 'opts', '{');
    lane.work(1);
    await eventually(() => lane.taken).toEqual(['a/1:of a/1', 'a/2:of a/2']);
  });

  test('answer once that nothing waits, without a look, and look again when something was added', async () => {
    await using lane = openLane(ours);
    await lane.add('a/1');
    const { connection } = store;
    const options = { ...lane.queue.opts, connection: (connection as Redis).duplicate() };
    const backend = ours(connection)(lane.queue.name, options, { withBlockingConnection: true });
    const take = async (): Promise<unknown> => (await backend.moveToActive('token'))[1];
    expect(await take()).toBe('a/1');
    await lane.add('a/2');
    // As it was at the take; whoever relies on it waits for the marker next.
    expect(await take()).toBe(0);
    expect(await backend.waitForJob(5)).toMatchObject({ member: '0' });
    expect(await take()).toBe('a/2');
    await lane.add('a/3');
    // The marker is seen while the empty look is remembered.
    expect(await backend.waitForJob(5)).toMatchObject({ member: '0' });
    expect(await take()).toBe('a/3');
    await backend.close();
  });

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
    ['job-take', "return { 'none', 0 }", /a job is not as it was added/],
    ['job-done', "return { 'done' }", /jobs that were done are still there/],
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

test('who takes what Redis refuses does not ask again at once', async () => {
  const { connection } = store;
  const run = async () =>
    Promise.reject(replyError("OOM command not allowed when used memory > 'maxmemory'."));
  const options = { connection, prefix: '{lanes}', skipVersionCheck: true };
  const backend = laneBackend(connection, () => true, run)(`lane-${randomUUID()}`, options);
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const refused = expect(backend.moveToActive('worker:0')).rejects.toThrow('OOM');
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  vi.runAllTimers();
  await refused;
});
