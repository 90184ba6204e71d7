/** Keys over HTTP: every route asks for its scope, and lets nobody in without it; keys are made, used, revoked, and nowhere shown.
 *  It must not name the routes: they come from the description. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { checkAccess } from '../../../src/http/access-check.ts';
import type { App } from '../../../src/http/app.ts';
import { handleNotFound } from '../../../src/http/problem-reply.ts';
import { reportRequests, type RequestReports } from '../../../src/http/request-report.ts';
import { createHttpClient, createAccessClient } from '../../../src/client/http-client.ts';
import { type Scope, SCOPES } from '../../../src/contract/access/access.ts';
import { useKeyedService } from '../../support/keyed-service.ts';
import { startService } from '../../support/running-service.ts';

const { redis, roles, service, ADMIN, adminAt, make } = useKeyedService();

interface Operation {
  readonly method: string;
  readonly path: string;
  /** All that it needs; none: public. */
  readonly scopes: readonly Scope[];
}

/** As the description has them, and those of /mcp, which describes itself. */
async function operations(): Promise<Operation[]> {
  const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { security: Record<string, Scope[]>[] }>>;
  };
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, 'x'),
      scopes: security[0]?.['key'] ?? [],
    })),
  );
  const mcp = ['GET', 'POST', 'DELETE'].flatMap((method) =>
    ['/mcp', '/mcp/x'].map((path) => ({ method, path, scopes: ['read' as const] })),
  );
  return [...described, ...mcp];
}

async function ask({ method, path }: Operation, authorization: string | null): Promise<Response> {
  const headers = {
    ...(authorization === null ? {} : { authorization }),
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
  };
  const response = await fetch(service.url + path, {
    method,
    headers,
    ...(method === 'POST' ? { body: '{}' } : {}),
    signal: AbortSignal.timeout(10_000),
  });
  return response;
}

async function statusOf(operation: Operation, key: string | null): Promise<number> {
  const response = await ask(operation, key === null ? null : `Bearer ${key}`);
  await response.body?.cancel();
  return response.status;
}

const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;

describe('every route', () => {
  test('lets in a key with its scopes, and refuses each other with 403', async () => {
    const all = await operations();
    expect(all.length).toBeGreaterThan(30);
    // A repeat of a request submits what was read; a reconciliation settles a dead letter and shows a result.
    const both: Scope[][] = [
      ['submit', 'read'],
      ['redrive', 'read'],
    ];
    const repeats = all.filter(({ scopes }) => scopes.length > 1);
    expect(repeats.map(nameOf)).toEqual([
      'POST /v1/requests/x/again',
      'POST /v1/requests/x/fork',
      'POST /v1/requests/x/directives/x/reconcile',
    ]);
    for (const held of [...SCOPES.map((scope) => [scope]), ...both]) {
      const { key } = await make({ scopes: held });
      const refused: string[] = [];
      for (const operation of all)
        if ((await statusOf(operation, key)) === 403) refused.push(nameOf(operation));
      const others = all.filter(({ scopes }) => scopes.some((scope) => !held.includes(scope))).map(nameOf);
      expect(refused, held.join()).toEqual(others);
    }
  });

  test('refuses no key, a wrong, a revoked and an expired one with 401, in the same words', async () => {
    const revoked = await make();
    await adminAt(service.url).revoke(revoked.id);
    const expired = await make({ expires_at: new Date(Date.now() + 200).toISOString() });
    const known = await make();
    const wrong = `${known.key.slice(0, -4)}AAAA`;
    const foreign = `adj_${'0'.repeat(12)}_${'A'.repeat(43)}`;
    await expect.poll(() => Date.now() > Date.parse(expired.expires_at ?? '')).toBe(true);
    const headers = [revoked.key, expired.key, wrong, foreign, 'x', ADMIN.slice(1)].map(
      (key) => `Bearer ${key}`,
    );
    for (const operation of await operations()) {
      const answers = await Promise.all([null, ...headers].map((header) => ask(operation, header)));
      const bodies = await Promise.all(answers.map((answer) => answer.text()));
      const statuses = new Set(answers.map(({ status }) => status));
      if (operation.scopes.length === 0) {
        expect(statuses, nameOf(operation)).not.toContain(401);
        continue;
      }
      expect([...statuses], nameOf(operation)).toEqual([401]);
      expect(new Set(bodies.slice(1)).size, nameOf(operation)).toBe(1);
      expect(answers[0]?.headers.get('www-authenticate')).toBe('Bearer');
      expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ status: 401, code: 'unauthorized' });
    }
  });

  test('refuses a token for a browser, but those that read its request', async () => {
    const { key } = await make({ scopes: ['read'] });
    const access = createAccessClient({ baseUrl: service.url, apiKey: key });
    const { token } = await access.viewToken('x');
    const open = new Set<string>();
    for (const operation of await operations()) {
      const status = await statusOf(operation, token);
      if (operation.scopes.length > 0 && status !== 401) open.add(nameOf(operation));
    }
    expect([...open].toSorted()).toEqual([
      'GET /v1/requests/x',
      'GET /v1/requests/x/directives/x',
      'GET /v1/requests/x/directives/x/payload',
      'GET /v1/requests/x/signals',
    ]);
    expect(await statusOf({ method: 'GET', path: '/v1/requests/y', scopes: ['read'] }, token)).toBe(401);
  });

  test('has a rule: one without keeps the API from starting', () => {
    const app = fastify() as unknown as App;
    checkAccess(app, null);
    expect(() => app.get('/v1/unknown', async () => null)).toThrow('GET /v1/unknown has not one rule');
  });

  test('answers a caller without a key only with what everyone may know', async () => {
    expect(await (await fetch(`${service.url}/healthz`)).json()).toEqual({ status: 'ok' });
    expect(await (await fetch(`${service.url}/readyz`)).json()).toEqual({ ok: true, checks: {} });
    const withKey = await fetch(`${service.url}/readyz`, { headers: { authorization: `Bearer ${ADMIN}` } });
    expect(Object.keys(((await withKey.json()) as { checks: object }).checks)).not.toEqual([]);
    expect((await fetch(`${service.url}/no/such`)).status).toBe(404);
    expect((await fetch(`${service.url}/v1/tools`, { method: 'PUT' })).status).toBe(405);
  });
});

