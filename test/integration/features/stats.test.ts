/** Issue 15, section C: statistics over time, the search over everything, what an operator reads of other tenants, scores as
 *  filters, the worker of an attempt, and the output of MCP servers.
 *  It must not look into Redis, except for what a lost answer leaves there, and how long a request stays. */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../src/client/http-client.ts';
import { SCOPES, type Scope } from '../../../src/contract/access/access.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import type { StatsCounts, StatsQuery } from '../../../src/contract/request/stats.ts';
import { createStatsReader } from '../../../src/features/stats/stats-reader.ts';
import { createStatsCounter, createStatsWriter } from '../../../src/features/stats/stats-writer.ts';
import { redisClock } from '../../../src/platform/redis/clock.ts';
import type { CountedFact } from '../../../src/platform/telemetry/reports.ts';
import { prepareScripts } from '../../../src/store/scripts.ts';
import { startCli } from '../../support/cli.ts';
import { runCommand } from '../../support/command.ts';
import { eventually, untilHolds } from '../../support/eventually.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { planOf, startPlannedModel } from '../../support/planned-model.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const ADMIN = randomBytes(32).toString('hex');
const SECRET = randomBytes(16).toString('hex');
/** Prints its secret in several spellings as it starts. */
const LEAKY = fileURLToPath(new URL('../../support/servers/leaky-peer.mjs', import.meta.url));

/** A run of acme with two tool calls, single calls of both tenants, one of which fails. */
const scene = shared(async () => {
  const model = await startPlannedModel();
  const price = { input: 1, output: 10 };
  const config = {
    mcpServers: {
      peer: ownServerEntry('legacy-peer.ts'),
      leaky: { command: process.execPath, args: [LEAKY], env: { PEER_TOKEN: SECRET } },
    },
    providers: { mock: { type: 'openai-compatible', base_url: model.url, models: { m: { price } } } },
    agents: { lead: { description: 'Leads the others', model: 'mock:m', stream: false, tools: ['*'] } },
  };
  const service = await startService({
    redisUrl: redis.url,
    config,
    environment: { ADJUTANT_ADMIN_KEY: ADMIN },
  });
  const admin = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const of = async (tenant: string, scopes: readonly Scope[] = SCOPES): Promise<DirectiveClient> => {
    const { key } = await admin.create({ name: tenant, tenant, scopes: [...scopes] });
    return createHttpClient({ baseUrl: service.url, apiKey: key });
  };
  const [acme, globex, reader] = [await of('acme'), await of('globex'), await of('default', ['read'])];
  const operator = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  const listed = async () => expect(JSON.stringify(await acme.tools())).toContain('"peer.echo"');
  await untilHolds(listed);
  const query = planOf('both', [
    ['peer.echo', { n: 1 }],
    ['peer.echo', { n: 2 }],
  ]);
  const metadata = { tags: ['night'] };
  await acme.runs.run({ agent: 'lead', query, metadata, request_id: 'run' });
  await acme.execute({
    type: 'tool_exec',
    tool_name: 'peer.echo',
    arguments: {},
    request_id: 'one',
    metadata,
  });
  await acme.execute({ type: 'tool_exec', tool_name: 'peer.nosuch', arguments: {}, request_id: 'two' });
  await globex.execute({ type: 'tool_exec', tool_name: 'peer.echo', arguments: {}, request_id: 'one' });
  const stop = async (): Promise<void> => {
    await service.stop();
    await model[Symbol.asyncDispose]();
  };
  return { service, acme, globex, reader, operator, admin, stop, [Symbol.asyncDispose]: stop };
});

/** What is counted by name, once everything of the scene is: a process writes its counts every two seconds. */
async function totals(client: DirectiveClient, query: StatsQuery = {}): Promise<Record<string, StatsCounts>> {
  const { series } = await client.stats(query);
  return Object.fromEntries(series.map(({ name, total }) => [name ?? 'all', total]));
}

