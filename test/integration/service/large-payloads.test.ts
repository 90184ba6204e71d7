/** Large payloads in a folder instead of Redis, from a submission to a real MCP server and back.
 *  It must not look into the records: what counts is what Redis and the folder hold, and what callers read. */
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFolderObjects } from '../../../src/features/archive/folder-objects.ts';
import { createLeftoverRemover } from '../../../src/features/archive/payload-leftovers.ts';
import { createPayloadObjects } from '../../../src/features/archive/payload-objects.ts';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import { scopedId } from '../../../src/contract/access/tenant.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { eventually } from '../../support/eventually.ts';
import { type RunningService, startService } from '../../support/running-service.ts';
import { useRedis } from '../../support/shared.ts';

const CANARY = 'canary-9d2c';
const LARGE = CANARY.repeat(6_000);

const redis = useRedis();
const root = mkdtempSync(join(tmpdir(), 'adjutant-payloads-'));
const folder = join(root, 'objects');
const CONFIG = {
  payloads: { folder, offload_above_bytes: 32_768 },
  limits: { result_bytes: 4_096 },
};
let service: RunningService;
let client: DirectiveClient;

beforeAll(async () => {
  mkdirSync(folder);
  service = await startService({ redisUrl: redis.url, config: CONFIG });
  client = createHttpClient({ baseUrl: service.url });
});
afterAll(async () => {
  await client?.close();
  await service?.stop();
  rmSync(root, { recursive: true, force: true });
});

const echo = (text: string, request_id: string, more: object = {}): SubmittedDirective => ({
  type: 'tool_exec',
  tool_name: 'peer.echo',
  arguments: { text },
  request_id,
  id: 'd',
  ...more,
});

/** Bytes of all that Redis holds of a request. */
async function heldOf(request: string): Promise<number> {
  const connection = connectRedis(redis.url, 'commands');
  const keys = ['state', 'bodies', 'log'].map((name) => `${service.prefix}:{${request}}:${name}`);
  const sizes = await Promise.all(
    keys.map(async (key) => Number((await connection.memory('USAGE', key)) ?? 0)),
  );
  await closeRedis(connection);
  return sizes.reduce((sum, size) => sum + size, 0);
}

const objectsOf = (request: string, prefix = service.prefix): string[] => {
  const within = join(folder, `i-${prefix}`, 't-default', `r-${request}`);
  return readdirSync(within).map((name) => join(within, name));
};

describe('large arguments and results', () => {
  test('lie in the folder, and nobody who reads notices', async () => {
    const end = await client.execute(echo(LARGE, 'large'));
    expect(end.data).toMatchObject({ result: { ok: true } });
    // A model reads as much as a signal holds of a result, and that there is more.
    const { content } = end.data as { content: string };
    expect(content.length).toBeLessThanOrEqual(4_096);
    expect(JSON.parse(content)).toMatchObject({
      ok: true,
      result: expect.stringContaining(CANARY.repeat(200)),
      truncated: { left_out: expect.any(Number), note: expect.stringContaining('a page') },
    });
    expect(await client.payload('large', 'd')).toBe(JSON.stringify({ text: LARGE }));
    expect((await client.directive('large', 'd'))?.directive).toMatchObject({ arguments: { text: LARGE } });
    expect(objectsOf('large')).toHaveLength(2);
    expect(await heldOf('large')).toBeGreaterThan(500);
    expect(await heldOf('large')).toBeLessThan(LARGE.length);
  });

  test('are the same directive when they are repeated, and other content conflicts', async () => {
    const again = await client.submit(echo(LARGE, 'large'));
    expect(again.directives[0]).toMatchObject({ status: 'existing' });
    await expect(client.submit(echo(`${LARGE}!`, 'large'))).rejects.toMatchObject({
      problem: { code: 'id_conflict' },
    });
  });

  test('leave nothing where they are repeated or refused, also side by side', async () => {
    const repeats = Array.from({ length: 6 }, async () => client.submit(echo(LARGE, 'repeated')));
    const statuses = (await Promise.all(repeats)).map(({ directives }) => directives[0]?.status);
    expect(statuses.filter((status) => status === 'accepted')).toHaveLength(1);
    const pair = [echo(LARGE, 'repeated', { id: 'new' }), echo(`${LARGE}!`, 'repeated')];
    await expect(client.submit(pair)).rejects.toMatchObject({ problem: { code: 'id_conflict' } });
    // The directive, and what its tool answered.
    expect((await client.result('repeated', 'd'))?.data).toMatchObject({ result: { ok: true } });
    expect(objectsOf('repeated')).toHaveLength(2);
    expect((await client.directive('repeated', 'd'))?.directive).toMatchObject({
      arguments: { text: LARGE },
    });
  });

  test('small ones stay where they were', async () => {
    await client.execute(echo('small', 'small'));
    expect(() => objectsOf('small')).toThrow(/ENOENT/);
  });

  test('are redriven', async () => {
    await client.execute({ ...echo(LARGE, 'failed'), tool_name: 'peer.fail' } as SubmittedDirective);
    await eventually(async () =>
      (await client.deadLetters()).dead_letters.map(({ request_id }) => request_id),
    ).toContain('failed');
    const { redriven } = await client.redrive({ directives: [{ request_id: 'failed', id: 'd' }] });
    const end = await client.result('failed', redriven[0]?.to.id ?? '');
    expect(JSON.stringify(end)).toContain(CANARY);
  });
});