test('a key that is revoked while its body is on the way makes nothing', async () => {
  const { key, id } = await make();
  const body = JSON.stringify({ name: 'late', scopes: ['admin'] });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const upload = request(`${service.url}/v1/keys`, { method: 'POST', headers });
  const lengthHeaders = { 'content-length': String(Buffer.byteLength(body)), expect: '100-continue' };
  for (const [name, value] of Object.entries(lengthHeaders)) upload.setHeader(name, value);
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.flushHeaders();
  // The answer to `Expect` shows that the headers have arrived.
  await once(upload, 'continue');
  await adminAt(service.url).revoke(id);
  upload.end(body);
  const [{ statusCode }] = await answered;
  expect(statusCode).toBe(401);
});

describe('a key', () => {
  test('submits and reads through the client, and is listed without its secret', async () => {
    const { key, id } = await make({ name: 'ci', scopes: ['submit', 'read'] });
    const client = createHttpClient({ baseUrl: service.url, apiKey: key });
    const { type } = await client.execute({ type: 'emit_tool_error', tool_name: 'a.b', error: 'x' });
    expect(type).toBe('ai.tool.result');
    const types = [];
    const { request_id } = await client.submit({ type: 'emit_tool_error', tool_name: 'a.b', error: 'x' });
    for await (const signal of client.signals(request_id)) types.push(signal.type);
    expect(types.length).toBeGreaterThan(0);
    await expect(client.cancel(request_id)).rejects.toMatchObject({
      problem: { status: 403, scope: 'cancel' },
    });
    await expect
      .poll(async () => (await adminAt(service.url).list()).keys.find((each) => each.id === id)?.last_used_at)
      .toEqual(expect.any(String));
    const { keys } = await adminAt(service.url).list();
    expect(keys.find((each) => each.id === id)).toMatchObject({
      name: 'ci',
      tenant: 'default',
      scopes: ['submit', 'read'],
      created_by: 'environment',
      expires_at: null,
    });
    expect(JSON.stringify(keys)).not.toContain(key.slice(-43));
  });

  test('in a URL stands neither in the answer nor in the log', async () => {
    const { key, id } = await make();
    const refused: { path: string; detail: string }[] = [];
    const reports = {
      meters: { answered: () => {}, refused: () => {} },
      failures: { refused: (line: { path: string; detail: string }) => refused.push(line) },
    };
    const app = fastify() as unknown as App;
    reportRequests(app, reports as unknown as RequestReports);
    app.setNotFoundHandler(handleNotFound);
    const { body } = await app.inject({ url: `/no/${key}` });
    await app.inject({ url: `/no/${key.replaceAll('_', '%5F')}` });
    await adminAt(service.url)
      .revoke(key)
      .catch((error: Error) => refused.push({ path: error.message, detail: '' }));
    await app.close();
    expect(refused).toHaveLength(3);
    expect(body).toContain(`adj_${id}_[REDACTED]`);
    expect(body + JSON.stringify(refused)).not.toContain(key.slice(-20));
  });

  test('is nowhere in Redis', async () => {
    const { key } = await make();
    const connection = new Redis(redis.url);
    const names = await connection.keys('*{access}:keys');
    const texts = await Promise.all(names.map((name) => connection.hgetall(name)));
    connection.disconnect();
    expect(JSON.stringify(texts)).toContain(key.slice(4, 16));
    expect(JSON.stringify(texts)).not.toContain(key.slice(-43));
  });

  test('uses only the tools, agents and models that it is limited to', async () => {
    const { key } = await make({ tools: ['github.*'], agents: ['helper'], models: ['fast'] });
    const client = createHttpClient({ baseUrl: service.url, apiKey: key });
    const codeOf = async (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => 'accepted',
        (error: { problem?: { code: string } }) => error.problem?.code ?? JSON.stringify(error),
      );
    const tool = (tool_name: string, server?: string) =>
      client.submit({ type: 'tool_exec', tool_name, ...(server === undefined ? {} : { server }) });
    const llm = (fields: object) =>
      client.submit({ type: 'llm_generate', context: [{ role: 'user', content: 'x' }], ...fields } as never);
    expect(await codeOf(tool('github.read'))).toBe('accepted');
    expect(await codeOf(tool('read', 'github'))).toBe('accepted');
    expect(await codeOf(tool('github.read', 'other'))).toBe('forbidden');
    expect(await codeOf(tool('read'))).toBe('forbidden');
    expect(await codeOf(llm({ model_alias: 'fast' }))).toBe('accepted');
    expect(await codeOf(llm({ model: '', model_alias: 'fast' }))).toBe('accepted');
    expect(await codeOf(llm({ model: 'openai:gpt', model_alias: 'fast' }))).toBe('forbidden');
    expect(await codeOf(client.runs.start({ agent: 'other', query: 'x' }))).toBe('forbidden');
    expect(await codeOf(client.runs.start({ agent: 'helper', query: 'x' }))).toBe('not_found');
    const model = { agent: 'helper', query: 'x', overrides: { model: 'openai:gpt' } };
    expect(await codeOf(client.runs.start(model))).toBe('forbidden');
    expect(await codeOf(client.redrive({ all: true }))).toBe('forbidden');
    const batch = [
      { type: 'tool_exec', tool_name: 'github.read' },
      { type: 'tool_exec', tool_name: 'a.b' },
    ] as const;
    expect(await codeOf(client.submit(batch))).toBe('forbidden');
    expect(await codeOf(client.submit({ type: 'tool_exec', tool_name: { toString: 1 } } as never))).toBe(
      'forbidden',
    );
  });

  test('that is limited to some tools reaches no other by an agent, a model or a running agent', async () => {
    const { key } = await make({ tools: ['github.*'] });
    const client = createHttpClient({ baseUrl: service.url, apiKey: key });
    const { directives } = await client.submit({ type: 'tool_exec', tool_name: 'github.read' });
    expect(directives).toHaveLength(1);
    const refusal = { problem: { code: 'forbidden' } };
    await expect(client.runs.start({ agent: 'default', query: 'x' })).rejects.toMatchObject(refusal);
    await expect(client.runs.input('another', { content: 'x' })).rejects.toMatchObject(refusal);
    const decision = { decision: 'approve', arguments: { of: 'the caller' } } as const;
    await expect(client.runs.decide('another', 'call', decision)).rejects.toMatchObject(refusal);
    const model = { type: 'llm_generate', model_alias: 'fast', context: [{ role: 'user', content: 'x' }] };
    await expect(client.submit(model as never)).rejects.toMatchObject(refusal);
  });

  test('submits no more than its budgets, which all APIs share', async () => {
    const { key } = await make({ per_day: 3 });
    const client = createHttpClient({ baseUrl: service.url, apiKey: key });
    const tool = { type: 'tool_exec', tool_name: 'a.b' } as const;
    await client.submit([tool, tool]);
    const refusal = { problem: { code: 'rate_limited', status: 429, limit: 3 } };
    await expect(client.submit([tool, tool])).rejects.toMatchObject(refusal);
    await client.submit(tool);
    const until = expect.stringMatching(/possible at \d{4}-\d\d-\d\dT00:00:00Z/) as string;
    await expect(client.submit(tool)).rejects.toMatchObject({
      problem: { ...refusal.problem, detail: until },
    });
    await expect(client.runs.start({ agent: 'any', query: 'x' })).rejects.toMatchObject(refusal);
    await expect(client.runs.input('another', { content: 'x' })).rejects.toMatchObject(refusal);
    const another = { problem: { code: 'forbidden' } };
    await expect(client.redrive({ all: true, limit: 1 })).rejects.toMatchObject(another);
  });

  test('with patterns costs no more for a submission that is refused for its size', async () => {
    const { key } = await make({ tools: Array.from({ length: 64 }, (_, index) => `*${index}*x*`) });
    const client = createHttpClient({ baseUrl: service.url, apiKey: key });
    const many = Array.from({ length: 1_001 }, () => ({ type: 'tool_exec', tool_name: 'a' }) as const);
    await expect(client.submit(many)).rejects.toMatchObject({
      problem: {
        code: 'invalid_body',
        errors: [{ message: 'must hold at most 1000 directives, not 1001' }],
      },
    });
    const long = { type: 'tool_exec', tool_name: `0x${'a'.repeat(100_000)}x` } as const;
    await expect(client.submit(long)).rejects.toMatchObject({
      problem: { detail: '"" is not among the tools of this key.' },
    });
  });

  test('is refused by another API after its revocation', async () => {
    // An API that runs already may refuse a new key for a moment.
    const { key, id } = await make({ scopes: ['read'] });
    await using other = await startService({
      redisUrl: redis.url,
      roles,
      prefix: service.prefix,
      environment: { ADJUTANT_ADMIN_KEY: ADMIN },
    });
    const ofOther = createHttpClient({ baseUrl: other.url, apiKey: key });
    await ofOther.lanes();
    await adminAt(service.url).revoke(id);
    await expect
      .poll(async () => ofOther.lanes().catch((error: Error) => error.message))
      .toMatch(/not known/);
  });
});

