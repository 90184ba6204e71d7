/** The catalog of agents on a real Redis: what engines publish, and what is left of it when they leave.
 *  It must never need an engine. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineAgent } from '../../../src/engine/define-agent.ts';
import { createAgentCatalog } from '../../../src/journal/agent-catalog.ts';
import { keySpace } from '../../../src/journal/keys.ts';
import { closeRedis, connectRedis, type RedisConnection } from '../../../src/redis.ts';
import { uniquePrefix } from '../../support/journal.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';

let redis: TestRedis;
let connection: RedisConnection;

beforeAll(async () => {
  redis = await startRedis();
  connection = connectRedis(redis.url, 'commands');
});
afterAll(async () => {
  await closeRedis(connection);
  await redis.stop();
});

test('agents are those of the engines that are there; when none is, all that were', async () => {
  const clock = { now: Date.now() };
  const catalog = createAgentCatalog(connection, keySpace(uniquePrefix()), () => clock.now);
  const names = async () =>
    [...(await catalog.read()).keys()].toSorted((left, right) => left.localeCompare(right));
  const [cook, editor] = [defineAgent({ name: 'cook' }), defineAgent({ name: 'editor' })];
  await catalog.publish([cook, editor], 'first');
  await catalog.publish([editor], 'second');
  expect(await names()).toEqual(['cook', 'editor']);
  await catalog.leave('first');
  expect(await names()).toEqual(['cook', 'editor']);
  clock.now += 20_000;
  expect(await names()).toEqual(['editor']);
  expect((await catalog.read()).get('editor')).toEqual(editor);
  await catalog.leave('second');
  clock.now += 20_000;
  expect(await names()).toEqual(['cook', 'editor']);
});

test('nothing is known where nothing was published, and publishing nothing is no fault', async () => {
  const catalog = createAgentCatalog(connection, keySpace(uniquePrefix()));
  await catalog.publish([]);
  expect(await catalog.read()).toEqual(new Map());
  await catalog.publish([], 'engine');
  expect(await catalog.read()).toEqual(new Map());
});
