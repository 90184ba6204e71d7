/** Tenants behind one API: each has its requests, runs, conversations, dead letters, calls and keys, and what others have does not exist.
 *  It must not look into Redis, except for what a process that died leaves there. */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../src/client/http-client.ts';
import { SCOPES, type AccessClient } from '../../../src/contract/access/access.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { eventually, untilHolds } from '../../support/eventually.ts';
import { askModern } from '../../support/modern-requests.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { planOf, startPlannedModel } from '../../support/planned-model.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const ADMIN = randomBytes(32).toString('hex');
/** What one tenant has, by the same names as the others. */
const REQUEST = 'the-same';

interface Tenant {
  readonly client: DirectiveClient;
  readonly keys: AccessClient;
  readonly key: string;
}

const scene = shared(async () => {
  const model = await startPlannedModel();
  const agent = { model: 'mock:m', stream: false, tools: ['*'] };
  const config = {
    mcpServers: { peer: ownServerEntry('legacy-peer.ts'), ctl: { builtin: 'control' } },
    providers: { mock: { type: 'openai-compatible', base_url: model.url } },
    agents: {
      lead: agent,
      careful: { ...agent, policies: { approvals: { 'peer.*': 'ask' } } },
    },
    tenants: {
      small: { max_open: 2, per_minute: 5, request_bytes: 65_536 },
      // Of a day, which seldom ends in a test.
      frugal: { per_day: 5 },
      '*': { closed_ms: 3_600_000 },
    },
  };
  const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
  const service = await startService({ redisUrl: redis.url, config, environment });
  const admin = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const of = async (tenant: string): Promise<Tenant> => {
    const { key } = await admin.create({ name: tenant, tenant, scopes: [...SCOPES] });
    const how = { baseUrl: service.url, apiKey: key };
    return { key, client: createHttpClient(how), keys: createAccessClient(how) };
  };
  const [acme, globex, small] = [await of('acme'), await of('globex'), await of('small')];
  const frugal = await of('frugal');
  const listed = async () =>
    expect(JSON.stringify(await acme.client.tools())).toMatch(
      /ctl\.delegate.*peer\.echo|peer\.echo.*ctl\.delegate/,
    );
  await untilHolds(listed);
  const stop = async (): Promise<void> => {
    await service.stop();
    await model[Symbol.asyncDispose]();
  };
  return { model, service, admin, acme, globex, small, frugal, stop, [Symbol.asyncDispose]: stop };
});

const echo = (said: string, more: object = {}): SubmittedDirective => ({
  type: 'tool_exec',
  tool_name: 'peer.echo',
  arguments: { said },
  ...more,
});

async function logOf(client: DirectiveClient, id: string): Promise<Signal[]> {
  const log: Signal[] = [];
  for await (const signal of client.signals(id)) log.push(signal);
  return log;
}

/** Nothing that a tenant sees has the mark of a scoped id. */
function expectOwn(tenant: string, ...seen: unknown[]): void {
  expect(JSON.stringify(seen)).not.toContain(`${tenant}~`);
}

