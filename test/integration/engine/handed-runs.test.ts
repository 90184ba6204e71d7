/** Runs that begin are handed over to an engine that is there, with what their first turn reads, on a real Redis.
 *  It must see the commands of the lane, not what the engine says. */
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { RUN_LANE } from '../../../src/queue/run-wake.ts';
import { closeRedis, connectRedis } from '../../../src/redis/connection.ts';
import { gate } from '../../support/executors.ts';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { script } from '../../support/scripted-strategy.ts';
import { watchCommands } from '../../support/sent-commands.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

const baseOf = ({ keys }: EngineTest): string => `${lanePrefix(keys.prefix, RUN_LANE)}:${RUN_LANE}:`;
const offersOf = async (engines: EngineTest): Promise<number> =>
  (engines.connection as Redis).hlen(`${baseOf(engines)}offers`);

/** Its connection uses our scripts from then on. */
async function fitting(engines: EngineTest): Promise<void> {
  await eventually(() => engines.lanes.scriptedBase(RUN_LANE) !== null).toBe(true);
}

/** By a client whose process has no engine. */
async function begin(engines: EngineTest, query = script({ tools: ['a'] })): Promise<string> {
  const request_id = engines.newId();
  await engines.plainClient.start({ request_id, agent: 'scripted', query });
  return request_id;
}

test('a run begins without a job', async () => {
  await using engines = await openEngineTest(redis.url);
  await engines.startEngine();
  await engines.startWorker(echo);
  await fitting(engines);
  await eventually(async () => offersOf(engines)).toBe(1);
  const lane = baseOf(engines);
  const seen: string[] = [];
  onTestFinished(
    await watchCommands(redis.url, (line) => {
      if (/lua\] "(lpush|zadd|hset)"/i.test(line) && line.includes(`"${lane}`)) seen.push(line);
    }),
  );
  const types = (await engines.ended(await begin(engines))).map(({ type }) => type);
  expect(types[0]).toBe('ai.request.started');
  expect(types.at(-1)).toBe('ai.request.completed');
  expect(seen.filter((line) => !line.includes('offers'))).toEqual([]);
  // The offer of an engine is not used up.
  expect(await offersOf(engines)).toBe(1);
});

test('an engine without room enqueues a run for any', async () => {
  await using engines = await openEngineTest(redis.url);
  const held = gate();
  let writing = 0;
  await engines.startEngine({
    runsOf: (runs) => ({
      ...runs,
      async commit(...turn) {
        writing += 1;
        await held.passed;
        return runs.commit(...turn);
      },
    }),
  });
  await engines.startWorker(echo);
  await fitting(engines);
  await eventually(async () => offersOf(engines)).toBe(1);
  const first = [];
  // As many as it takes at once.
  for (let nth = 0; nth < 10; nth += 1) first.push(await begin(engines));
  await eventually(() => writing).toBe(10);
  const later = await begin(engines);
  await eventually(async () => engines.jobs(RUN_LANE)).toBe(1);
  held.open();
  for (const id of [...first, later]) await engines.ended(id);
});

test('a run that nobody heard of begins when the sweeper looks', async () => {
  await using engines = await openEngineTest(redis.url);
  const listening = connectRedis(redis.url, 'subscriber') as Redis;
  onTestFinished(async () => closeRedis(listening));
  const heard: string[] = [];
  listening.on('message', (_channel, message) => heard.push(message));
  await listening.subscribe(engines.keys.handed('deaf'));
  await fitting(engines);
  await (engines.connection as Redis).hset(`${baseOf(engines)}offers`, 'deaf 0', `0 300 0 ${Date.now()}`);
  const id = await begin(engines);
  await eventually(() => heard.length).toBe(1);
  await engines.startEngine();
  await engines.startWorker(echo);
  await engines.sweeper().start();
  await engines.ended(id);
}, 30_000);

test('an engine that stops is handed no run', async () => {
  await using engines = await openEngineTest(redis.url);
  const engine = await engines.startEngine();
  await fitting(engines);
  await eventually(async () => offersOf(engines)).toBe(1);
  await engine.stop();
  expect(await offersOf(engines)).toBe(0);
  await begin(engines);
  expect((await engines.lanes.counts(RUN_LANE)).waiting).toBe(1);
});
