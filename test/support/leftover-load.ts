/** Many requests of every sort against one service, and what is left of them in Redis after their retention.
 *  It must never know what a key is for: whatever is not in the short list of constants counts. */
import { randomUUID } from 'node:crypto';
import { createDeadLetterIndex } from '../../src/store/index/dead-letter-index.ts';
import { createChangedRequests } from '../../src/store/index/changed-requests.ts';
import { createJournal } from '../../src/store/request/journal.ts';
import { type KeySpace, keySpace } from '../../src/store/keys.ts';
import { createIndexer } from '../../src/store/search/indexer.ts';
import { createFactsReader } from '../../src/store/search/request-facts.ts';
import { createRowReader } from '../../src/store/search/row-reader.ts';
import { createSearchIndex } from '../../src/store/search/search-index.ts';
import { createSmallReader } from '../../src/store/search/small-requests.ts';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import { parseConfig } from '../../src/config/config.ts';
import { policySettings } from '../../src/config/policy.ts';
import { createCallPolicy } from '../../src/features/policy/call-policy.ts';
import { compileRules } from '../../src/features/policy/rules.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { createLanes } from '../../src/queue/lanes.ts';
import { connectRedis, closeRedis, type RedisConnection } from '../../src/platform/redis/connection.ts';
import { uniquePrefix } from './journal.ts';
import { loggedIn } from './host-login.ts';
import { freePort } from './process.ts';
import { startService } from './running-service.ts';

const RETENTION_MS = 2_000;
/** Most keys left a day after the last process has ended. */
const A_DAY_MS = 86_400_000;
const TEN_MINUTES_MS = 600_000;
/** The longest login of a host. */
const LOGIN_MS = 90 * A_DAY_MS;
const LONGEST_LOOK_MS = 65_000;
const CATALOGS = ['catalog', 'models', 'agents', 'lane-limits', 'workers', 'list-build'];
/** Submissions under way at once. */
const AT_ONCE = 50;

const CONFIG = {
  retention: { closed_ms: RETENTION_MS },
  limits: { result_bytes: 1_024 },
  providers: {
    scripted: { type: 'scripted', requests_per_minute: 10_000_000, tokens_per_minute: 1_000_000_000 },
  },
  models: { fast: ['scripted:demo'] },
  agents: { helper: { model_alias: 'fast', policies: { busy: 'queue' } } },
  policy: { counters: { calls: { of: 'true' }, own: { of: 'true', per: 'request' } }, rules: [] },
};

type Client = Awaited<ReturnType<typeof createDirectClient>>;

/** One request of each sort in turn. Resolves when it has ended, or was refused. */
async function oneRequest(client: Client, nth: number): Promise<void> {
  const request_id = randomUUID();
  const call = (fields: object): SubmittedDirective =>
    ({
      type: 'tool_exec',
      server: 'peer',
      tool_name: 'echo',
      request_id,
      deadline_ms: 3_000,
      ...fields,
    }) as SubmittedDirective;
  const sorts: (() => Promise<unknown>)[] = [
    () => client.execute(call({ arguments: { text: 'x' } })),
    () => client.execute(call({ arguments: { text: 'y'.repeat(5_000) } })),
    () => client.execute(call({ tool_name: 'no_such_tool' })),
    () => client.execute(call({ server: `nobody-${nth % 7}` })),
    () => client.execute({ type: 'emit_tool_error', request_id, tool_name: 't', error: 'e' }),
    () => client.submit({ type: 'emit_request_error', request_id, reason: 'r', message: 'm' }),
    () => client.execute({ type: 'llm_stream', request_id, model_alias: 'fast', context: [] }),
    () => client.execute({ type: 'llm_generate', request_id, model: 'nobody:model', context: [] }),
    async () => {
      await client.submit([1, 2, 3].map((id) => call({ id: `c${id}` })));
      await client.cancel(request_id);
    },
    async () => {
      await client.runs.start({
        request_id,
        agent: 'helper',
        query: 'hello',
        conversation_id: `c-${nth % 11}`,
      });
      if (nth % 3 === 0) await client.runs.input(request_id, { content: 'and more' });
    },
    () => client.execute(call({ deadline_ms: 1 })),
    () => client.submit(call({ id: 'twice' }), { idempotencyKey: `key-${nth}` }),
  ];
  await sorts[nth % sorts.length]?.().catch(() => {});
}