describe('the same ids of two tenants', () => {
  test('are two requests, with their own content, signals and traces', async () => {
    const { acme, globex } = scene;
    const ended = async ({ client }: Tenant, said: string) => {
      const submission = await client.submit(echo(said, { id: 'call', request_id: REQUEST }), {
        waitMs: 20_000,
      });
      const log = await logOf(client, REQUEST);
      const view = await client.directive(REQUEST, 'call');
      const trace = await client.trace(REQUEST);
      return { submission, log, view, trace, request: await client.request(REQUEST) };
    };
    const [ofAcme, ofGlobex] = await Promise.all([ended(acme, 'a'), ended(globex, 'b')]);
    expect(ofAcme.submission).toMatchObject({
      request_id: REQUEST,
      links: { request: `/v1/requests/${REQUEST}` },
    });
    expect(ofAcme.log.map(({ subject }) => subject)).toContain(REQUEST);
    expect(JSON.stringify(ofAcme)).toContain('"said":"a"');
    expect(JSON.stringify(ofAcme)).not.toContain('"said":"b"');
    expect(JSON.stringify(ofGlobex)).toContain('"said":"b"');
    expectOwn('acme', ofAcme);
    expectOwn('globex', ofGlobex);
    await expect(acme.client.submit(echo('c', { id: 'call', request_id: REQUEST }))).rejects.toMatchObject({
      problem: { code: 'id_conflict', detail: expect.stringContaining(`"${REQUEST}"`) as string },
    });
  });

  test('hold for keys of submissions, and for calls through /mcp', async () => {
    const { acme, globex, service } = scene;
    const submitted = async ({ client }: Tenant, said: string) =>
      client.submit(echo(said), { idempotencyKey: 'one', waitMs: 20_000 });
    const [a, b] = await Promise.all([submitted(acme, 'a'), submitted(globex, 'b')]);
    expect(a.request_id).toBe(b.request_id);
    expect([a, b].map(({ directives }) => directives[0]?.status)).toEqual(['accepted', 'accepted']);
    const call = (said: string) => ({
      method: 'tools/call',
      name: 'peer.echo',
      params: { name: 'peer.echo', arguments: { said }, _meta: { 'adjutant/idempotencyKey': 'one' } },
    });
    const answers = await Promise.all(
      [acme, globex].map(async ({ key }, index) =>
        askModern(`${service.url}/mcp`, { ...call(`m${index}`), key }),
      ),
    );
    expect(answers.map(({ result }) => result?.['content'])).toEqual(
      ['m0', 'm1'].map((said) => [{ type: 'text', text: `{"said":"${said}"}` }]),
    );
    expectOwn('acme', answers);
  });

  test('are two runs with their children, and two conversations with their histories', async () => {
    const { acme, globex, model } = scene;
    const played = async (tenant: Tenant, name: string) => {
      const child = planOf(`${name} child`);
      const plan = planOf(name, [
        ['ctl.delegate', { target: 'lead', task: child }],
        ['peer.echo', { name }],
      ]);
      const run = { request_id: 'run', agent: 'lead', conversation_id: 'talk' };
      await tenant.client.runs.start({ ...run, query: plan });
      const log = await logOf(tenant.client, 'run');
      const view = await tenant.client.request('run');
      const [ofChild] = view?.run?.children ?? [];
      const childLog = await logOf(tenant.client, ofChild?.request_id ?? '');
      await tenant.client.runs.start({ ...run, request_id: 'run2', query: planOf(`${name} again`) });
      const next = [...(await logOf(tenant.client, 'run2')), await tenant.client.request('run2')];
      return { log, view, childLog, trace: await tenant.client.trace('run'), next, given: model.given(plan) };
    };
    const [ofAcme, ofGlobex] = await Promise.all([played(acme, 'A'), played(globex, 'B')]);
    for (const [story, name] of [
      [ofAcme, 'A'],
      [ofGlobex, 'B'],
    ] as const) {
      expect(story.view?.run).toMatchObject({
        run_id: 'run',
        conversation_id: 'talk',
        status: 'completed',
        result: `did ${name}`,
        children: [{ request_id: 'run.c1', status: 'completed' }],
      });
      expect(story.childLog.at(-1)).toMatchObject({ type: 'ai.request.completed', subject: 'run.c1' });
      const [other] = name === 'A' ? ['B child'] : ['A child'];
      expect(JSON.stringify(story.next)).toContain(`did ${name}`);
      expect(JSON.stringify(story)).not.toContain(`did ${other}`);
    }
    expectOwn('acme', ofAcme);
    expectOwn('globex', ofGlobex);
  });

  test('are decided, answered, redriven and cancelled by their own tenant only', async () => {
    const { acme, globex } = scene;
    const plan = planOf('asked', [['peer.echo', { asked: true }]]);
    await acme.client.runs.start({ request_id: 'asked', agent: 'careful', query: plan });
    const waits = async () => (await acme.client.request('asked'))?.run?.waiting_for ?? [];
    await eventually(async () => (await waits()).map(({ kind }) => kind)).toEqual(['approval']);
    const call = (await waits())[0]?.id ?? '';
    await expect(globex.client.runs.decide('asked', call, { decision: 'approve' })).rejects.toMatchObject({
      problem: { code: 'not_found', detail: 'there is no run in a request "asked"' },
    });
    await expect(globex.client.cancel('asked')).rejects.toMatchObject({ problem: { code: 'not_found' } });
    const listed = async ({ client }: Tenant) =>
      (await client.requests()).requests.map(({ request_id }) => request_id).filter((id) => id === 'asked');
    await eventually(() => listed(acme)).toEqual(['asked']);
    expect(await listed(globex)).toEqual([]);
    expect([(await acme.client.approvals()).approvals.length, await globex.client.approvals()]).toMatchObject(
      [1, { approvals: [] }],
    );
    // Issue 35, point 18: an operator of `default` reads the lists of all tenants, and decides about nothing there.
    const operator = createHttpClient({ baseUrl: scene.service.url, apiKey: ADMIN });
    expect((await operator.approvals()).approvals).toEqual([]);
    expect((await operator.approvals({ tenant: '*' })).approvals).toMatchObject([
      { tenant: 'acme', request_id: 'asked', call_id: call },
    ]);
    await expect(globex.client.approvals({ tenant: '*' })).rejects.toMatchObject({
      problem: { code: 'forbidden' },
    });
    await acme.client.runs.decide('asked', call, { decision: 'approve' });
    expect((await logOf(acme.client, 'asked')).at(-1)?.type).toBe('ai.request.completed');
    await acme.client.submit(echo('x', { id: 'x', request_id: 'urgent', priority: 1, delay_ms: 3_600_000 }));
    await expect(globex.client.prioritize('urgent', 'x', 9)).rejects.toMatchObject({
      problem: { code: 'not_found' },
    });
    expect((await acme.client.directive('urgent', 'x'))?.priority).toBe(1);
    await acme.client.cancel('urgent');
    const failing = echo('x', { id: 'dead', request_id: 'dead', tool_name: 'peer.nothing_of_this_name' });
    await acme.client.submit({ ...failing }, { waitMs: 20_000 });
    const letters = async ({ client }: Tenant) =>
      (await client.deadLetters()).dead_letters.map(({ request_id, id }) => `${request_id}/${id}`);
    await eventually(() => letters(acme)).toEqual(['dead/dead']);
    expect(await letters(globex)).toEqual([]);
    expect((await operator.deadLetters({ tenant: '*' })).dead_letters).toMatchObject([
      { tenant: 'acme', request_id: 'dead', id: 'dead' },
    ]);
    const first = await operator.deadLetters({ tenant: '*', limit: 1 });
    expect(first).toMatchObject({ total: 1, next: expect.stringMatching(/\/dead$/) as string });
    expect(await operator.deadLetters({ tenant: '*', after: first.next ?? '' })).toEqual({
      dead_letters: [],
      total: 1,
      next: null,
    });
    const totals = [{ tenant: '*' }, { tenant: 'acme' }, {}].map(async (query) =>
      operator.deadLetterGroups(query),
    );
    expect((await Promise.all(totals)).map(({ total }) => total)).toEqual([1, 1, 0]);
    await expect(globex.client.deadLetters({ tenant: '*' })).rejects.toMatchObject({
      problem: { code: 'forbidden' },
    });
    await expect(globex.client.deadLetterGroups({ tenant: '*' })).rejects.toMatchObject({
      problem: { code: 'forbidden' },
    });
    const named = { directives: [{ request_id: 'dead', id: 'dead' }] };
    expect(await globex.client.redrive(named)).toMatchObject({ redriven: [], not_found: named.directives });
    expect(await globex.client.redrive({ all: true })).toMatchObject({ redriven: [], left: 0 });
    const to = { request_id: 'dead', id: 'dead.redrive-1' };
    expect(await acme.client.redrive(named)).toMatchObject({ redriven: [{ from: named.directives[0], to }] });
    expect((await acme.client.directive('dead', to.id))?.directive).toMatchObject({
      request_id: 'dead',
      metadata: { redrive_of: { request_id: 'dead', id: 'dead' } },
    });
  });
});

