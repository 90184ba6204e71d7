/** `/mcp?tools=search` and `await_call` of a running service, through clients of both eras: a call that waits for a person
 *  outlives the patience of its host. Public asks: codex 9266, claude-code 22542. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAccessClient } from '../../../../src/client/http-client.ts';
import { SCOPES } from '../../../../src/contract/access/access.ts';
import { eventually, untilHolds } from '../../../support/eventually.ts';
import { openHost, textOf } from '../../../support/mcp-clients.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { askModern } from '../../../support/modern-requests.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const ADMIN = randomBytes(32).toString('hex');
const redis = useRedis();

const service = shared(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-search-'));
  const file = join(folder, 'counter.jsonl');
  await writeFile(file, '');
  const counting = ownServerEntry('counting.ts', { COUNTER_FILE: file });
  const config = {
    mcpServers: { counting: { ...counting, approve: ['once'], host_patience_ms: 50 }, prompt: counting },
  };
  const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
  const roles = { worker: true, engine: true };
  const worker = await startService({ redisUrl: redis.url, config, environment, roles });
  const startApi = async () =>
    startService({ redisUrl: redis.url, config, environment, roles: { api: true }, prefix: worker.prefix });
  const api = await startApi();
  const access = createAccessClient({ baseUrl: api.url, apiKey: ADMIN });
  const make = async (key: object = {}): Promise<string> =>
    (await access.create({ name: 'host', scopes: [...SCOPES], ...key })).key;
  const known = { ann: await make(), bob: await make(), far: await make({ tenant: 'other' }) };
  const call = async (key: string, name: string, args: object, url = `${api.url}/mcp?tools=search`) => {
    const asked = { method: 'tools/call', name, params: { name, arguments: args }, key };
    const { result, error } = await askModern(url, asked);
    if (error) throw new Error(JSON.stringify(error));
    return result as {
      content: { type: string; text: string }[];
      isError?: boolean;
      _meta?: Record<string, never>;
    };
  };
  const untilFound = async (): Promise<void> => {
    const found = await call(known.ann, 'find_tools', { query: 'once', server: 'counting' });
    expect(textOf(found)).toContain('counting__once');
  };
  await untilHolds(untilFound);
  return {
    api,
    make,
    call,
    startApi,
    keys: known,
    counted: async (label: string) => (await readFile(file, 'utf8')).split(`"label":"${label}"`).length - 1,
    /** A call that waits for an approval, as a model gets it. */
    begin: async (label: string) => {
      const args = { name: 'counting__once', arguments: { label } };
      const answer = await call(known.ann, 'call_tool', args);
      return { answer, ...(answer._meta?.['adjutant/running'] as unknown as { handle: string }) };
    },
    decide: async (decision: 'approve' | 'deny', place: unknown) => {
      const { request_id: id } = place as { request_id: string };
      const response = await fetch(`${api.url}/v1/requests/${id}/approvals/call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${ADMIN}` },
        body: JSON.stringify({ decision }),
      });
      expect(response.status, await response.text()).toBeLessThan(300);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([api.stop(), worker.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
});

const DIRECTIVE = 'adjutant/directive';

test('a call that outlives its host is awaited, also at another API, and runs once', async () => {
  const { answer, handle } = await service.begin('kept');
  expect(answer.isError).toBeUndefined();
  expect(textOf(answer)).toMatch(/still running.*await_call.*"handle"/s);
  const again = await service.call(service.keys.ann, 'await_call', { handle });
  expect(textOf(again)).toContain('still running');
  await service.decide('approve', answer._meta?.[DIRECTIVE]);
  const other = await service.startApi();
  try {
    const ended = async (url?: string) =>
      textOf(await service.call(service.keys.ann, 'await_call', { handle }, url));
    const url = `${other.url}/mcp?tools=search`;
    await eventually(async () => ended(url)).toContain('"execution":1');
    expect(await ended()).toBe(await ended(url));
  } finally {
    await other.stop();
  }
  expect(await service.counted('kept')).toBe(1);
});

test('a call that was denied, or cancelled, says so to who awaits it', async () => {
  const denied = await service.begin('denied');
  await service.decide('deny', denied.answer._meta?.[DIRECTIVE]);
  const text = async (handle: string) =>
    textOf(await service.call(service.keys.ann, 'await_call', { handle }));
  await eventually(async () => text(denied.handle)).toContain('denied');
  const cancelled = await service.begin('cancelled');
  const { request_id: id } = (cancelled.answer._meta as Record<string, unknown>)[DIRECTIVE] as {
    request_id: string;
  };
  const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' };
  await fetch(`${service.api.url}/v1/requests/${id}/cancel`, { method: 'POST', headers, body: '{}' });
  await eventually(async () => text(cancelled.handle)).toContain('"type":"cancelled"');
  expect(await service.counted('denied')).toBe(0);
});

