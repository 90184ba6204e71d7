/** An installation that requires encryption of one tenant: what that one submits in clear is refused, whichever way it comes.
 *  It must not look into Redis: encrypted-payloads.test.ts does. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAccessClient, createAesCodec, createHttpClient } from '../../../src/client/http-client.ts';
import { SCOPES } from '../../../src/contract/access/access.ts';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { eventually } from '../../support/eventually.ts';
import { askModern } from '../../support/modern-requests.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const KEYS = `k1=${Buffer.alloc(32, 1).toString('base64')},k2=${Buffer.alloc(32, 2).toString('base64')}`;
const codec = createAesCodec(KEYS);

const scene = shared(async () => {
  const adminKey = randomBytes(32).toString('hex');
  const service = await startService({
    redisUrl: redis.url,
    roles: { api: true, engine: true, worker: true },
    config: {
      encryption: { required: ['strict'], tenants: { strict: ['k1'], free: ['k2'] } },
      agents: { helper: { model: 'nowhere:m' } },
    },
    environment: { ADJUTANT_ADMIN_KEY: adminKey, ADJUTANT_ENCRYPTION_KEYS: KEYS },
  });
  const { url: baseUrl, prefix } = service;
  const admin = createAccessClient({ baseUrl, apiKey: adminKey });
  const of = async (tenant: string) => {
    const { key: apiKey } = await admin.create({ name: tenant, tenant, scopes: [...SCOPES] });
    const how = { baseUrl, apiKey };
    return { apiKey, plain: createHttpClient(how), encrypting: createHttpClient({ ...how, codec }) };
  };
  const direct = await createDirectClient({
    redisUrl: redis.url,
    prefix,
    tenant: 'strict',
    knownServers: ['x'],
  });
  return {
    prefix,
    url: baseUrl,
    strict: await of('strict'),
    free: await of('free'),
    direct,
    async [Symbol.asyncDispose]() {
      await direct.close();
      await service.stop();
    },
  };
});

const CALL: SubmittedDirective = { type: 'tool_exec', tool_name: 'x.y', server: 'x', arguments: { a: 1 } };
const EMIT = { type: 'emit_request_error', reason: 'r', message: 'm' } as const;

const refusal = (...errors: object[]) => ({
  problem: { code: 'encryption_required', status: 403, ...(errors.length > 0 ? { errors } : {}) },
});
const says = expect.stringContaining('encryption.required') as string;

test('what is in clear is refused, and of a batch all of it; encrypted, or of another tenant, it is accepted', async () => {
  const { strict, free } = scene;
  await expect(strict.plain.submit({ ...CALL, request_id: 'r' })).rejects.toMatchObject(
    refusal({ path: '', message: says }),
  );
  await expect(strict.plain.execute(CALL)).rejects.toMatchObject(refusal());
  const batch = [EMIT, CALL, CALL].map((each) => ({ ...each, request_id: 'batch' }));
  await expect(strict.plain.submit(batch)).rejects.toMatchObject(
    refusal({ path: 'directives[1]', message: says }, { path: 'directives[2]', message: says }),
  );
  for (const id of ['r', 'batch']) expect(await strict.plain.request(id)).toBeNull();
  expect((await strict.encrypting.submit(CALL)).directives).toMatchObject([{ status: 'accepted' }]);
  expect((await strict.plain.submit(EMIT)).directives).toMatchObject([{ status: 'accepted' }]);
  expect((await free.plain.submit(CALL)).directives).toMatchObject([{ status: 'accepted' }]);
});

test.each<[string, SubmittedDirective]>([
  ['no arguments', { type: 'tool_exec', tool_name: 'x.y', arguments: {} }],
  ['a question', { type: 'llm_generate', model: 'm', context: [{ role: 'user', content: 'q' }] }],
  ['texts', { type: 'llm_embed', model: 'm', texts: ['t'] }],
  ['a request of a model', { type: 'llm_request', model: 'm', wire: 'openai_chat', body: '{}' }],
  ['a key of its own', { ...(CALL as object), dedupe: { key: 'k', window_ms: 1_000 } } as SubmittedDirective],
])('%s in clear are refused', async (_, directive) => {
  await expect(scene.strict.plain.submit(directive)).rejects.toMatchObject(refusal());
});

test('an encrypted run is accepted, and opened with a key of its tenant only', async () => {
  const { strict, free } = scene;
  const ended = async ({ encrypting }: typeof strict) => {
    const { request_id } = await encrypting.runs.start({ agent: 'helper', query: 'q' });
    for await (const signal of encrypting.signals(request_id))
      if (signal.type === 'ai.request.failed') return signal.data;
    return null;
  };
  expect(await ended(strict)).toMatchObject({
    error: { type: 'unknown_model', details: { model: 'nowhere:m' } },
  });
  expect(await ended(free)).toMatchObject({
    error: { type: 'decryption_key_missing', details: { key_id: 'k1' } },
  });
});

test('runs, their input, repeats and forks, and schedules are refused', async () => {
  const { plain } = scene.strict;
  await expect(plain.runs.start({ agent: 'a', query: 'q' })).rejects.toMatchObject(refusal());
  await expect(plain.runs.input('r', { content: 'c' })).rejects.toMatchObject(refusal());
  await expect(plain.again('r', { query: 'q' })).rejects.toMatchObject(refusal());
  await expect(plain.fork('r', { at: 1, say: 'c' })).rejects.toMatchObject(refusal());
  const schedule = { id: 's', every_ms: 3_600_000 };
  for (const what of [{ directives: [CALL] }, { run: { agent: 'a', query: 'q' } }])
    await expect(plain.schedules.create({ ...schedule, ...what } as never)).rejects.toMatchObject(refusal());
  const made = await plain.schedules.create({ ...schedule, directives: [EMIT] } as never);
  expect(made).toMatchObject({ id: 's' });
  const { version } = made;
  for (const what of [{ directives: [CALL] }, { run: { agent: 'a', query: 'q' } }])
    await expect(
      plain.schedules.replace('s', { every_ms: 3_600_000, version, ...what } as never),
    ).rejects.toMatchObject(refusal());
  for (const template of [{ directives: [CALL] }, { run: { agent: 'a', query: 'q' } }])
    await expect(plain.schedules.replace('s', { ...made, template } as never)).rejects.toMatchObject(
      refusal(),
    );
  expect(await plain.schedules.get('s')).toMatchObject({ version, template: made.template });
  const rarer = { every_ms: 7_200_000, version, directives: [EMIT] };
  expect(await plain.schedules.replace('s', rarer as never)).toMatchObject({ every_ms: 7_200_000 });
});

test('a schedule that was made before submits nothing in clear', async () => {
  const { direct, strict } = scene;
  await direct.schedules.create({ id: 'before', every_ms: 1_000, directives: [CALL] } as never);
  await eventually(async () => (await strict.plain.schedules.get('before')).history[0]).toMatchObject({
    outcome: 'failed',
    reason: expect.stringContaining('encryption_required') as string,
  });
  await expect(strict.plain.schedules.trigger('before')).rejects.toMatchObject(refusal());
  await strict.plain.schedules.delete('before');
});

test('what an MCP host sends is refused, and says why', async () => {
  const { strict, url } = scene;
  await eventually(async () => JSON.stringify(await strict.plain.tools())).toContain('peer.echo');
  const params = { name: 'peer.echo', arguments: { said: 1 } };
  const ask = { method: 'tools/call', name: 'peer.echo', params };
  const answer = await askModern(`${url}/mcp`, { ...ask, key: strict.apiKey });
  expect(answer.error).toMatchObject({ message: says, data: { code: 'encryption_required' } });
  const end = await strict.encrypting.execute({
    type: 'tool_exec',
    tool_name: 'peer.echo',
    arguments: { said: 1 },
  });
  expect(end.data).toMatchObject({ result: { ok: true } });
});

test('a program of its own may require it, too', async () => {
  const shape = { redisUrl: redis.url, prefix: scene.prefix, knownServers: ['x'], encryptionRequired: true };
  const direct = await createDirectClient(shape);
  const encrypting = await createDirectClient({ ...shape, codec });
  try {
    await expect(direct.submit(CALL)).rejects.toMatchObject(refusal());
    expect((await encrypting.submit(CALL)).directives).toMatchObject([{ status: 'accepted' }]);
    const run = { agent: 'helper', query: 'q', request_id: 'direct' };
    await expect(direct.runs.start(run)).rejects.toMatchObject(refusal());
    expect(await encrypting.runs.start(run)).toMatchObject({ request_id: 'direct' });
    // It may have ended, and be refused for that.
    const answer: unknown = await encrypting.runs.input('direct', { content: 'x' }).catch((error) => error);
    expect(answer).not.toMatchObject(refusal());
  } finally {
    await direct.close();
    await encrypting.close();
  }
});