describe('what another tenant has', () => {
  /** Of every route that names a request, as the description has them. */
  async function pathsOfRequests(): Promise<{ method: string; path: string; body?: string }[]> {
    const { paths } = (await (await fetch(`${scene.service.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const ids: Readonly<Record<string, string>> = { request_id: 'hidden', input_id: 'call.q1' };
    return (
      Object.entries(paths)
        // A token for a browser is made without a look at its request.
        .filter(([path]) => path.includes('{request_id}') && !path.endsWith('/token'))
        .flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => ({
            method: method.toUpperCase(),
            path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'call'),
          })),
        )
    );
  }

  const BODIES: Readonly<Record<string, string>> = {
    input: '{"content":"x"}',
    call: '{"decision":"approve"}',
    priority: '{"priority":9}',
    'call.q1': '{"action":"decline"}',
    fork: '{"at":1}',
    scores: '{"name":"x","value":1}',
  };

  test('gets the same answers as what there is not, byte for byte, on every route of a request', async () => {
    const { acme, globex, service } = scene;
    const paths = await pathsOfRequests();
    expect(paths.length).toBeGreaterThan(8);
    const answered = async ({ key }: Tenant) =>
      Promise.all(
        paths.map(async ({ method, path }) => {
          const post = { 'content-type': 'application/json' };
          const response = await fetch(service.url + path, {
            method,
            headers: { authorization: `Bearer ${key}`, ...(method === 'POST' ? post : {}) },
            ...(method === 'POST' ? { body: BODIES[path.split('/').at(-1) ?? ''] ?? '{}' } : {}),
          });
          return `${method} ${path} ${response.status} ${await response.text()}`;
        }),
      );
    const before = await answered(acme);
    expect(before.filter((line) => !/ 404 /.test(line))).toEqual([]);
    await globex.client.submit(echo('x', { id: 'call', request_id: 'hidden' }), { waitMs: 20_000 });
    expect(await answered(acme)).toEqual(before);
    expect((await answered(globex)).filter((line) => / 200 /.test(line)).length).toBeGreaterThan(4);
  });

  test('is not reached by an id that names its tenant', async () => {
    const { acme, service } = scene;
    const response = await fetch(`${service.url}/v1/requests/globex~${REQUEST}`, {
      headers: { authorization: `Bearer ${acme.key}` },
    });
    expect(response.status).toBe(400);
    const direct = { redisUrl: redis.url, prefix: service.prefix };
    const everyone = await createDirectClient(direct);
    const own = await createDirectClient({ ...direct, tenant: 'globex' });
    await globexHas(own);
    expect(await everyone.request(`globex~${REQUEST}`)).toBeNull();
    expect(await everyone.request('of-globex')).toBeNull();
    expect(await own.request('of-globex')).toMatchObject({ request_id: 'of-globex' });
    await expect(createDirectClient({ ...direct, tenant: 'a~b' })).rejects.toThrow(
      'tenant: 1 to 32 characters',
    );
    await Promise.all([everyone.close(), own.close()]);
  });

  const globexHas = async (client: DirectiveClient) =>
    client.submit(echo('x', { request_id: 'of-globex', id: 'c' }), { waitMs: 20_000 });

  test('is not among its keys and its audit; an admin of the default tenant has all keys', async () => {
    const { acme, globex, admin } = scene;
    const { id } = await globex.keys.create({ name: 'made', scopes: ['read'] });
    const listed = async (keys: AccessClient) => (await keys.list()).keys;
    expect((await listed(globex.keys)).map(({ tenant }) => tenant)).toEqual(['globex', 'globex']);
    expect((await listed(acme.keys)).map(({ tenant }) => tenant)).toEqual(['acme']);
    const revoked = async (which: string) =>
      acme.keys.revoke(which).then(String, (error: unknown) => String(error).replace(which, ''));
    expect(await revoked(id)).toBe(await revoked('0'.repeat(12)));
    await expect(acme.keys.create({ name: 'x', tenant: 'globex', scopes: ['read'] })).rejects.toMatchObject({
      problem: { status: 403, code: 'forbidden' },
    });
    await expect(acme.keys.create({ name: 'x', tenant: 'default', scopes: ['admin'] })).rejects.toMatchObject(
      {
        problem: { status: 403 },
      },
    );
    const noted = async (keys: AccessClient) =>
      (await keys.audit()).entries.flatMap(({ by, target }) => (target === id ? [by.name] : []));
    expect([await noted(globex.keys), await noted(acme.keys), await noted(admin)]).toEqual([
      ['globex'],
      [],
      [],
    ]);
    expect(await listed(admin)).toContainEqual(expect.objectContaining({ id, tenant: 'globex' }));
    await admin.revoke(id);
  });

  test('a key of a tenant drains no worker, builds no list anew and reads no metrics, which concern the work of all', async () => {
    const { acme, service } = scene;
    const headers = { authorization: `Bearer ${acme.key}` };
    const metrics = await fetch(`${service.url}/metrics`, { headers });
    expect([metrics.status, await metrics.json()]).toMatchObject([403, { code: 'forbidden' }]);
    await expect(acme.client.drainWorker('x')).rejects.toMatchObject({ problem: { status: 403 } });
    await expect(acme.client.reindex()).rejects.toMatchObject({ problem: { status: 403 } });
    expect((await acme.client.lanes()).lanes.length).toBeGreaterThan(0);
  });
});

describe('the limits of a tenant', () => {
  test('bound what it has open, and what a process that died counted does not stay counted', async () => {
    const { small, service } = scene;
    const connection = new Redis(redis.url);
    const open = `{${service.prefix}:sweep}:open:small`;
    // Of two submissions that were never accepted.
    const at = Date.now() - 60_000;
    await connection.zadd(open, at, 'small~gone/a', at, 'small~gone/b');
    const waiting = (id: string) =>
      small.client.runs.start({ request_id: id, agent: 'careful', query: ASKING });
    await waiting('w1');
    await waiting('w2');
    await expect(waiting('w3')).rejects.toMatchObject({
      problem: {
        status: 429,
        code: 'lane_full',
        detail: expect.stringContaining('the tenant "small"') as string,
      },
    });
    // The same once more is what is open already.
    expect(await waiting('w2')).toMatchObject({ request_id: 'w2' });
    await small.client.cancel('w1');
    await eventually(async () => connection.zcard(open)).toBe(1);
    connection.disconnect();
  });

  test('bound what its keys submit together, and the bytes of its requests; of others they are as before', async () => {
    const { acme, admin } = scene;
    const { key } = await admin.create({ name: 'second', tenant: 'small', scopes: ['submit'] });
    const second = createHttpClient({ baseUrl: scene.service.url, apiKey: key });
    const refused = second.submit(Array.from({ length: 6 }, (_, index) => echo(`${index}`)));
    await expect(refused).rejects.toMatchObject({
      problem: {
        code: 'rate_limited',
        detail: expect.stringContaining('The tenant "small" may submit 5') as string,
      },
    });
    expect(await acme.client.submit(Array.from({ length: 6 }, () => echo('x')))).toBeTruthy();
  });

  test('count what a redrive has chosen, and nothing of a dry run', async () => {
    const { client, keys } = scene.frugal;
    const failing = echo('x', { request_id: 'lost', tool_name: 'peer.nothing_of_this_name' });
    await client.submit(['a', 'b', 'c', 'd'].map((id) => ({ ...failing, id })));
    const look = { all: true as const, dry_run: true };
    await untilHolds(async () => expect((await client.redriveAll(look)).found).toHaveLength(4));
    const refused = { problem: { code: 'rate_limited' } };
    await expect(client.redriveAll({ all: true })).rejects.toMatchObject(refused);
    await expect(client.redrive({ all: true })).rejects.toMatchObject(refused);
    expect((await client.redriveAll({ filter: { q: 'nothing has it' } })).redriven).toEqual([]);
    expect((await client.redrive({ all: true, limit: 1 })).redriven).toHaveLength(1);
    await expect(client.redrive({ all: true, limit: 1 })).rejects.toMatchObject(refused);
    const { entries } = await keys.audit();
    expect(entries).toMatchObject([{ action: 'redrive', target: '1', by: { name: 'frugal' } }]);
  });
});

const ASKING = planOf('small', [['peer.echo', { said: 'x' }]]);