/** Resolves when every request is closed: from then on its keys expire. */
async function untilClosed(connection: RedisConnection, prefix: string): Promise<void> {
  for (;;) {
    const states = await connection.keys(`${prefix}:{*}:state`);
    const expiries = await Promise.all(states.map((key) => connection.pttl(key)));
    if (!expiries.includes(-1)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function allKeys(connection: RedisConnection): Promise<string[]> {
  return (await connection.keys('*')).toSorted((left, right) => left.localeCompare(right));
}

export interface Leftovers {
  /** Keys while the requests were still readable. */
  before: number;
  /** Keys that stay although nothing needs them, with their time to live. */
  left: string[];
}

/** On its own Redis, which holds nothing else. */
export async function leftoversOf(redisUrl: string, requests: number): Promise<Leftovers> {
  const prefix = uniquePrefix();
  const connection = connectRedis(redisUrl, 'commands');
  const client = await createDirectClient({ redisUrl, prefix, retentionMs: RETENTION_MS });
  const port = await freePort();
  const admin = randomUUID();
  const access = { host_login: { public_url: `http://127.0.0.1:${port}` } };
  const environment = { ADJUTANT_ADMIN_KEY: admin };
  const service = await startService({ redisUrl, prefix, port, environment, config: { ...CONFIG, access } });
  await loggedIn(service.url, admin);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < requests) await oneRequest(client, next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await untilClosed(connection, prefix);
  const before = (await allKeys(connection)).length;
  await service.stop();
  await client.close();
  const left = await leftWhenOver(connection, prefix);
  await closeRedis(connection);
  return { before, left };
}

async function leftWhenOver(connection: RedisConnection, prefix: string): Promise<string[]> {
  const keys = keySpace(prefix);
  const lanes = createLanes(connection, keys);
  const indexer = indexerOn(connection, keys);
  const dead = createDeadLetterIndex(connection, keys);
  const until = Date.now() + 10 * RETENTION_MS;
  let left: string[] = [];
  do {
    await new Promise((resolve) => setTimeout(resolve, RETENTION_MS / 4));
    await ageFailedJobs(connection, prefix);
    await lanes.forgetIdle(0);
    await indexer.indexDue();
    await indexer.trim();
    await forgetCounters(connection, keys);
    await dead.expire(() => RETENTION_MS);
    left = await unexplained(connection, prefix);
  } while (left.length > 0 && Date.now() < until);
  await lanes.close();
  return left;
}

/** As if a day had passed for the failed jobs that lanes keep. */
async function ageFailedJobs(connection: RedisConnection, prefix: string): Promise<void> {
  for (const key of await connection.keys(`{${prefix}:*}:*:failed`))
    for (const id of await connection.zrange(key, '0', '-1')) await connection.zadd(key, 'XX', '1', id);
}

/** As if the requests with counters of their own were due for a check of their worker. */
async function forgetCounters(connection: RedisConnection, keys: KeySpace): Promise<void> {
  const requests = `${keys.policy}requests`;
  const journal = createJournal({ connection, keys, retentionMs: RETENTION_MS });
  const given = { source: 'test', directory: '.', environment: {} };
  const settings = policySettings(parseConfig({ policy: CONFIG.policy }, given).policy);
  if (settings === null) throw new Error('there is no policy');
  const onError = (): void => {};
  for (const request of await connection.zrange(requests, '0', '-1'))
    await connection.zadd(requests, 'XX', '1', request);
  const { sweeping } = createCallPolicy({
    connection,
    keys,
    journal,
    rulesOf: () => compileRules(settings),
    onError,
  });
  await sweeping.start();
  await sweeping.stop();
}

/** What every process does with the list of requests. */
function indexerOn(connection: RedisConnection, keys: KeySpace) {
  const journal = createJournal({ connection, keys, retentionMs: RETENTION_MS });
  const index = createSearchIndex(connection, keys);
  const readFacts = createFactsReader({ connection, keys, journal, runOf: async () => null });
  const changes = createChangedRequests(connection, keys);
  const onError = (error: Error): never => {
    throw error;
  };
  const read = createRowReader({ readSmall: createSmallReader(connection, keys), readFacts, onError });
  return { ...createIndexer({ changes, index, read, onError }), trim: index.trim };
}

async function unexplained(connection: RedisConnection, prefix: string): Promise<string[]> {
  const left: string[] = [];
  for (const key of await allKeys(connection)) {
    const leftMs = await connection.pttl(key);
    if (!(await isConstant(connection, prefix, key, leftMs))) left.push(`${key} (${leftMs} ms)`);
  }
  return left;
}

/**
 * The constants: the description of the queue for producers, the secret of logins, and what expires by itself: catalogs, marks of corrected
 * reservations, entries that the sweeper checks again.
 */
async function isConstant(
  connection: RedisConnection,
  prefix: string,
  key: string,
  leftMs: number,
): Promise<boolean> {
  if (CATALOGS.some((name) => key === `${prefix}:${name}`)) return leftMs > 0 && leftMs <= A_DAY_MS;
  if (key === `{${prefix}:queue}:directives:meta`) return true;
  if (/:\{limits:[^}]+\}:(settled:|buckets)/.test(key)) return leftMs > 0 && leftMs <= TEN_MINUTES_MS;
  if (key.startsWith(`${prefix}:{stats:`)) return leftMs > 0 && leftMs <= 401 * A_DAY_MS;
  if (key.startsWith(`${prefix}:output:`)) return leftMs > 0 && leftMs <= A_DAY_MS;
  if (key.startsWith(`${prefix}:process:`)) return leftMs > 0 && leftMs <= 35 * A_DAY_MS;
  if (key === `${prefix}:seal`) return true;
  if (key === `${prefix}:{access}:submissions`) return leftMs > 0 && leftMs <= LOGIN_MS;
  if (key.startsWith(`${prefix}:{hosts}:`)) return leftMs > 0 && leftMs <= LOGIN_MS;
  if (key.startsWith(`${prefix}:{policy}:r:`)) return leftMs > 0 && leftMs <= A_DAY_MS;
  if (/:\{policy\}:c:[^:]+:[^:]+:\d+$/.test(key)) return leftMs > 0 && leftMs <= 2 * A_DAY_MS;
  if (key !== `${prefix}:sweep`) return false;
  return (await connection.zcount(key, Date.now() + LONGEST_LOOK_MS, '+inf')) === 0;
}
