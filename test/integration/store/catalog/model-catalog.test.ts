/** The catalog of models on a real Redis: what workers publish, what is forgotten, what is blocked.
 *  It must never need a worker. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ModelTable } from '../../../../src/contract/model/model-name.ts';
import { keySpace } from '../../../../src/store/keys.ts';
import { createModelCatalog } from '../../../../src/store/catalog/model-catalog.ts';
import { closeRedis, connectRedis, type RedisConnection } from '../../../../src/platform/redis/connection.ts';
import { uniquePrefix } from '../../../support/journal.ts';
import { useRedis } from '../../../support/shared.ts';

const DAY_MS = 86_400_000;

const redis = useRedis();
let connection: RedisConnection;

beforeAll(async () => {
  connection = connectRedis(redis.url, 'commands');
});
afterAll(async () => {
  await closeRedis(connection);
});

function table(providers: Record<string, string>, aliases: Record<string, string[]> = {}): ModelTable {
  return {
    providers: new Map(Object.entries(providers).map(([name, type]) => [name, { type }])),
    aliases: new Map(Object.entries(aliases)),
  };
}

function open(prefix = uniquePrefix()) {
  const clock = { now: 1_000_000_000_000 };
  return { prefix, clock, catalog: createModelCatalog(connection, keySpace(prefix), () => clock.now) };
}

test('the providers of all workers are listed; the last published alias wins', async () => {
  const { catalog } = open();
  await catalog.publish(table({ cloud: 'openai' }, { fast: ['cloud:small'], odd: ['cloud:odd'] }));
  await catalog.publish(table({ local: 'openai-compatible' }, { fast: ['local:tiny', 'cloud:small'] }));
  const { providers, aliases } = await catalog.read();
  expect([...providers]).toEqual([
    ['cloud', { type: 'openai' }],
    ['local', { type: 'openai-compatible' }],
  ]);
  expect(Object.fromEntries(aliases)).toEqual({ fast: ['local:tiny', 'cloud:small'], odd: ['cloud:odd'] });
});

test('an empty catalog reads as empty, and publishing nothing is allowed', async () => {
  const { catalog } = open();
  await catalog.publish(table({}));
  expect(await catalog.read()).toEqual({ providers: new Map(), aliases: new Map(), blockedUntil: new Map() });
});

test('what no worker has published for a day is forgotten', async () => {
  const { catalog, clock } = open();
  await catalog.publish(table({ old: 'openai' }, { old: ['old:a'] }));
  clock.now += DAY_MS - 1;
  await catalog.publish(table({ kept: 'openai' }));
  expect([...(await catalog.read()).providers.keys()]).toEqual(['kept', 'old']);
  clock.now += 1;
  const later = await catalog.read();
  expect([...later.providers.keys()]).toEqual(['kept']);
  expect(later.aliases.size).toBe(0);
});

test('a blocked provider is listed as blocked until it continues', async () => {
  const { catalog, clock } = open();
  await catalog.publish(table({ cloud: 'openai' }));
  await catalog.noteBlocked('cloud', clock.now + 5_000);
  expect((await catalog.read()).blockedUntil.get('cloud')).toBe(clock.now + 5_000);
  await catalog.publish(table({ cloud: 'openai' }));
  expect((await catalog.read()).blockedUntil.get('cloud')).toBe(clock.now + 5_000);
  await catalog.noteBlocked('cloud', 0);
  expect((await catalog.read()).blockedUntil.get('cloud')).toBe(0);
});

test('a provider that no worker serves any more is listed, and marked as not served', async () => {
  const { catalog, clock } = open();
  await catalog.publish(table({ cloud: 'openai', local: 'openai-compatible' }), 'first');
  await catalog.publish(table({ local: 'openai-compatible' }), 'second');
  const served = async () =>
    [...(await catalog.read()).providers]
      .filter(([, provider]) => provider.served !== false)
      .map(([name]) => name);
  expect(await served()).toEqual(['cloud', 'local']);
  await catalog.deregister('first');
  clock.now += 19_999;
  expect(await served()).toEqual(['cloud', 'local']);
  clock.now += 1;
  expect(await served()).toEqual(['local']);
  await catalog.publish(table({ cloud: 'openai' }), 'third');
  expect(await served()).toEqual(['cloud', 'local']);
  clock.now += 129_000;
  await catalog.publish(table({ cloud: 'openai' }), 'third');
  clock.now += 1_000;
  expect(await served()).toEqual(['cloud']);
  await catalog.deregister('third');
  clock.now += 20_000;
  expect(await served()).toEqual(['cloud', 'local']);
});

test('workers that were killed are forgotten after a day', async () => {
  const { catalog, clock, prefix } = open();
  await catalog.publish(table({ cloud: 'openai' }), 'killed');
  clock.now += DAY_MS;
  await catalog.publish(table({ local: 'openai' }), 'alive');
  const fields = await connection.hkeys(keySpace(prefix).models);
  expect(fields.filter((field) => field.startsWith('worker:'))).toEqual(['worker:alive']);
});
