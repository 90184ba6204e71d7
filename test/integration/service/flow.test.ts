/** Flow control as callers and operators see it, over HTTP and by the command line, with keys of two tenants.
 *  It must never judge by time: what holds a limit is a call that the test itself ends. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../src/client/http-client.ts';
import { SCOPES } from '../../../src/contract/access/access.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { runCommand } from '../../support/command.ts';
import { eventually, untilHolds } from '../../support/eventually.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { refusal } from '../../support/pipeline.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const ADMIN = randomBytes(32).toString('hex');

const scene = shared(async () => {
  const config = {
    flow: {
      rules: {
        'per-account': {
          match: { tag: 'ruled' },
          concurrency: { by: 'arguments.account', limit: 1 },
          priority: 2,
        },
      },
    },
  };
  const service = await startService({
    redisUrl: redis.url,
    config,
    environment: { ADJUTANT_ADMIN_KEY: ADMIN },
  });
  const admin = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const of = async (tenant: string) => {
    const { key } = await admin.create({ name: tenant, tenant, scopes: [...SCOPES] });
    const cli = async (...args: string[]) => runCommand(args, service.url, { ADJUTANT_API_KEY: key });
    return { client: createHttpClient({ baseUrl: service.url, apiKey: key }), cli };
  };
  const [plain, acme, globex] = [await of('default'), await of('acme'), await of('globex')];
  const listed = async () => expect(JSON.stringify(await plain.client.tools())).toContain('peer.wait');
  await untilHolds(listed);
  return { plain, acme, globex, [Symbol.asyncDispose]: () => service.stop() };
});

interface Call {
  readonly id: string;
  readonly request_id: string;
  readonly [field: string]: unknown;
}

const call = (tool: 'wait' | 'echo', fields: Call) =>
  ({ type: 'tool_exec', tool_name: `peer.${tool}`, arguments: {}, effect: 'read', ...fields }) as const;

/** Holds its limits until it is cancelled. */
async function holder(client: DirectiveClient, fields: Call): Promise<void> {
  await client.submit(call('wait', fields));
  await eventually(async () => (await client.directive(fields.request_id, fields.id))?.status).toBe(
    'running',
  );
}

const why = async (client: DirectiveClient, requestId: string, id: string) =>
  (await client.directive(requestId, id))?.waiting?.message;

describe('a limit by key', () => {
  const concurrency = { key: 'account-42', limit: 1 };

  test('is shown by what waits, by its request and by the lane; who waits is let in when it is given back', async () => {
    const { client, cli } = scene.plain;
    await holder(client, { request_id: 'held', id: 'first', concurrency });
    await client.submit(call('echo', { request_id: 'held', id: 'second', concurrency, priority: 1 }));
    await eventually(() => why(client, 'held', 'second')).toBe('account-42, 1 of 1 is running');
    expect(await client.directive('held', 'second')).toMatchObject({
      priority: 1,
      limits: ['account-42, 1 at once'],
      waiting: { reason: 'limit', until: null },
    });
    expect((await cli('get', 'held')).stdout).toMatch(/second .* waits: account-42, 1 of 1 is running/);
    const { lanes } = await client.lanes();
    expect(lanes.find(({ name }) => name === 'tool.peer')).toMatchObject({ gated: 1 });
    expect((await cli('lanes')).stdout).toMatch(/tool\.peer +1 .*1 of them for its turn or a limit/);
    const changed = await cli('prioritize', 'held', 'second', '9');
    expect(changed).toMatchObject({ code: 0, stdout: 'second  waits with priority 9\n' });
    expect((await client.directive('held', 'second'))?.priority).toBe(9);
    expect((await refusal(client.prioritize('held', 'first', 9))).detail).toContain('it is running');
    await client.cancel('held', 'first');
    expect(await client.result('held', 'second')).toMatchObject({ data: { result: { ok: true } } });
  });

  test('of another tenant is another limit', async () => {
    const [acme, globex] = [scene.acme.client, scene.globex.client];
    await holder(acme, { request_id: 'own', id: 'first', concurrency });
    const ended = await globex.execute(call('echo', { request_id: 'own', id: 'first', concurrency }));
    expect(ended.data).toMatchObject({ result: { ok: true } });
    await acme.cancel('own');
  });

  test('is typed with its call', async () => {
    const { client, cli } = scene.plain;
    await holder(client, { request_id: 'typed-holder', id: 'first', concurrency });
    const options = ['--concurrency', 'other-42=1', '--rate', 'other-42=10/1m', '--fairness-key', 'k'];
    const done = await cli(
      'call',
      'peer.echo',
      '{"a":1}',
      ...options,
      '--priority',
      '9',
      '--request',
      'typed',
      '--id',
      'x',
    );
    expect(done).toMatchObject({ code: 0 });
    const { directive, limits } = (await client.directive('typed', 'x')) ?? {};
    expect(directive).toMatchObject({
      priority: 9,
      fairness_key: 'k',
      concurrency: { key: 'other-42', limit: 1 },
      rate: { key: 'other-42', max: 10, per_ms: 60_000 },
    });
    expect(limits).toEqual(['other-42, 1 at once', 'other-42, 10 in 60 s']);
    expect((await cli('call', 'peer.echo', '--concurrency', 'account')).stderr).toContain(
      'as in account-42=2',
    );
    await client.cancel('typed-holder');
  });
});