describe('the direct client', () => {
  const named = { directives: [{ request_id: 'direct', id: 'd' }] };
  const open = async (more: object = {}) =>
    createDirectClient({ redisUrl: redis.url, prefix: service.prefix, ...more });

  test('without the store shows what Redis has, and refuses the rest in words', async () => {
    await client.execute(echo(LARGE, 'direct', { tool_name: 'peer.fail' }));
    const dead = async () => (await client.deadLetters()).dead_letters.map(({ request_id }) => request_id);
    await eventually(dead).toContain('direct');
    const direct = await open();
    expect(await direct.directive('direct', 'd')).toMatchObject({
      status: 'failed',
      directive: { arguments: { $offloaded: {} } },
    });
    await expect(direct.payload('large', 'd')).rejects.toMatchObject({
      name: 'DirectiveRefused',
      message: expect.stringContaining('option `payloads`') as string,
    });
    expect(await direct.redrive(named)).toMatchObject({ redriven: [], refused: [{ code: 'not_found' }] });
    await direct.close();
  });

  test('with it reads, redrives and submits as the service does', async () => {
    const direct = await open({ payloads: { folder, offloadAboveBytes: 32_768 } });
    expect(await direct.payload('large', 'd')).toBe(JSON.stringify({ text: LARGE }));
    expect((await direct.redrive(named)).redriven).toHaveLength(1);
    const end = await direct.execute(echo(LARGE, 'directly'));
    expect(end.data).toMatchObject({ result: { ok: true } });
    expect(objectsOf('directly')).toHaveLength(2);
    await direct.close();
  });
});

describe('a folder that is away', () => {
  test('refuses large submissions, keeps large results in Redis, and lets small ones pass', async () => {
    renameSync(folder, `${folder}-away`);
    const refused = client.submit(echo(LARGE, 'refused'));
    await expect(refused).rejects.toMatchObject({ name: 'ServiceUnavailable' });
    await expect(refused).rejects.toThrow(/does not take large payloads/);
    expect(await client.request('refused')).toBeNull();
    const call = { type: 'tool_exec', tool_name: 'peer.large', arguments: { bytes: 50_000 } } as const;
    await client.execute({ ...call, request_id: 'inline', id: 'd' });
    expect(await client.payload('inline', 'd')).toHaveLength(50_000);
    await expect(client.payload('large', 'd')).rejects.toThrow(/does not return large payloads/);
    renameSync(`${folder}-away`, folder);
    expect(await client.payload('large', 'd')).toBe(JSON.stringify({ text: LARGE }));
  });

  test('has what was accepted wait until it is back', async () => {
    const later = { ...echo(LARGE, 'waits'), delay_ms: 1_000 } as SubmittedDirective;
    await client.submit(later);
    renameSync(folder, `${folder}-away`);
    await eventually(
      async () => (await client.directive('waits', 'd').catch(() => null))?.status ?? 'away',
    ).toBe('away');
    renameSync(`${folder}-away`, folder);
    expect((await client.result('waits', 'd'))?.data).toMatchObject({ result: { ok: true } });
  });
});

test('what was changed behind its back is named, and never executed', async () => {
  const prefix = `changed-${service.prefix}`;
  await using api = await startService({ redisUrl: redis.url, config: CONFIG, prefix, roles: { api: true } });
  const submitting = createHttpClient({ baseUrl: api.url });
  await submitting.submit(echo(LARGE, 'changed'));
  for (const file of objectsOf('changed', prefix))
    writeFileSync(file, readFileSync(file, 'utf8').replace(CANARY, 'x'.repeat(CANARY.length)));
  await using worker = await startService({
    redisUrl: redis.url,
    config: CONFIG,
    prefix,
    roles: { worker: true },
  });
  expect(worker.prefix).toBe(prefix);
  expect((await submitting.result('changed', 'd'))?.data).toMatchObject({
    result: { ok: false, error: { type: 'payload_lost', retryable: false } },
  });
  const dead = async () => (await submitting.deadLetters()).dead_letters.map(({ request_id }) => request_id);
  await eventually(dead).toEqual(['changed']);
  expect(await submitting.redrive({ all: true })).toMatchObject({
    redriven: [],
    refused: [{ from: { request_id: 'changed', id: 'd' }, code: 'not_found' }],
  });
  await submitting.close();
});

test('what belongs to no request is removed, and nothing else', async () => {
  const store = createFolderObjects(folder);
  const exists = async (id: string): Promise<boolean> => (await client.request(id)) !== null;
  const objects = createPayloadObjects({ store, installation: service.prefix, aboveBytes: 1 });
  await objects.put('orphan', Buffer.from(LARGE));
  await createPayloadObjects({ store, installation: 'other', aboveBytes: 1 }).put(
    'orphan',
    Buffer.from(LARGE),
  );
  const kept = objectsOf('large');
  // The service has named its Redis there.
  const connection = connectRedis(redis.url, 'commands');
  const redisName = async () => connection.get(`${service.prefix}:payloads:name`);
  const owner = join(folder, `i-${service.prefix}`, 'owner');
  await eventually(async () => existsSync(owner) && readFileSync(owner, 'utf8') === (await redisName())).toBe(
    true,
  );
  const leftovers = { store, installation: service.prefix, exists, scopedId, redisName };
  const given = { ...leftovers, nameRedis: async () => '' };
  const { signal } = new AbortController();
  expect(await createLeftoverRemover(given)(signal)).toBe(0);
  expect(await createLeftoverRemover({ ...given, idleMs: -60_000 })(signal)).toBe(1);
  await closeRedis(connection);
  expect(() => objectsOf('orphan')).toThrow(/ENOENT/);
  expect(objectsOf('large')).toEqual(kept);
  expect(readdirSync(join(folder, 'i-other', 't-default'))).toEqual(['r-orphan']);
});
