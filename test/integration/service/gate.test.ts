/** Limits by key, turns and priorities through a whole service on a real Redis, by what a real MCP server counts itself.
 *  It must never take the service's word for what ran at once. */
import { afterEach, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { keySpace } from '../../../src/store/keys.ts';
import { connectRedis, closeRedis } from '../../../src/platform/redis/connection.ts';
import { eventually, untilHolds } from '../../support/eventually.ts';
import { startKeyedServer } from '../../support/keyed-server.ts';
import { openStore } from '../../support/store.ts';
import { type RunningService, startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const server = shared(startKeyedServer);
const service = shared(() => startService({ redisUrl: redis.url, config: configOf() }));
let count = 0;

function configOf() {
  return {
    mcpServers: { keyed: { url: server.url, lane: { concurrency: 4 } } },
    flow: {
      rules: {
        account: {
          match: { tool: 'keyed.work', tag: 'ruled' },
          concurrency: { by: 'arguments.key', limit: 1 },
        },
      },
    },
    worker: { drain_ms: 0 },
  };
}

interface Work {
  readonly ms?: number;
  readonly failures?: number;
  readonly fields?: Record<string, unknown>;
}

const clientOf = ({ url }: RunningService) => createHttpClient({ baseUrl: url });

/** One directive; its label. */
function work(key: string, { ms = 20, failures = 0, fields = {} }: Work = {}) {
  const id = `w${(count += 1)}`;
  return {
    type: 'tool_exec' as const,
    tool_name: 'keyed.work',
    request_id: 'gate',
    id,
    arguments: { key, label: id, ms, failures },
    ...fields,
  };
}

type Call = ReturnType<typeof work>;

async function ended(calls: readonly Call[]): Promise<void> {
  const client = clientOf(service);
  const view = await client.request('gate');
  const statuses = new Map(view?.directives.map(({ id, status }) => [id, status]));
  expect(calls.map(({ id }) => [id, statuses.get(id)])).toEqual(calls.map(({ id }) => [id, 'succeeded']));
}

const untilEnded = (calls: readonly Call[]): Promise<void> => untilHolds(() => ended(calls));

/** What is left of the gate but lists of starts, which end by themselves. */
async function left(): Promise<string[]> {
  const connection = connectRedis(redis.url, 'commands');
  const name = keySpace(service.prefix).gate('tool.keyed');
  const found = await connection.keys(`${name.replaceAll(/[{}]/g, '?')}*`);
  await closeRedis(connection);
  return found.map((key) => key.slice(name.length)).filter((key) => !key.startsWith('starts:'));
}

afterEach(async () => {
  await untilHolds(async () => expect(await left()).toEqual([]));
});

test('of a key as many run at once as its limit allows, in the order in which they came', async () => {
  const calls = Array.from({ length: 12 }, (_, n) =>
    work(n % 2 === 0 ? 'one' : 'two', {
      fields: { concurrency: { key: `k${n % 2}`, limit: n % 2 === 0 ? 1 : 2 } },
    }),
  );
  await clientOf(service).submit(calls);
  await untilEnded(calls);
  const ofKey = (key: string) => server.calls.filter((call) => call.key === key);
  expect(ofKey('one').map(({ label }) => label)).toEqual(
    calls.filter(({ arguments: { key } }) => key === 'one').map(({ id }) => id),
  );
  expect(Math.max(...ofKey('one').map(({ underWay }) => underWay))).toBe(1);
  expect(Math.max(...ofKey('two').map(({ underWay }) => underWay))).toBeLessThanOrEqual(2);
  expect(server.calls).toHaveLength(12);
});

const startsOf = (calls: readonly Call[]): number[] =>
  calls.map(({ id }) => server.calls.findIndex(({ label }) => label === id));

test('a single call is not behind a flood: it begins once those that are out have begun', async () => {
  const client = clientOf(service);
  const flood = Array.from({ length: 300 }, () =>
    work('flood', { ms: 2, fields: { fairness_key: 'flood' } }),
  );
  await client.submit(flood);
  const single = work('single', { fields: { fairness_key: 'single' } });
  await client.submit(single);
  const begun = server.calls.length;
  await untilEnded([...flood, single]);
  // Four run, one more is on its way.
  expect(startsOf([single])[0]).toBeLessThanOrEqual(begun + 6);
});

test('a caller cannot loosen a rule, and what a rule fits is limited by it', async () => {
  const fields = { concurrency: { key: 'own', limit: 9 }, metadata: { tags: ['ruled'] } };
  const calls = Array.from({ length: 6 }, () => work('ruled', { fields }));
  await clientOf(service).submit(calls);
  await untilEnded(calls);
  expect(server.calls.filter(({ key }) => key === 'ruled').map(({ underWay }) => underWay)).toEqual([
    1, 1, 1, 1, 1, 1,
  ]);
});

test('what waits for its retry holds no slot, says what it waits for, and is cancelled at once', async () => {
  const client = clientOf(service);
  const concurrency = { key: 'retry', limit: 1 };
  const [failing, next] = [
    work('retry', {
      failures: 1,
      fields: { concurrency, max_retries: 1, retry_backoff_ms: 600_000, max_backoff_ms: 600_000 },
    }),
    work('retry', { fields: { concurrency } }),
  ];
  await client.submit([failing, next]);
  await untilEnded([next]);
  expect((await client.directive('gate', failing.id))?.status).toBe('waiting');
  await client.cancel('gate', failing.id);
  expect((await client.directive('gate', failing.id))?.status).toBe('failed');
});

test('a job of what still waits in the gate begins nothing', async () => {
  const concurrency = { key: 'early', limit: 1 };
  const calls = [0, 0].map((ms) => work('early', { ms, fields: { concurrency } }));
  const [first, second] = calls as [Call, Call];
  const letGo = server.hold(first.id);
  await clientOf(service).submit(calls);
  await untilHolds(() => expect(startsOf([first])[0]).not.toBe(-1));
  await using store = await openStore(redis.url, { prefix: service.prefix });
  const digest = (await store.journal.directive('gate', second.id))?.digest ?? '';
  await store.lanes.enqueue('tool.keyed', { request_id: 'gate', id: second.id, digest });
  await eventually(() => store.lanes.queued('tool.keyed')).toBe(0);
  letGo();
  await untilEnded(calls);
  expect(server.calls.filter(({ key }) => key === 'early').map(({ underWay }) => underWay)).toEqual([1, 1]);
});

test('what waits for a limit is cancelled without a call, and the next one goes on', async () => {
  const client = clientOf(service);
  const concurrency = { key: 'cancel', limit: 1 };
  const calls = [0, 0, 0].map((ms) => work('cancel', { ms, fields: { concurrency } }));
  const [first, second, third] = calls as [Call, Call, Call];
  const letGo = server.hold(first.id);
  await client.submit(calls);
  await client.cancel('gate', second.id);
  letGo();
  await untilEnded([first, third]);
  expect(startsOf([second])).toEqual([-1]);
});