describe('a rule', () => {
  const ruled = { metadata: { tags: ['ruled'] }, arguments: { account: 42 } };

  test('is loosened by no caller, and tells one tenant nothing of another', async () => {
    const [acme, globex] = [scene.acme.client, scene.globex.client];
    await holder(acme, { request_id: 'ruled', id: 'first', ...ruled });
    const asked = { priority: 9, concurrency: { key: '42', limit: 10_000 }, fairness_key: 'new' };
    await globex.submit(call('echo', { request_id: 'ruled', id: 'x', ...ruled, ...asked }));
    await eventually(() => why(globex, 'ruled', 'x')).toBe('rule per-account: 42, as many run as may');
    expect(await globex.directive('ruled', 'x')).toMatchObject({
      priority: 2,
      limits: ['rule per-account: 42, 1 at once', '42, 10000 at once'],
    });
    const refused = await refusal(globex.prioritize('ruled', 'x', 9));
    expect(refused).toMatchObject({ code: 'not_waiting', status: 409 });
    expect(refused.detail).toContain('the rule "per-account" of the configuration fixes its priority');
    await acme.cancel('ruled');
    expect(await globex.result('ruled', 'x')).toMatchObject({ data: { result: { ok: true } } });
  });
});

/** Point 10 of a report: fairness between tenants held only in lanes that `flow.lanes` names. */
test('a tenant is next beside the flood of another one, without any setting', async () => {
  const peer = { ...ownServerEntry('legacy-peer.ts'), lane: { concurrency: 1 } };
  await using service = await startService({
    redisUrl: redis.url,
    config: { mcpServers: { peer } },
    environment: { ADJUTANT_ADMIN_KEY: ADMIN },
  });
  const { key } = await createAccessClient({ baseUrl: service.url, apiKey: ADMIN }).create({
    name: 'quiet',
    tenant: 'quiet',
    scopes: [...SCOPES],
  });
  const noisy = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  const quiet = createHttpClient({ baseUrl: service.url, apiKey: key });
  await eventually(async () => JSON.stringify(await noisy.tools())).toContain('peer.wait');
  await noisy.submit(call('wait', { id: 'holder', request_id: 'holder' }));
  await eventually(async () => (await noisy.directive('holder', 'holder'))?.status).toBe('running');
  const flood = Array.from({ length: 30 }, (_, n) => call('echo', { id: `${n}`, request_id: 'flood' }));
  await noisy.submit(flood);
  await quiet.submit(call('echo', { id: 'only', request_id: 'only' }));
  await noisy.cancel('holder');
  await quiet.result('only', 'only');
  await noisy.result('flood', '29');
  const ended = async (client: DirectiveClient, request: string, id: string): Promise<string> =>
    String((await client.directive(request, id))?.ended_at);
  const before = await Promise.all(flood.map(async ({ id }) => ended(noisy, 'flood', id)));
  const at = await ended(quiet, 'only', 'only');
  expect(before.filter((each) => each < at).length).toBeLessThanOrEqual(2);
});
