/** Starts of runs that are written elsewhere: one engine that hears is notified; where none does, or it does nothing, the run begins by a job.
 *  It must not let an engine and the starter share a process. */
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { RUN_ENTRY } from '../../../src/queue/run-wake.ts';
import { connectRedis, type RedisConnection } from '../../../src/redis/connection.ts';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { useRedis } from '../../support/shared.ts';
import { script } from '../../support/scripted-strategy.ts';

const redis = useRedis();
const QUERY = script({ tools: ['a'] });
const CHANNEL = 'somebody';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Somebody is listed as an engine, and starts of runs are one script. */
async function listed({ connection, keys, lanes }: EngineTest): Promise<void> {
  await eventually(() => lanes.scriptedBase('run')).not.toBeNull();
  await connection.zadd(keys.engines, Date.now(), CHANNEL);
}

/** Hears on the channel, and does nothing. */
async function hearing(): Promise<{ messages: string[]; listener: RedisConnection }> {
  const listener = connectRedis(redis.url, 'subscriber');
  closing.push(() => listener.disconnect());
  const messages: string[] = [];
  listener.on('message', (_channel: string, message: string) => messages.push(message));
  await listener.subscribe(CHANNEL);
  return { messages, listener };
}

function runLane({ connection, keys }: EngineTest): Queue {
  const lane = new Queue('run', { connection, prefix: lanePrefix(keys.prefix, 'run') });
  closing.unshift(() => lane.close());
  return lane;
}

async function completes(engines: EngineTest, requestId: string): Promise<void> {
  const types = (await engines.ended(requestId)).map(({ type }) => type);
  expect(types.at(-1)).toBe('ai.request.completed');
  expect(types.filter((type) => type === 'ai.request.started')).toHaveLength(1);
}

describe('the start of a run', () => {
  test('goes to an engine that hears, with all that its first turn reads, and has no job', async () => {
    await using engines = await openEngineTest(redis.url);
    const { messages } = await hearing();
    await listed(engines);
    await engines.startElsewhere('told', QUERY);
    await eventually(() => messages.length).toBe(1);
    expect(messages[0]).toMatch(/^told 0 \d+ 2 00-\w+-\w+-01 scripted \{"request_id":"told",.*\}$/);
    expect(await runLane(engines).getJobCounts('waiting', 'active')).toEqual({ waiting: 0, active: 0 });
  });

  test('is taken by the engine that hears it, whatever its size', async () => {
    await using engines = await openEngineTest(redis.url);
    const { connection, keys } = engines;
    await engines.startWorker(echo);
    const engine = await engines.startEngine();
    await eventually(() => connection.zcard(keys.engines)).toBe(1);
    const lane = runLane(engines);
    const added: string[] = [];
    const monitor = await (connection as Redis).monitor();
    closing.push(() => monitor.disconnect());
    monitor.on('monitor', (_at: string, words: string[]) => {
      if (words[0] === 'LPUSH' && words[1] === lane.toKey('wait')) added.push(String(words[2]));
    });
    await eventually(() => engines.lanes.scriptedBase('run')).not.toBeNull();
    await engines.startElsewhere('small', QUERY);
    await completes(engines, 'small');
    await engines.startElsewhere('large', `${QUERY}${' '.repeat(80_000)}`);
    await completes(engines, 'large');
    expect(added).toEqual([]);
    await engine.stop();
    expect(await connection.zcard(keys.engines)).toBe(0);
  });

  test('has a job where the engine that was to hear it is gone, which is forgotten', async () => {
    await using engines = await openEngineTest(redis.url);
    await listed(engines);
    await engines.startElsewhere('gone', QUERY);
    expect(await runLane(engines).getWaitingCount()).toBe(1);
    expect(await engines.connection.zcard(engines.keys.engines)).toBe(0);
    await engines.startWorker(echo);
    await engines.startEngine();
    await completes(engines, 'gone');
  });

  test('waits in the lane of runs while that is paused, and behind what waits there', async () => {
    await using engines = await openEngineTest(redis.url);
    const { messages } = await hearing();
    await listed(engines);
    const lane = runLane(engines);
    await lane.pause();
    await engines.startElsewhere('paused', QUERY);
    await lane.resume();
    await engines.startElsewhere('behind', QUERY);
    expect(await lane.getWaitingCount()).toBe(2);
    expect(messages).toEqual([]);
  });

  test('is looked after by the sweeper where the engine that hears it does nothing', async () => {
    await using engines = await openEngineTest(redis.url);
    const { connection, keys } = engines;
    const { listener } = await hearing();
    await listed(engines);
    await engines.startElsewhere('hung', QUERY);
    const entry = `hung/${RUN_ENTRY}`;
    expect(Number(await connection.zscore(keys.sweep, entry)) - Date.now()).toBeLessThanOrEqual(5_000);
    await listener.unsubscribe(CHANNEL);
    await engines.startWorker(echo);
    await engines.startEngine();
    // As it is then.
    await connection.zadd(keys.sweep, 'XX', 1, entry);
    await engines.sweeper().start();
    await completes(engines, 'hung');
  });

  test('that is repeated, or cannot be read, begins no second run', async () => {
    await using engines = await openEngineTest(redis.url);
    const { connection, keys } = engines;
    await engines.startWorker(echo);
    await engines.startEngine();
    await eventually(() => connection.zcard(keys.engines)).toBe(1);
    const [channel] = await connection.zrange(keys.engines, '0', '-1');
    await Promise.all([engines.startElsewhere('twice', QUERY), engines.startElsewhere('twice', QUERY)]);
    await completes(engines, 'twice');
    for (const message of ['twice 0 1 2 t a {', 'twice 0 1 2 t a {}', 'other 0 1 2 t a {}', 'other 0 1 2 t'])
      await connection.publish(String(channel), message);
    await engines.startElsewhere('after', QUERY);
    await completes(engines, 'after');
    await completes(engines, 'twice');
    expect(await engines.runs.head('other')).toBeNull();
  });
});