test('a thousand requests with keys that do not count leave nothing, and get nothing but 401', async () => {
  const { key, id } = await make();
  const revoked = await make();
  await adminAt(service.url).revoke(revoked.id);
  const random = (): string => randomBytes(32).toString('base64url');
  const headers = [
    () => 'Bearer ',
    () => `Bearer adj_${id}_${random()}`,
    () => `bearer ${revoked.key}`,
    () => `Basic ${Buffer.from(`x:${key}`).toString('base64')}`,
    () => `Bearer ${'a'.repeat(8_000)}`,
    () => `Bearer ${key}.`,
    () => `Bearer ${key} ${key}`,
    () => `${key}`,
    () => 'Bearer __proto__',
    () => `Bearer adj_@version_${random()}`,
    () => `Bearer ${random()}.${random()}.${random()}`,
    () => `Bearer ${key.toUpperCase()}`,
  ];
  const closed = (await operations()).filter(({ scopes }) => scopes.length > 0);
  const submit = { method: 'POST', path: '/v1/directives', scopes: ['submit' as const] };
  const tool = { type: 'tool_exec', tool_name: 'peer.x', request_id: 'fuzzed' };
  for (let round = 0; round < 40; round += 1) {
    const answers = headers.map(async (header, index) => {
      const operation = closed[(round * headers.length + index) % closed.length] ?? submit;
      const asked = await ask(operation, header());
      const submitted = await fetch(service.url + submit.path, {
        method: 'POST',
        headers: { authorization: header(), 'content-type': 'application/json' },
        body: JSON.stringify(tool),
      });
      expect([asked.status, submitted.status], header().slice(0, 80)).toEqual([401, 401]);
      return (await asked.text()) + (await submitted.text());
    });
    for (const text of await Promise.all(answers)) expect(text).not.toContain(id);
  }
  const admin = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  expect(await admin.request('fuzzed')).toBeNull();
});

