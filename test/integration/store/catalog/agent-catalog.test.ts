/** The catalog of agents on a real Redis: what engines publish, and what remains after they deregister.
 *  It must never need an engine. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { defineAgent } from '../../../../src/agents/define-agent.ts';
import { createAgentCatalog } from '../../../../src/store/catalog/agent-catalog.ts';
import { createModelCatalog } from '../../../../src/store/catalog/model-catalog.ts';
import { type CatalogEntry, createToolCatalog } from '../../../../src/store/catalog/tool-catalog.ts';
import { keySpace } from '../../../../src/store/keys.ts';
import { closeRedis, connectRedis, type RedisConnection } from '../../../../src/platform/redis/connection.ts';
import { uniquePrefix } from '../../../support/journal.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();
let connection: RedisConnection;

beforeAll(async () => {
  connection = connectRedis(redis.url, 'commands');
});
afterAll(async () => {
  await closeRedis(connection);
});

test('the catalog holds the agents of present engines, or of all engines when none is present', async () => {
  const clock = { now: Date.now() };
  const catalog = createAgentCatalog(connection, keySpace(uniquePrefix()), () => clock.now);
  const names = async () =>
    [...(await catalog.read()).keys()].toSorted((left, right) => left.localeCompare(right));
  const [cook, editor] = [defineAgent({ name: 'cook' }), defineAgent({ name: 'editor' })];
  await catalog.publish([cook, editor], 'first');
  await catalog.publish([editor], 'second');
  expect(await names()).toEqual(['cook', 'editor']);
  await catalog.deregister('first');
  expect(await names()).toEqual(['cook', 'editor']);
  clock.now += 20_000;
  expect(await names()).toEqual(['editor']);
  expect((await catalog.read()).get('editor')).toEqual(editor);
  await catalog.deregister('second');
  clock.now += 20_000;
  expect(await names()).toEqual(['cook', 'editor']);
});

test('an agent that no engine has served for a day is gone, and the whole catalog a day after the last write', async () => {
  const clock = { now: Date.now() };
  const keys = keySpace(uniquePrefix());
  const now = (): number => clock.now;
  const agents = createAgentCatalog(connection, keys, now);
  const tools = createToolCatalog(connection, keys, now);
  const models = createModelCatalog(connection, keys, now);
  const table = (name: string) => ({
    providers: new Map([[name, { type: 'openai' as const }]]),
    aliases: new Map([[`alias-${name}`, [`${name}:m`]]]),
  });
  const server = (name: string) =>
    ({ server: name, status: 'connected', tools: [], updatedAt: clock.now }) as unknown as CatalogEntry;
  const publish = async (name: string): Promise<void> => {
    await agents.publish([defineAgent({ name })], name);
    await tools.present(name, [name]);
    await tools.publish(server(name));
    await models.publish(table(name), name);
    await models.noteBlocked(name, clock.now);
  };
  const leave = (name: string) =>
    Promise.all([agents.deregister(name), tools.deregister(name), models.deregister(name)]);
  const fields = async (): Promise<string[]> =>
    (await Promise.all([keys.agents, keys.catalog, keys.models].map((key) => connection.hkeys(key)))).flat();
  await publish('old');
  await leave('old');
  await publish('new');
  expect((await fields()).filter((field) => field.includes('old'))).toHaveLength(8);
  clock.now += 86_400_000;
  await publish('new');
  expect((await fields()).filter((field) => field.includes('old'))).toEqual([]);
  expect((await fields()).filter((field) => field.includes('new'))).toHaveLength(8);
  for (const key of [keys.agents, keys.catalog, keys.models]) {
    const leftMs = await connection.pttl(key);
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(86_400_000);
  }
});

test('an empty catalog reads as empty, and publishing nothing is allowed', async () => {
  const catalog = createAgentCatalog(connection, keySpace(uniquePrefix()));
  await catalog.publish([]);
  expect(await catalog.read()).toEqual(new Map());
  await catalog.publish([], 'engine');
  expect(await catalog.read()).toEqual(new Map());
});

test('presence does not depend on the clock of any process', async () => {
  const keys = keySpace(uniquePrefix());
  const of = (name: string) =>
    ({ server: name, status: 'ready', tools: [], updatedAt: 0 }) satisfies CatalogEntry;
  const publish = async (name: string): Promise<void> => {
    const tools = createToolCatalog(connection, keys);
    await tools.present(name, [name]);
    await tools.publish(of(name));
  };
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 600_000);
  await publish('slow');
  vi.restoreAllMocks();
  await publish('other');
  expect(await createToolCatalog(connection, keys).read()).toEqual([of('other'), of('slow')]);
});
