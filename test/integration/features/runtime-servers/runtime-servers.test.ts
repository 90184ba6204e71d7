/** Servers, agents and policies that tenants add while the installation runs: the API and the worker are services of their own, and find each
 *  other only in Redis. Issue 38, point 7: added, changed and removed without a restart, for their own tenant alone. */
import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
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
import { ownServerEntry, startLegacyPeer } from '../../../support/mcp-servers.ts';
import { freePort, spawnNode } from '../../../support/process.ts';
import { programOf } from '../../../support/program.ts';
import { json, startProvider } from '../../../support/provider-server.ts';
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
        ({ problem }: { problem?: { code?: string; detail?: string } }) => {
          if (problem?.code === 'version_conflict') details.push(problem.detail ?? '');
          return problem?.code;
        },
      );
    const details: string[] = [];
    const both = await Promise.all([put('one', 'a'), put('one', 'b')]);
    expect(both.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual(['done', 'version_conflict']);
    expect(details).toEqual([expect.stringMatching(/"one" has the version \d+: read it/)]);
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

/** Answers with the system prompt of the call; refuses while it is away. */
const model = shared(async () => {
  let isAway = false;
  const started = await startProvider(async (response, request, index) => {
    const { messages } = request.body as { messages: { role: string; content: string }[] };
    if (isAway) return json(400, { error: { message: 'away' } })(response, request, index);
    const prompt = messages.find(({ role }) => role === 'system')?.content ?? '';
    const choices = [{ index: 0, finish_reason: 'stop', message: { content: `prompt ${prompt}` } }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return json(200, { id: 'a', object: 'chat.completion', choices, usage })(response, request, index);
  });
  return {
    url: started.url,
    away: (is: boolean) => void (isAway = is),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
});

/** A service with everything, where both sections are enabled. */
const whole = shared(async () => {
  const config = {
    mcpServers: { peer: ownServerEntry('legacy-peer.ts') },
    providers: {
      main: { type: 'openai-compatible', base_url: `${model.url}/v1`, models: { open: {}, dear: {} } },
    },
    agents: { clerk: { model: 'main:open' } },
    policy: { rules: [{ name: 'no-fail', when: 'tool == "peer.fail"', decision: 'deny' }] },
    runtime_agents: {
      enabled: true,
      tools: ['peer.*'],
      models: ['main:open'],
      limits: { max_iterations: 5 },
      most_per_tenant: 2,
    },
    runtime_policies: { enabled: true },
  };
  const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
  const service = await startService({ redisUrl: redis.url, config, environment });
  const admin = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const of = async (tenant: string) => {
    const { key } = await admin.create({ name: `key of ${tenant}`, tenant, scopes: [...SCOPES] });
    const how = { baseUrl: service.url, apiKey: key };
    return { key, client: createHttpClient(how), keys: createAccessClient(how) };
  };
  const [acme, globex] = [await of('acme'), await of('globex')];
  const operator = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  await untilHolds(async () => expect(JSON.stringify(await operator.tools())).toContain('peer.echo'));
  return {
    url: service.url,
    /** Another API of the installation, with other sections. */
    api: async (more: object) =>
      startService({
        redisUrl: redis.url,
        prefix: service.prefix,
        roles: { api: true },
        environment,
        config: { ...config, ...more },
      }),
    acme: acme.client,
    acmeKey: acme.key,
    acmeKeys: acme.keys,
    globex: globex.client,
    operator,
    admin,
    [Symbol.asyncDispose]: async () => {
      for (const client of [acme.client, globex.client, operator]) await client.close();
      await service[Symbol.asyncDispose]();
    },
  };
});

async function refusalOf(work: Promise<unknown>): Promise<{ code: string; paths: string[] }> {
  const refused = await work.then(
    () => null,
    (error: { problem: { code: string; errors?: { path: string }[] } }) => error.problem,
  );
  return { code: refused?.code ?? 'done', paths: (refused?.errors ?? []).map(({ path }) => path) };
}

describe('an agent that a tenant adds at runtime', () => {
  const agentOf = (prompt: string) => ({
    model: 'main:open',
    stream: false,
    system_prompt: prompt,
    limits: { max_iterations: 5 },
    model_call: { max_retries: 0 },
  });

  async function answered(client: DirectiveClient, requestId: string): Promise<string> {
    await eventually(async () => (await client.request(requestId))?.run?.status).toBe('completed');
    return String((await client.request(requestId))?.run?.result);
  }

  test('begins the runs of its tenant without a restart, and those that have begun keep their version', async () => {
    const { acme, globex } = whole;
    const { version } = await acme.runtimeAgents.put('helper', { agent: agentOf('one') });
    expect((await acme.agents()).agents).toContainEqual(expect.objectContaining({ name: 'helper', version }));
    expect(JSON.stringify(await globex.agents())).not.toContain('helper');
    const start = { agent: 'helper', query: 'hello' };
    expect((await refusalOf(globex.runs.start(start))).code).toBe('not_found');

    model.away(true);
    const { request_id: old } = await acme.runs.start(start);
    await eventually(async () => (await acme.request(old))?.run?.status).toBe('failed');
    model.away(false);
    const second = { agent: agentOf('two'), version };
    await acme.runtimeAgents.put('helper', second);
    expect((await refusalOf(acme.runtimeAgents.put('helper', { ...second, agent: agentOf('3') }))).code).toBe(
      'version_conflict',
    );
    await eventually(async () => (await acme.request(old))?.status).toBe('closed');
    await acme.runs.resume(old);
    expect(await answered(acme, old)).toBe('prompt one');
    // A repeat, and what a schedule triggers, are new runs.
    const { request_id: repeated } = await acme.again(old, {});
    expect(await answered(acme, repeated)).toBe('prompt two');
    await acme.schedules.create({ id: 'daily', cron: '0 4 * * *', run: start } as never);
    const { request_id: fired } = (await acme.schedules.trigger('daily')) as { request_id: string };
    expect(await answered(acme, fired)).toBe('prompt two');

    await acme.runtimeAgents.remove('helper');
    expect((await refusalOf(acme.runs.start(start))).code).toBe('not_found');
  });

  test.each([
    [{ policies: { approvals: { 'peer.*': 'auto' } } }, 'agent.policies.approvals.peer.*'],
    [{ policies: { overrides: 'any' } }, 'agent.policies.overrides'],
    [{ policies: { budget: 'ask' } }, 'agent.policies.budget'],
    [{ limits: { max_iterations: 6 } }, 'agent.limits.max_iterations'],
    [{ tools: ['peer.echo', '*'] }, 'agent.tools[1]'],
    [{ model: 'main:dear' }, 'agent.model'],
    [{ model: undefined, model_alias: 'fast' }, 'agent.model_alias'],
    [{ strategy: 'unknown' }, 'agent.strategy'],
    [{ system_prompt: 'x'.repeat(40_000) }, 'agent'],
    [{ name: 'another' }, 'agent.name'],
    [{ nothing: 1 }, 'agent.nothing'],
  ])('loosens nothing that the operator has bounded: %o', async (more, path) => {
    const agent = { ...agentOf('loose'), ...more };
    expect(await refusalOf(whole.acme.runtimeAgents.put('loose', { agent }))).toEqual({
      code: 'invalid_body',
      paths: [path],
    });
  });

  test('has no name of the configuration, is bounded in number, and is none of a key that is limited', async () => {
    const { acme, admin, url, globex } = whole;
    const put = async (client: DirectiveClient, name: string) =>
      (await refusalOf(client.runtimeAgents.put(name, { agent: agentOf(name) }))).code;
    expect(await put(acme, 'clerk')).toBe('id_conflict');
    expect([await put(globex, 'a'), await put(globex, 'b'), await put(globex, 'c')]).toEqual([
      'done',
      'done',
      'agents_full',
    ]);
    const { key } = await admin.create({
      name: 'narrow',
      tenant: 'acme',
      scopes: [...SCOPES],
      tools: ['peer.echo'],
    });
    const narrow = createHttpClient({ baseUrl: url, apiKey: key });
    expect(await put(narrow, 'wide')).toBe('forbidden');
    await narrow.close();
  });
});

describe('a policy that a tenant adds at runtime', () => {
  async function echoed(client: DirectiveClient, text: string): Promise<string> {
    const end = await client.execute({ type: 'tool_exec', tool_name: 'peer.echo', arguments: { text } });
    return JSON.stringify(end.data);
  }

  test('makes the rules of its tenant stricter, also where it cannot be evaluated, and never looser', async () => {
    const { acme, globex } = whole;
    const policy = {
      counters: { echoes: { of: 'tool == "peer.echo" && args.text == "counted"' } },
      rules: [
        {
          name: 'word',
          when: 'tool == "peer.echo" && args.text == "secret"',
          decision: 'deny',
          reason: 'Ours.',
        },
        {
          name: 'once',
          when: 'tool == "peer.echo" && args.text == "counted"',
          decision: 'limit',
          counter: 'echoes',
          at_most: 1,
        },
        {
          name: 'broken',
          when: 'tool == "peer.echo" && args.text == "broken" && args.missing > 1',
          decision: 'ask',
        },
      ],
    };
    const { version } = await acme.policies.put('words', { policy });
    await eventually(async () => echoed(acme, 'secret')).toContain('words/word');
    expect(await echoed(globex, 'secret')).not.toContain('policy_denied');
    expect(await echoed(acme, 'plain')).toContain('"ok":true');
    expect(await echoed(acme, 'broken')).toContain('words/broken');
    expect([await echoed(acme, 'counted'), await echoed(acme, 'counted')]).toEqual([
      expect.stringContaining('"ok":true'),
      expect.stringContaining('words/once'),
    ]);
    // The operator's rule decides as before.
    const failed = await acme.execute({ type: 'tool_exec', tool_name: 'peer.fail', arguments: {} });
    expect(JSON.stringify(failed.data)).toContain('no-fail');
    await acme.policies.remove('words', { version });
    await eventually(async () => echoed(acme, 'secret')).toContain('"ok":true');
  });

  test.each([
    [{ rules: [{ name: 'a', when: 'tool ==', decision: 'deny' }] }, 'policy.rules[0].when'],
    [{ rules: [{ name: 'a', when: 'true', decision: 'allow' }] }, 'policy.rules[0].decision'],
    [{ rules: [{ name: 'a', when: 'counters.none > 1.0', decision: 'deny' }] }, 'policy.rules[0].when'],
    [{ rules: [{ name: 'a', when: 'true', decision: 'deny' }], default: 'allow' }, 'policy.default'],
    [
      { rules: [{ name: 'a', when: 'args.l.all(x, x in args.m)', decision: 'deny' }] },
      'policy.rules[0].when',
    ],
    [{ rules: [{ name: 'a', when: `${'1 + '.repeat(130)}1 == 1`, decision: 'deny' }] }, 'policy'],
    // A call that is held for longer would count past the operator's limit of its day.
    [{ rules: [{ name: 'a', when: 'true', decision: 'ask', ask_ms: 3_600_001 }] }, 'policy.rules[0].ask_ms'],
    [
      { rules: Array.from({ length: 9 }, (_, at) => ({ name: `r${at}`, when: 'true', decision: 'deny' })) },
      'policy.rules',
    ],
  ])('is refused with the place of its fault: %o', async (policy, path) => {
    expect(await refusalOf(whole.acme.policies.put('odd', { policy }))).toEqual({
      code: 'invalid_body',
      paths: [path],
    });
  });

  test('is added, listed and removed at the terminal', async () => {
    const { url, acmeKey, api } = whole;
    const when = 'tool == "peer.add"';
    const rules = [{ name: 'once', when, decision: 'limit', counter: 'adds', at_most: 1 }];
    const folder = await cliFolder({
      'typed.json': { rules, counters: { adds: { of: when } } },
      'adjutant.json': { mcpServers: { peer: { url: 'http://127.0.0.1:9/mcp' } } },
      'agent.json': { model: 'main:open', limits: { max_iterations: 2 } },
      'dear.json': { model: 'main:dear', limits: { max_iterations: 2 } },
    });
    const run = async (...args: string[]) => runCommand(args, url, { ADJUTANT_API_KEY: acmeKey });
    expect(await run('policy', 'add', 'typed', join(folder, 'typed.json'))).toMatchObject({ code: 0 });
    expect((await run('policy', 'list')).stdout).toMatch(/typed +\d+ +1 /);
    const recorded = (id: string) => {
      const of = { request_id: 'r', id, at: '2026-11-01T12:00:00Z', lane: 'tool.peer', tenant: 'acme' };
      const directive = { type: 'tool_exec', tool_name: 'peer.add' };
      return { ...of, directive, decision: 'allow', rule: null };
    };
    const calls = join(folder, 'calls.jsonl');
    await writeFile(calls, ['a', 'b'].map((id) => JSON.stringify(recorded(id))).join('\n'));
    const own = ['--config', join(folder, 'adjutant.json')];
    expect(await run('policy', 'test', calls, ...own)).toMatchObject({ code: 0 });
    const replayed = await run('policy', 'test', calls, ...own, '--tenant-policies');
    expect([replayed.code, replayed.stdout]).toEqual([1, expect.stringMatching(/r\/b .* deny +typed\/once/)]);
    const explained = await run('policy', 'explain', 'r/b', '--file', calls, ...own, '--tenant-policies');
    expect(explained.stdout).toMatch(/read +counters\.acme~typed\.adds +1\n/);
    expect((await run('policy', 'remove', 'typed')).stdout).toContain('typed is removed');
    expect(await run('agents', 'add', 'typed', join(folder, 'agent.json'))).toMatchObject({ code: 0 });
    expect((await run('agents', 'list')).stdout).toMatch(/typed +\d+ +/);
    expect((await run('agents', 'list', '--json')).stdout).not.toContain('clerk');
    // Bounds that have become stricter: it is listed with its fault, and replaced without its version.
    await using stricter = await api({ runtime_agents: { enabled: true, models: ['main:dear'] } });
    const there = async (...args: string[]) =>
      runCommand(['agents', ...args], stricter.url, { ADJUTANT_API_KEY: acmeKey });
    expect((await there('list')).stdout).toMatch(/typed +\d+ .*model/);
    expect(await there('add', 'typed', join(folder, 'dear.json'))).toMatchObject({ code: 0 });
    expect((await run('agents', 'remove', 'typed')).stdout).toContain('typed is removed');
  });

  test('is changed by an operator for its tenant, which sees who it was; by no other tenant', async () => {
    const { operator, acme, globex, acmeKeys, admin } = whole;
    const policy = { rules: [{ name: 'none', when: 'tool == "peer.never"', decision: 'deny' }] };
    await operator.policies.put('theirs', { policy }, { tenant: 'acme' });
    expect((await acme.policies.list()).policies.map(({ name }) => name)).toEqual(['theirs']);
    expect((await operator.policies.list()).policies).toEqual([]);
    expect((await operator.policies.list({ tenant: 'acme' })).policies).toHaveLength(1);
    await operator.runtimeAgents.put(
      'theirs',
      { agent: { model: 'main:open', limits: { max_iterations: 1 } } },
      { tenant: 'acme' },
    );
    expect(JSON.stringify(await acme.agents())).toContain('theirs');
    for (const work of [
      globex.policies.put('mine', { policy }, { tenant: 'acme' }),
      globex.policies.remove('theirs', {}, { tenant: 'acme' }),
      globex.runtimeAgents.get('theirs', { tenant: 'acme' }),
      globex.servers.list({ tenant: 'acme' }),
    ])
      expect((await refusalOf(work)).code).toBe('forbidden');
    expect((await refusalOf(operator.policies.put('all', { policy }, { tenant: '*' }))).code).toBe(
      'invalid_query',
    );
    const { entries } = await acmeKeys.audit();
    const change = entries.find(({ action, target }) => action === 'put_policy' && target === 'theirs');
    expect(change?.by.tenant).toBe('default');
    const own = (await admin.audit()).entries.map(({ action, target }) => [action, target]);
    expect(own).toContainEqual(['change_tenant', 'acme']);
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
