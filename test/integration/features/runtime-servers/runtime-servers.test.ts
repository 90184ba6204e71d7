/** Servers that tenants add while the installation runs: the API and the worker are services of their own, and find each
 *  other only in Redis. Issue 38, point 7: added, changed and removed without a restart, for their own tenant alone. */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import { SCOPES } from '../../../../src/contract/access/access.ts';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import { cliFolder } from '../../../support/cli.ts';
import { runCommand } from '../../../support/command.ts';
import { eventually, untilHolds } from '../../../support/eventually.ts';
import { startLegacyPeer } from '../../../support/mcp-servers.ts';
import { freePort, spawnNode } from '../../../support/process.ts';
import { programOf } from '../../../support/program.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../../support/doomed-worker.ts', import.meta.url)));
const redis = useRedis();
const ADMIN = randomBytes(32).toString('hex');
const TOKEN_KEY = randomBytes(32).toString('base64');
const SECRET = 'the-token-of-the-crm';

/** A server with one tool, whose answers the test holds until `release`. */
async function startHolder(label: string) {
  const held: (() => void)[] = [];
  const authorizations = new Set<string>();
  let holds = false;
  const answerOf = async (method: string): Promise<object | null> => {
    if (method === 'initialize')
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: label, version: '1' },
      };
    if (method === 'tools/list')
      return {
        tools: [{ name: 'who', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
      };
    if (method !== 'tools/call') return null;
    if (holds) await new Promise<void>((resolve) => void held.push(resolve));
    return { content: [{ type: 'text', text: label }] };
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    authorizations.add(String(request.headers.authorization));
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { id, method } = JSON.parse(Buffer.concat(parts).toString()) as { id?: unknown; method: string };
    if (id === undefined) return void response.writeHead(202).end();
    const result = await answerOf(method);
    const answer = result === null ? { error: { code: -32_601, message: 'Method not found' } } : { result };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return {
    url,
    held,
    authorizations,
    hold: () => void (holds = true),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const scene = shared(async () => {
  const config = {
    runtime_servers: {
      enabled: true,
      private_addresses: true,
      most_per_tenant: 3,
      environment: { CRM_TOKEN: { tenants: ['acme'] } },
    },
  };
  const environment = {
    ADJUTANT_ADMIN_KEY: ADMIN,
    ADJUTANT_TOKEN_KEY: TOKEN_KEY,
    CRM_TOKEN: SECRET,
  };
  const api = await startService({ redisUrl: redis.url, roles: { api: true }, config, environment });
  const { prefix } = api;
  const startWorker = async () =>
    startService({ redisUrl: redis.url, roles: { worker: true }, prefix, config, environment });
  let worker = await startWorker();
  const admin = createAccessClient({ baseUrl: api.url, apiKey: ADMIN });
  const of = async (tenant: string) => {
    const { key } = await admin.create({ name: `key of ${tenant}`, tenant, scopes: [...SCOPES] });
    const how = { baseUrl: api.url, apiKey: key };
    return { key, client: createHttpClient(how), keys: createAccessClient(how) };
  };
  const [{ client: acme, keys: acmeKeys, key: acmeKey }, { client: globex }] = [
    await of('acme'),
    await of('globex'),
  ];
  const peer = await startLegacyPeer();
  return {
    api,
    acme,
    acmeKeys,
    acmeKey,
    globex,
    peer,
    restartWorker: async (meanwhile: () => Promise<void>) => {
      await worker.stop();
      await meanwhile();
      worker = await startWorker();
    },
    [Symbol.asyncDispose]: async () => {
      for (const client of [acme, globex]) await client.close();
      for (const each of [worker, api, peer]) await each[Symbol.asyncDispose]();
    },
  };
});

async function call(client: DirectiveClient, tool: string): Promise<string> {
  const end = await client.execute({
    type: 'tool_exec',
    tool_name: tool,
    arguments: {},
    deadline_ms: 80_000,
  });
  return JSON.stringify(end.data);
}

describe('a server that a tenant adds at runtime', () => {
  test('is served by the worker that runs already, for this tenant alone, with the secret from the environment', async () => {
    const { acme, globex, api } = scene;
    await using crm = await startHolder('first crm');
    const added = await acme.servers.put('crm', {
      server: { url: crm.url, headers: { Authorization: 'Bearer ${CRM_TOKEN}' } },
    });
    expect(added).toMatchObject({ name: 'crm', changed_by: 'key of acme', fault: null, sealed: true });
    expect(await call(acme, 'crm.who')).toContain('first crm');
    expect(await call(acme, 'who')).toContain('first crm');
    expect([...crm.authorizations]).toEqual([`Bearer ${SECRET}`]);
    await eventually(async () => (await acme.tools()).tools.map(({ name }) => name)).toContain('crm.who');
    await eventually(async () => (await acme.servers.get('crm')).status).toBe('ready');

    expect((await globex.tools({ remembered: true })).tools.map(({ name }) => name)).not.toContain('crm.who');
    expect(await call(globex, 'crm.who')).toContain('unknown_tool');
    expect(await call(globex, 'acme~crm.who')).toContain('unknown_tool');
    await expect(
      globex.submit({ type: 'tool_exec', tool_name: 'who', server: 'acme~crm', arguments: {} } as never),
    ).rejects.toMatchObject({ problem: { code: 'invalid_body' } });
    const others = JSON.stringify([await globex.lanes(), await globex.workers()]);
    expect(others).not.toContain('acme~');
    expect(JSON.stringify(await acme.lanes())).toContain('tool.acme~crm');
    await expect(globex.servers.get('crm')).rejects.toMatchObject({ problem: { code: 'not_found' } });

    // The secret is in none of the keys of the installation, nor in what administrators read.
    const shown = JSON.stringify([await acme.servers.list(), await acme.tools()]);
    expect(shown).toContain('${CRM_TOKEN}');
    expect(shown).not.toContain(SECRET);
    const connection = new Redis(redis.url);
    expect(JSON.stringify(await connection.hgetall(`${api.prefix}:{runtime-servers}:of:acme`))).not.toContain(
      '127.0.0.1',
    );
    connection.disconnect();
    await acme.servers.remove('crm');
  });

  test('ends a call in flight with the old definition, and begins the next one with the new', async () => {
    const { acme } = scene;
    await using before = await startHolder('old definition');
    await using after = await startHolder('new definition');
    before.hold();
    const { version } = await acme.servers.put('moved', { server: { url: before.url } });
    const inFlight = call(acme, 'moved.who');
    await eventually(() => before.held.length).toBe(1);
    const changed = await acme.servers.put('moved', { server: { url: after.url }, version });
    await untilHolds(async () => expect(await call(acme, 'moved.who')).toContain('new definition'));
    for (const release of before.held) release();
    expect(await inFlight).toContain('old definition');
    // The same again changes nothing; an older version is refused.
    const again = await acme.servers.put('moved', { server: { url: after.url }, version });
    expect(again.version).toBe(changed.version);
    await expect(acme.servers.put('moved', { server: { url: before.url }, version })).rejects.toMatchObject({
      problem: { code: 'version_conflict' },
    });
    await acme.servers.remove('moved', { version: changed.version });
    // What was accepted while a list of a second ago still had it ends too.
    expect(await call(acme, 'moved.who')).toContain('unknown_tool');
  });

  test('is found by a worker that was down when it was added', async () => {
    const { acme, peer, restartWorker } = scene;
    const { transport } = peer.options;
    const url = 'url' in transport ? transport.url : '';
    await restartWorker(async () => void (await acme.servers.put('late', { server: { url } })));
    expect(
      JSON.stringify(
        await acme.execute({
          type: 'tool_exec',
          tool_name: 'late.echo',
          arguments: { message: 'after the start', text: 'after the start' },
        }),
      ),
    ).toContain('after the start');
    await acme.servers.remove('late');
  });

  test('is changed by one of two writers, and bounded in number', async () => {
    const { globex } = scene;
    const url = 'http://127.0.0.1:9/mcp';
    const put = async (name: string, path: string) =>
      globex.servers.put(name, { server: { url: `${url}/${path}` } }).then(
        () => 'done',
        (error: { problem?: { code?: string } }) => error.problem?.code,
      );
    const both = await Promise.all([put('one', 'a'), put('one', 'b')]);
    expect(both.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual(['done', 'version_conflict']);
    expect([await put('two', ''), await put('__proto__', ''), await put('four', '')]).toEqual([
      'done',
      'done',
      'servers_full',
    ]);
    const { servers } = await globex.servers.list();
    expect(servers.map(({ name }) => name)).toEqual(['__proto__', 'one', 'two']);
    for (const { name } of servers) await globex.servers.remove(name);
    expect((await globex.servers.list()).servers).toEqual([]);
    // Every change is followed by all workers: a loop is paced.
    const loop = async (left: number, version?: string): Promise<unknown> => {
      const server = { url: `${url}/${left}` };
      const next = await globex.servers.put('one', { server, ...(version && { version }) });
      return left === 0 ? null : loop(left - 1, next.version);
    };
    await expect(loop(60)).rejects.toMatchObject({ problem: { code: 'rate_limited' } });
  });

  test('is tested from the API, and noted in the audit', async () => {
    const { acme, acmeKeys } = scene;
    await using crm = await startHolder('tested');
    const tested = await acme.servers.test('crm', { server: { url: crm.url } });
    expect(tested).toMatchObject({ ok: true, more: 0, tools: [{ name: 'crm.who', effect: 'read' }] });
    const failed = await acme.servers.test('crm', { server: { url: 'http://127.0.0.1:9/mcp' } });
    expect(failed).toMatchObject({ ok: false, tools: [] });
    const noted = async (log: 'changes' | 'submissions') =>
      (await acmeKeys.audit({ log })).entries.map(({ action, target, by }) => [action, target, by.tenant]);
    expect(await noted('submissions')).toContainEqual(['test_server', 'crm', 'acme']);
    const changes = await noted('changes');
    expect(changes).toContainEqual(['put_server', 'moved', 'acme']);
    expect(changes).toContainEqual(['remove_server', 'moved', 'acme']);
    // Neither the repeat nor the refusal changed anything.
    expect(changes.filter(([action, name]) => action === 'put_server' && name === 'moved')).toHaveLength(2);
  });

  test('is added, listed, tested and removed at the terminal', async () => {
    const { api, acmeKey } = scene;
    await using crm = await startHolder('from the terminal');
    const folder = await cliFolder({ 'typed.json': { url: crm.url, bearer_token: 'a-literal-secret' } });
    const run = async (...args: string[]) =>
      runCommand(['servers', ...args], api.url, { ADJUTANT_API_KEY: acmeKey });
    const file = join(folder, 'typed.json');
    expect((await run('test', file)).stdout).toContain('test.who');
    expect(await run('add', 'typed', file)).toMatchObject({ code: 0 });
    const listed = (await run('list')).stdout;
    expect(listed).toMatch(/typed +\d+ +(connecting|ready)/);
    expect(listed).not.toContain('a-literal-secret');
    expect((await run('remove', 'typed')).stdout).toContain('typed is removed');
    expect(await run('remove', 'typed')).toMatchObject({ code: 1 });
  });

  test('is refused by name, by file, and with a literal secret that nothing would seal', async () => {
    const { acme } = scene;
    const put = async (client: DirectiveClient, name: string, more = {}) =>
      client.servers.put(name, { server: { url: 'http://127.0.0.1:9/mcp', ...more } }).then(
        () => 'done',
        (error: { problem?: { code?: string } }) => error.problem?.code,
      );
    expect(await put(acme, 'peer')).toBe('id_conflict');
    for (const name of ['a/b', 'a~b', 'n'.repeat(300), '..'])
      expect(await put(acme, name)).toMatch(/bad_request|invalid|not_found/);
    const config = { runtime_servers: { enabled: true, private_addresses: true } };
    await using keyless = await startService({ redisUrl: redis.url, roles: { api: true }, config });
    const client = createHttpClient({ baseUrl: keyless.url });
    expect(await put(client, 'crm', { bearer_token: 'a-literal-secret' })).toBe('bad_request');
    expect(await put(client, 'crm')).toBe('done');
    await client.close();
  });

  test('is refused where the operator has not enabled it', async () => {
    await using off = await startService({ redisUrl: redis.url, roles: { api: true } });
    const client = createHttpClient({ baseUrl: off.url });
    await expect(client.servers.put('crm', { server: { url: 'https://crm.example' } })).rejects.toMatchObject(
      { problem: { code: 'not_found' } },
    );
    await client.close();
  });
});

describe('a server whose processes are killed', () => {
  test('is stored by an API that dies in the PUT, and followed by the next worker after one that dies over it', async () => {
    const [port, prefix] = [await freePort(), `killed-${randomUUID()}`];
    const config = { runtime_servers: { enabled: true, private_addresses: true } };
    const environment = { ADJUTANT_ADMIN_KEY: ADMIN, ADJUTANT_TOKEN_KEY: TOKEN_KEY };
    const given = { redisUrl: redis.url, prefix, config, environment };
    await using crm = await startHolder('crm of the dead');
    const body = { server: { url: crm.url } };
    // Right after Redis has executed the change: nothing has announced it, nor answered.
    const doomed = { ...given, port, roles: { api: true }, mark: '"sealed":' };
    const api = spawnNode([DOOMED, JSON.stringify(doomed)]);
    await api.waitForLine(/^ready/);
    const baseUrl = `http://127.0.0.1:${port}`;
    const client = createHttpClient({ baseUrl, apiKey: ADMIN });
    await expect(client.servers.put('crm', body)).rejects.toThrow();
    expect((await api.exited).signal).toBe('SIGKILL');
    await using _api = await startService({ ...given, port, roles: { api: true } });
    const { version } = await client.servers.get('crm');
    expect((await client.servers.put('crm', body)).version).toBe(version);
    const worker = spawnNode([DOOMED, JSON.stringify({ ...given, mark: 'default~crm' })]);
    expect((await worker.exited).signal).toBe('SIGKILL');
    await using _worker = await startService({ ...given, roles: { worker: true } });
    expect(await call(client, 'crm.who')).toContain('crm of the dead');
    await client.close();
  });
});