test('a handle is good for its caller only, and every other one gets the same refusal', async () => {
  const { handle } = await service.begin('sealed');
  const { ann, bob, far } = service.keys;
  const tampered = `${handle.slice(0, -4)}${handle.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
  const refusals = await Promise.all([
    service.call(bob, 'await_call', { handle }),
    service.call(far, 'await_call', { handle }),
    service.call(ann, 'await_call', { handle: tampered }),
    service.call(ann, 'await_call', { handle: 'x'.repeat(10_000) }),
    service.call(ann, 'await_call', {}),
  ]);
  expect(new Set(refusals.map((refusal) => textOf(refusal))).size).toBe(1);
  expect(refusals[0]).toMatchObject({ isError: true });
});

test('a host that leaves while it awaits does not cancel the call', async () => {
  const { answer, handle } = await service.begin('left');
  const gone = new AbortController();
  const params = { name: 'await_call', arguments: { handle } };
  const left = askModern(`${service.api.url}/mcp?tools=search`, {
    method: 'tools/call',
    name: 'await_call',
    params,
    key: service.keys.ann,
    signal: gone.signal,
  });
  gone.abort();
  await expect(left).rejects.toThrow();
  await service.decide('approve', answer._meta?.[DIRECTIVE]);
  const text = async () => textOf(await service.call(service.keys.ann, 'await_call', { handle }));
  await eventually(async () => text()).toContain('"execution":1');
});

test('a call by call_tool is the directive of its key, and an unknown tool is answered with the nearest names', async () => {
  const { ann } = service.keys;
  const args = { name: 'prompt__once', arguments: { label: 'keyed' } };
  const params = { name: 'call_tool', arguments: args, _meta: { 'adjutant/idempotencyKey': 'k' } };
  const asked = { method: 'tools/call', name: 'call_tool', params, key: ann };
  const url = `${service.api.url}/mcp?tools=search`;
  const [one, two] = [await askModern(url, asked), await askModern(url, asked)];
  expect(one.result?.['content']).toEqual(two.result?.['content']);
  expect(await service.counted('keyed')).toBe(1);
  const unknown = await service.call(ann, 'call_tool', { name: 'prompt__onse' });
  expect(unknown).toMatchObject({ isError: true });
  expect(textOf(unknown)).toContain('prompt__once');
});

test('a key may have the search as its setting, and finds only what it may call', async () => {
  const key = await service.make({ mcp_tools: 'search', tools: ['prompt.read'] });
  const list = { method: 'tools/list', name: '', params: {}, key };
  const { result } = await askModern(`${service.api.url}/mcp`, list);
  const names = (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
  expect(names).toEqual(['find_tools', 'describe_tools', 'call_tool', 'await_call']);
  const whole = await askModern(`${service.api.url}/mcp?tools=list`, list);
  expect(JSON.stringify(whole.result)).toContain('counting__once');
  const found = textOf(await service.call(key, 'find_tools', { query: 'once read idempotent' }));
  expect(found).toContain('prompt__read');
  expect(found).not.toContain('counting__');
  const refused = textOf(await service.call(key, 'call_tool', { name: 'counting__once' }));
  expect(refused).toContain('unknown_tool');
});

test('an older host without search gets a handle from a server with patience, and no schema that a handle breaks', async () => {
  await using open = await startService({
    redisUrl: redis.url,
    config: {
      mcpServers: {
        peer: { ...ownServerEntry('counting.ts', { COUNTER_FILE: '/dev/null' }), approve: ['once'] },
      },
      mcp: { host_patience_ms: 50 },
    },
  });
  await using host = await openHost('legacy', `${open.url}/mcp`);
  await eventually(async () => (await host.list()).map(({ name }) => name)).toContain('peer__once');
  expect((await host.list()).map(({ name }) => name)).toContain('await_call');
  const answer = await host.call('peer__once', { label: 'x' });
  const { handle } = (answer._meta as Record<string, { handle: string }>)['adjutant/running'] ?? {
    handle: '',
  };
  expect(textOf(await host.call('await_call', { handle }))).toContain('still running');
});
