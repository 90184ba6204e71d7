/** Ends that are recorded elsewhere: the engine of the run's last turn is told at once; if it does nothing, another goes on.
 *  It must not let an engine and a worker share a process. */
import { Queue } from 'bullmq';
import { describe, expect, test } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { RUN_ENTRY } from '../../../src/queue/run-wake.ts';
import { connectRedis } from '../../../src/redis/connection.ts';
import type { Execute } from '../../support/executors.ts';
import { echo, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { useRedis } from '../../support/shared.ts';
import { script } from '../../support/scripted-strategy.ts';

const redis = useRedis();
const APART = { tellsEngine: true };
const QUERY = script({ tools: ['a'] }, { tools: ['b', 'c'] });

describe('the end of a directive of a run', () => {
  test('goes to the engine that took its last turn, without a job', async () => {
    await using engines = await openEngineTest(redis.url);
    const woken: string[] = [];
    await engines.startWorker(echo, async (requestId) => void woken.push(requestId), APART);
    await engines.startEngine();
    await engines.client.start({ request_id: 'told', agent: 'scripted', query: QUERY });
    const log = await engines.ended('told');
    expect(log.at(-1)?.type).toBe('ai.request.completed');
    expect(woken).toEqual([]);
  });

  test('that cannot be read is no more than a lost one, and is reported once', async () => {
    await using engines = await openEngineTest(redis.url);
    const { connection, keys, errors } = engines;
    const head = 'garbage 9 1 1 5';
    const unreadable = ['', 'x', `${head}`, `${head} {newer`, `${head} 5`, `${head} {"sequence":0}`];
    const woken: string[] = [];
    const execute: Execute = async ({ tool_name }) => {
      const channels = (await connection.call('PUBSUB', 'CHANNELS', `${keys.prefix}:inbox:*`)) as string[];
      expect(channels).toHaveLength(1);
      for (const text of unreadable) await connection.publish(String(channels[0]), text);
      return { result: okResult(tool_name) };
    };
    await engines.startWorker(execute, async (requestId) => void woken.push(requestId), APART);
    await engines.startEngine();
    await engines.client.start({ request_id: 'garbage', agent: 'scripted', query: QUERY });
    expect((await engines.ended('garbage')).at(-1)?.type).toBe('ai.request.completed');
    expect(woken).toEqual([]);
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('cannot be read')]);
  });

  test('wakes the run by a job where that engine is gone', async () => {
    await using engines = await openEngineTest(redis.url);
    const first = await engines.startEngine();
    const woken: string[] = [];
    await engines.startWorker(
      async ({ tool_name }) => {
        if (tool_name === 'a') await first.stop();
        return { result: okResult(tool_name) };
      },
      async (requestId, version) => {
        woken.push(requestId);
        await engines.wake(requestId, version);
      },
      APART,
    );
    await engines.client.start({ request_id: 'gone', agent: 'scripted', query: QUERY });
    await eventually(() => woken).toEqual(['gone']);
    await engines.startEngine();
    expect((await engines.ended('gone')).at(-1)?.type).toBe('ai.request.completed');
  });

  test('waits in the lane of runs while that is paused', async () => {
    await using engines = await openEngineTest(redis.url);
    const { connection, keys } = engines;
    const lane = new Queue('run', { connection, prefix: lanePrefix(keys.prefix, 'run') });
    await engines.startWorker(async ({ tool_name }) => {
      if (tool_name === 'a') await lane.pause();
      return { result: okResult(tool_name) };
    });
    await engines.startEngine();
    await engines.client.start({ request_id: 'paused', agent: 'scripted', query: QUERY });
    await eventually(() => lane.isPaused()).toBe(true);
    await eventually(() => lane.getWaitingCount()).toBe(1);
    expect(await engines.journal.directive('paused', 's1.b')).toBeNull();
    await lane.resume();
    expect((await engines.ended('paused')).at(-1)?.type).toBe('ai.request.completed');
    await lane.close();
  });

  test('is looked after by the sweeper where that engine hears, and does nothing', async () => {
    await using engines = await openEngineTest(redis.url);
    const { connection, keys, index } = engines;
    const deaf = connectRedis(redis.url, 'subscriber');
    await deaf.subscribe('deaf');
    const first = await engines.startEngine();
    const entry = `hung/${RUN_ENTRY}`;
    await engines.startWorker(async ({ tool_name }) => {
      if (tool_name === 'a') {
        await first.stop();
        await connection.hset(keys.request('hung')[0], '@run|engine', 'deaf');
      }
      return { result: okResult(tool_name) };
    });
    await engines.client.start({ request_id: 'hung', agent: 'scripted', query: QUERY });
    await connection.zadd(keys.sweep, 'XX', Date.now() + 60_000, entry);
    const dueIn = async () => Number(await connection.zscore(keys.sweep, entry)) - Date.now();
    await eventually(async () => (await dueIn()) <= 5_000).toBe(true);
    // As it is then.
    await connection.zadd(keys.sweep, 'XX', 1, entry);
    await engines.startEngine();
    await engines.sweeper().start();
    expect((await engines.ended('hung')).at(-1)?.type).toBe('ai.request.completed');
    await eventually(() => index.size()).toBe(0);
    deaf.disconnect();
  });
});