test('a wait ends when its key is revoked, however its URL is written', async () => {
  const { key, id } = await make();
  const client = createHttpClient({ baseUrl: service.url, apiKey: key });
  const { request_id } = await client.submit({ type: 'tool_exec', tool_name: 'peer.wait', id: 'one' });
  const url = `${service.url}/v1/requests/${request_id}/directives/one?wait%5Fms=20000`;
  const waiting = request(url, { headers: { authorization: `Bearer ${key}`, expect: '100-continue' } }).end();
  // The answer to `Expect` shows that the request has arrived.
  await once(waiting, 'continue');
  const failed = expect(once(waiting, 'response')).rejects.toThrow('socket hang up');
  await adminAt(service.url).revoke(id);
  await failed;
});

test('a stream ends when its key is revoked', async () => {
  const { key, id } = await make();
  const client = createHttpClient({ baseUrl: service.url, apiKey: key });
  const { request_id } = await client.submit({ type: 'tool_exec', tool_name: 'peer.wait' });
  const stream = await fetch(`${service.url}/v1/requests/${request_id}/signals`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${key}` },
  });
  expect(stream.status).toBe(200);
  await adminAt(service.url).revoke(id);
  await expect(stream.text()).rejects.toThrow();
});

test('the audit says who has changed what, and keeps submissions apart', async () => {
  const { key, id } = await make({ name: 'audited' });
  const client = createHttpClient({ baseUrl: service.url, apiKey: key });
  const { request_id } = await client.submit({ type: 'tool_exec', tool_name: 'github.x', id: 'one' });
  await client.cancel(request_id, 'one');
  const { request_id: waiting } = await client.submit({ type: 'tool_exec', tool_name: 'peer.wait' });
  const those = { filter: { q: waiting } };
  await expect
    .poll(async () => (await client.cancelAll({ ...those, dry_run: true })).requests)
    .toHaveLength(1);
  await client.cancelAll(those);
  // Of these nothing is noted: nothing is changed.
  await client.redriveAll({ all: true, dry_run: true });
  await client.redriveAll({ filter: { tag: 'nothing has it' } });
  await client.redrive({ lane: 'nothing-has-it' });
  await adminAt(service.url).revoke(id);
  const actionsOf = async (log: 'changes' | 'submissions') => {
    const { entries } = await adminAt(service.url).audit({ log, limit: 5 });
    return entries.filter(({ by, target }) => by.id === id || target === id).map(({ action }) => action);
  };
  expect(await actionsOf('changes')).toEqual(['revoke_key', 'create_key']);
  await expect.poll(async () => actionsOf('submissions')).toEqual(['cancel', 'submit', 'cancel', 'submit']);
  const [cancelled] = (await adminAt(service.url).audit({ log: 'submissions', limit: 1 })).entries;
  expect(cancelled).toMatchObject({ action: 'cancel', request_id: waiting });
  const { entries, next } = await adminAt(service.url).audit({ limit: 1 });
  expect(entries[0]).toMatchObject({ action: 'revoke_key', target: id, by: { id: 'environment' } });
  for (const before of ['0-0', 'x-1', '18446744073709551616-0', `${'9'.repeat(20)}-1`])
    await expect(adminAt(service.url).audit({ before })).rejects.toMatchObject({ problem: { status: 400 } });
  expect((await adminAt(service.url).audit({ before: '0-1' })).entries).toEqual([]);
  const older = await adminAt(service.url).audit({ before: next ?? '', limit: 1 });
  expect(older.entries[0]).toMatchObject({
    action: 'create_key',
    target: id,
  });
});

async function answers(client: { lanes(): Promise<unknown> }): Promise<boolean> {
  return client.lanes().then(
    () => true,
    () => false,
  );
}

test('a key that Redis has lost with all others counts no more, however many are made anew', async () => {
  await using lost = await startService({
    redisUrl: redis.url,
    roles,
    environment: { ADJUTANT_ADMIN_KEY: ADMIN },
  });
  const elsewhere = { prefix: lost.prefix, environment: { ADJUTANT_ADMIN_KEY: ADMIN } };
  await using other = await startService({ redisUrl: redis.url, roles, ...elsewhere });
  const key = { name: 'lost', scopes: ['read' as const] };
  const old = await adminAt(lost.url).create(key);
  const ofOther = createHttpClient({ baseUrl: other.url, apiKey: old.key });
  // Heard by the other one, or asked for by it within 2 s.
  await expect.poll(async () => answers(ofOther)).toBe(true);
  const connection = new Redis(redis.url);
  await connection.del(`${lost.prefix}:{access}:keys`);
  connection.disconnect();
  const made = await adminAt(lost.url).create(key);
  const withNew = createHttpClient({ baseUrl: other.url, apiKey: made.key });
  await expect.poll(async () => answers(withNew)).toBe(true);
  await expect(ofOther.lanes()).rejects.toMatchObject({ problem: { status: 401 } });
});

describe('a service on loopback', () => {
  test('asks for a key where there are only records of another version', async () => {
    const prefix = 'unreadable';
    const connection = new Redis(redis.url);
    const name = `${prefix}:{access}:keys`;
    await connection.hset(name, { '@version': '1', ab: JSON.stringify({ id: 'ab', digest: 'of later' }) });
    await using closed = await startService({ redisUrl: redis.url, roles, prefix });
    const nobody = createHttpClient({ baseUrl: closed.url });
    await expect(nobody.lanes()).rejects.toMatchObject({ problem: { status: 401 } });
    connection.disconnect();
  });

  test('asks nobody for a key until there is one, and then everyone, for ever', async () => {
    await using open = await startService({ redisUrl: redis.url, roles });
    const nobody = createHttpClient({ baseUrl: open.url });
    const keys = createAccessClient({ baseUrl: open.url });
    await nobody.lanes();
    await expect(keys.create({ name: 'first', scopes: ['read'] })).rejects.toMatchObject({
      problem: { code: 'invalid_body' },
    });
    await nobody.lanes();
    const { key, id, created_by } = await keys.create({ name: 'first', scopes: ['admin'] });
    expect(created_by).toBeNull();
    await expect(nobody.lanes()).rejects.toMatchObject({ problem: { status: 401 } });
    const own = createAccessClient({ baseUrl: open.url, apiKey: key });
    await own.create({ name: 'short', scopes: ['admin'], expires_at: '2999-01-01T00:00:00.000Z' });
    await expect(own.revoke(id)).rejects.toMatchObject({ problem: { code: 'last_admin_key' } });
    await own.revoke(id, { force: true });
    await expect(nobody.lanes()).rejects.toMatchObject({ problem: { status: 401 } });
  });
});

describe('a service beyond loopback', () => {
  const elsewhere = (environment: Record<string, string>, prefix?: string) =>
    startService({
      redisUrl: redis.url,
      roles,
      environment: { ADJUTANT_HOST: '0.0.0.0', ...environment },
      ...(prefix === undefined ? {} : { prefix }),
    });

  test('does not start without keys, and says what to do', async () => {
    await expect(elsewhere({})).rejects.toMatchObject({
      name: 'NoKeys',
      message: expect.stringContaining('0.0.0.0') as string,
      fix: expect.stringMatching(/ADJUTANT_ADMIN_KEY.*--insecure/) as string,
    });
  });

  test('starts with a key of the environment, with keys in Redis, or when it is told to', async () => {
    await make();
    await using byKey = await elsewhere({ ADJUTANT_ADMIN_KEY: ADMIN });
    await using byRedis = await elsewhere({}, service.prefix);
    await using open = await elsewhere({ ADJUTANT_INSECURE: '1' });
    const statuses = await Promise.all(
      [byKey, byRedis, open].map(async ({ url }) => {
        const response = await fetch(`${url.replace('0.0.0.0', '127.0.0.1')}/v1/lanes`);
        return response.status;
      }),
    );
    expect(statuses).toEqual([401, 401, 200]);
  });
});