describe('statistics', () => {
  test('count requests of a tenant by their end, with durations, waits, calls, tokens and money without a budget', async () => {
    const { acme } = scene;
    await eventually(async () => (await totals(acme))['all']).toMatchObject({
      succeeded: 2,
      failed: 1,
      cancelled: 0,
      tool_calls: 4,
      model_calls: 2,
      tokens: { input: 2, output: 2 },
      // Dollars for a million tokens, as configured.
      cost: 2 * (1 + 10) * 1e-6,
    });
    const { all } = await totals(acme);
    expect(Object.values(all?.error_types ?? {})).toEqual([1]);
    expect(all?.duration_ms?.p95).toBeGreaterThanOrEqual(all?.duration_ms?.p50 ?? Infinity);
    expect(all?.waited_ms).not.toBeNull();
    const { interval, series } = await acme.stats({ interval: '1h' });
    expect(interval).toBe('1h');
    expect(series[0]?.points.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(2);
  });

  test('count by agent, tag, model and tool; calls that fail are those of their tool', async () => {
    const { acme } = scene;
    await eventually(async () => (await totals(acme, { by: 'agent' }))['lead']).toMatchObject({
      started: 1,
      succeeded: 1,
      tool_calls: 2,
      tokens: { input: 2, output: 2 },
    });
    expect((await totals(acme, { by: 'tag' }))['night']).toMatchObject({ started: 2, succeeded: 2 });
    expect((await totals(acme, { by: 'model' }))['mock:m']).toMatchObject({ succeeded: 2, model_calls: 2 });
    expect(await totals(acme, { by: 'tool' })).toMatchObject({
      'peer.echo': { started: 3, succeeded: 3, failed: 0 },
      'peer.nosuch': { succeeded: 0, failed: 1 },
    });
    expect(Object.keys(await totals(acme, { by: 'tool', name: 'peer.echo' }))).toEqual(['peer.echo']);
  });

  test('are refused for a range of too many intervals, and for a name without its kind', async () => {
    const refused = { problem: { code: 'invalid_query' } };
    const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
    await expect(scene.acme.stats({ since, interval: '5m' })).rejects.toMatchObject(refused);
    await expect(scene.acme.stats({ name: 'lead' })).rejects.toMatchObject(refused);
    expect((await scene.acme.stats({ since })).interval).toBe('1d');
  });
});

describe('what a process writes', () => {
  const open = shared(async () => openStore(redis.url));
  const of = (name: string): CountedFact => ({ series: [['tool', name]], toolCalls: 1, waitedMs: 100 });

  test('is counted once, also where the answer of Redis was lost; further names than an interval keeps are one series', async () => {
    const { connection, keys } = open;
    const counter = createStatsCounter();
    const parts = { connection, keys, counter, processId: 'p', onError: () => {} };
    const { write } = createStatsWriter(parts);
    for (let at = 0; at < 100; at += 1) counter.count('acme~r', of(`t.${at}`));
    await write();
    await write();
    const sameAgain = ['p', 1, 'tool', 64, '_other', 1, 300_000, 1_000, 't.0', 't=1'];
    expect(await prepareScripts(connection)('stats-add', [keys.stats('acme')], sameAgain)).toEqual([0]);
    const read = createStatsReader(connection, keys, redisClock(connection));
    const { series, series_left_out: left } = await read({ by: 'tool', limit: 50, interval: '1d' }, 'acme');
    expect(series.length + left).toBe(65);
    const calls = (await read({ by: 'tool', name: '_other' }, 'acme')).series[0]?.total;
    expect(calls).toMatchObject({ tool_calls: 36, started: 0 });
    // A place of the histogram is at most 12 % off.
    expect(Math.abs((calls?.waited_ms?.p95 ?? 0) - 100)).toBeLessThanOrEqual(12);
    expect((await read({ by: 'tool', name: 't.0' }, '*')).series[0]?.total.tool_calls).toBe(1);
  });

  test('are read in steps: heartbeats and calls go on during the largest answer', async () => {
    const text = Array.from({ length: 100 }, (_, place) => `d${place}=1 w${place}=1`).join(' ');
    const interval = Object.fromEntries(
      Array.from({ length: 65 }, (_, name) => [`t.${name}`, `k=1 ${text}`]),
    );
    const { connection, keys } = open;
    const read = createStatsReader(
      Object.assign(Object.create(connection), { hgetall: async () => interval }),
      keys,
      redisClock(connection),
    );
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const since = new Date(Date.now() - 99 * 3_600_000).toISOString();
    const { series } = await read({ by: 'tool', limit: 50, interval: '1h', since }, 'acme');
    clearInterval(timer);
    expect(series[0]?.total.succeeded).toBe(series[0]?.points.length);
    expect(turns).toBeGreaterThan(5);
  });
});

describe('an operator', () => {
  test('reads the statistics and the requests of one tenant and of all, page by page, which the audit notes', async () => {
    const { operator, admin } = scene;
    await eventually(async () => {
      const byTenant = await totals(operator, { by: 'tenant' });
      return [byTenant['acme']?.succeeded, byTenant['globex']?.succeeded];
    }).toEqual([2, 1]);
    expect((await totals(operator, { tenant: 'globex' }))['all']).toMatchObject({ succeeded: 1, failed: 0 });
    expect((await totals(operator, { tenant: '*' }))['all']).toMatchObject({ succeeded: 3, failed: 1 });
    const found = async (): Promise<string[]> => {
      const ids: string[] = [];
      let cursor: string | undefined;
      for (;;) {
        const page = await operator.requests({ tenant: '*', limit: 1, cursor });
        ids.push(...page.requests.map(({ tenant, request_id }) => `${tenant}/${request_id}`));
        if (page.next === null) return ids;
        cursor = page.next;
      }
    };
    await eventually(found).toEqual(['globex/one', 'acme/two', 'acme/one', 'acme/run']);
    expect((await operator.requests({ tenant: '*' })).counts.total).toBe(4);
    const actions = (await admin.audit()).entries.map(({ action, target }) => `${action} ${target}`);
    expect(actions).toContain('read_tenant globex');
    expect(actions.filter((each) => each === 'read_tenant *')).toHaveLength(1);
  });

  test('reads one request of another tenant, and changes nothing there', async () => {
    const { service } = scene;
    const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' };
    const asked = async (path: string, method = 'GET') => {
      const body = method === 'POST' ? '{}' : null;
      const response = await fetch(`${service.url}${path}`, { method, headers, body });
      return [response.status, (await response.json()) as Record<string, unknown>] as const;
    };
    const [status, view] = await asked('/v1/requests/run?tenant=acme');
    expect([status, view['request_id']]).toEqual([200, 'run']);
    expect((await asked('/v1/requests/run?tenant=globex'))[0]).toBe(404);
    expect((await asked('/v1/requests/run'))[0]).toBe(404);
    expect((await asked('/v1/requests/run?tenant=*'))[1]).toMatchObject({ code: 'invalid_query' });
    expect((await asked('/v1/requests/run/cancel?tenant=acme', 'POST'))[0]).toBe(400);
  });

  test('is an administrator of the tenant default: other keys read their own tenant alone', async () => {
    const { acme, reader } = scene;
    const forbidden = { problem: { code: 'forbidden' } };
    for (const client of [acme, reader]) {
      await expect(client.stats({ tenant: 'globex' })).rejects.toMatchObject(forbidden);
      await expect(client.stats({ by: 'tenant' })).rejects.toMatchObject(forbidden);
      await expect(client.requests({ tenant: '*' })).rejects.toMatchObject(forbidden);
      await expect(client.serverOutput('peer')).rejects.toMatchObject(forbidden);
    }
    expect((await acme.requests({ tenant: 'acme' })).counts.total).toBe(3);
  });
});

test('a score filters the list by its name and value, and is counted once', async () => {
  const { acme } = scene;
  const score = { score_id: 's1', name: 'quality', value: 0.4, passed: false };
  await acme.score('run', score);
  await acme.score('run', score);
  await acme.score('one', { name: 'quality', value: 0.9, passed: true });
  const ids = async (filter: object) =>
    (await acme.requests(filter)).requests.map(({ request_id }) => request_id);
  await eventually(async () => ids({ score: 'quality' })).toEqual(['one', 'run']);
  expect(await ids({ score: 'quality', score_min: 0.5 })).toEqual(['one']);
  expect(await ids({ score: 'quality', score_max: 0.5 })).toEqual(['run']);
  await expect(acme.requests({ score_min: 0.5 })).rejects.toMatchObject({
    problem: { code: 'invalid_query' },
  });
  await eventually(async () => (await totals(acme, { by: 'score' }))['quality']?.score).toMatchObject({
    count: 2,
    mean: 0.65,
    passed: 1,
    failed: 1,
  });
  const env = { ADJUTANT_API_KEY: ADMIN };
  const top = await runCommand(['top', '--by', 'score', '--tenant', 'acme'], scene.service.url, env);
  expect(top.stdout).toMatch(/^SCORE +SCORES +MEAN +PASSED +FAILED\nquality +2 +0\.65 +1 +1$/m);
});

test('one search finds requests, tools, agents and schedules by their words', async () => {
  const { acme } = scene;
  const run = { agent: 'lead', query: 'x' };
  await acme.schedules.create({ id: 'leading-nightly', every_ms: 86_400_000, run });
  await eventually(async () =>
    (await acme.search({ q: 'NIGHT' })).requests.map(({ request_id }) => request_id),
  ).toEqual(['one', 'run']);
  expect(await acme.search({ q: 'lead' })).toMatchObject({
    requests: [{ request_id: 'run' }],
    tools: [],
    agents: [{ name: 'lead', description: 'Leads the others' }],
    schedules: [{ id: 'leading-nightly' }],
  });
  const { tools } = await acme.search({ q: 'peer.echo', limit: 1 });
  expect(tools.map(({ name }) => name)).toEqual(['peer.echo']);
});

test('an attempt names the process that made it, as the list of workers does', async () => {
  const { acme, operator } = scene;
  const { directives } = await acme.trace('one');
  const [worker] = (await operator.workers()).workers;
  expect(directives[0]?.attempts.map((attempt) => attempt.worker)).toEqual([worker?.id]);
  expect(worker?.id).toMatch(new RegExp(`^[0-9a-v]{6}\\..+\\.${process.pid}$`));
});

test('a closed request stays for longer than a day by default, while Redis has memory for it', async () => {
  const open = await openStore(redis.url, { prefix: scene.service.prefix });
  const [state] = open.keys.request('acme~one');
  expect(await open.connection.pttl(state)).toBeGreaterThan(10 * 86_400_000);
  await open[Symbol.asyncDispose]();
});

test('adjutant top and adjutant servers logs print them', async () => {
  const { service } = scene;
  await eventually(async () => (await scene.operator.serverOutput('leaky')).lines.length).toBeGreaterThan(0);
  const env = { ADJUTANT_URL: service.url, ADJUTANT_API_KEY: ADMIN };
  const [top, logs] = await Promise.all(
    [
      ['top', '--by', 'tool', '--tenant', 'acme'],
      ['servers', 'logs', 'leaky'],
    ].map(async (args) => startCli(args, { cwd: tmpdir(), env }).ended),
  );
  expect(top).toMatchObject({ code: 0, stderr: '' });
  expect(top?.stdout).toMatch(/^TOOL +STARTED +SUCCEEDED +FAILED .*\npeer\.echo +3 +3 +0 /m);
  expect(logs?.stdout).toMatch(/^[\d-]+ [\d:]+ {2}[0-9a-v]{6} {2}I use \[REDACTED\]/);
});

test('an operator reads the newest lines that the program of a server wrote to stderr, without its secrets', async () => {
  const { operator, acme } = scene;
  await eventually(async () => (await operator.serverOutput('leaky')).lines[0]?.text).toMatch(/^I use /);
  const [line] = (await operator.serverOutput('leaky')).lines;
  expect(line?.worker).toBe((await operator.workers()).workers[0]?.id);
  for (const spelling of [SECRET, Buffer.from(`peer:${SECRET}`).toString('base64')])
    expect(line?.text).not.toContain(spelling);
  await acme.execute({ type: 'tool_exec', tool_name: 'peer.shout', arguments: {} });
  await eventually(async () => (await operator.serverOutput('peer')).lines.at(-1)?.text).toBe(
    'x'.repeat(1_000),
  );
  expect((await operator.serverOutput('peer')).lines.length).toBeLessThanOrEqual(300);
  await expect(operator.serverOutput('nosuch')).rejects.toMatchObject({ problem: { code: 'not_found' } });
});
