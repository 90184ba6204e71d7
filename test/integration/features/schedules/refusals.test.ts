/** What becomes of an instant whose content is refused, and of a schedule whose record cannot be read: of a running service.
 *  It must not wait for the next try: it makes the schedule due. */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import { SCOPES } from '../../../../src/contract/access/access.ts';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import type { ScheduleView } from '../../../../src/contract/schedule/schedule.ts';
import { untilHolds } from '../../../support/eventually.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const redis = useRedis();
const ADMIN = randomBytes(32).toString('hex');

const scene = shared(async () => {
  const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
  const tenants = { tight: { max_open: 1 }, narrow: { max_open: 1 } };
  const config = { mcpServers: {}, retention: { closed_ms: 600_000 }, tenants };
  const service = await startService({ redisUrl: redis.url, config, environment });
  const commands = new Redis(redis.url);
  const admin = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const of = async (tenant: string, more: object = {}) => {
    const { key, id } = await admin.create({ name: tenant, tenant, scopes: [...SCOPES], ...more });
    return { id, client: createHttpClient({ baseUrl: service.url, apiKey: key }) };
  };
  const keys = `${service.prefix}:{schedules}`;
  const stop = async (): Promise<void> => {
    await service.stop();
    commands.disconnect();
  };
  return {
    admin,
    of,
    commands,
    prefix: service.prefix,
    operator: createHttpClient({ baseUrl: service.url, apiKey: ADMIN }),
    due: `${keys}:due`,
    tenants: `${keys}:tenants`,
    record: (id: string) => `${keys}:of-id:${id}`,
    [Symbol.asyncDispose]: stop,
  };
});

/** Stays open: nobody serves its lane. */
const STAYS = { type: 'tool_exec', tool_name: 'nowhere.tool', server: 'nowhere' };
const LONG_AGO = 1;

/** Looks at it now, and comes back when somebody has. */
async function lookAt(scoped: string): Promise<void> {
  await scene.commands.zadd(scene.due, 'XX', LONG_AGO, scoped);
  await untilHolds(async () => {
    const [score, firing] = await Promise.all([
      scene.commands.zscore(scene.due, scoped),
      scene.commands.hget(scene.record(scoped), 'firing'),
    ]);
    // An eighth marks what is held while it is looked at.
    if (score === String(LONG_AGO) || (firing !== '' && score?.endsWith('.125') === true))
      throw new Error(`not looked at: ${score}`);
  });
}

async function until(client: DirectiveClient, id: string, holds: (each: ScheduleView) => boolean) {
  return untilHolds(async () => {
    const shown = await client.schedules.get(id);
    if (!holds(shown)) throw new Error(JSON.stringify({ ...shown, template: {} }));
    return shown;
  });
}

const rarely = (id: string, more: object = {}) => ({ id, cron: '0 0 1 1 *', directives: [STAYS], ...more });

/** Its next instant is now. */
async function fireNow(scoped: string): Promise<void> {
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  await scene.commands
    .multi()
    .hset(scene.record(scoped), 'next_at', now)
    .zadd(scene.due, 'XX', LONG_AGO, scoped)
    .exec();
}

/** A schedule whose instant is refused, as another request fills its tenant. */
async function refused(tenant: string) {
  const [operator, own] = [await scene.of(tenant), await scene.of(tenant, { name: 'own', per_day: 6 })];
  await operator.client.submit({ ...STAYS, request_id: 'block', id: 'x' } as never);
  await own.client.schedules.create(rarely('s'));
  await fireNow(`${tenant}~s`);
  const shown = await until(operator.client, 's', ({ waiting }) => waiting !== null);
  const spent = async (): Promise<string | null> => {
    const [key = ''] = await scene.commands.keys(`${scene.prefix}*spent:${own.id}*`);
    return scene.commands.hget(key, 'of_day');
  };
  return { operator: operator.client, own, shown, spent };
}

describe.concurrent('an instant that is refused for now', () => {
  test('says why it waits, is paid for once, and is fired when there is room', async () => {
    const { operator, shown, spent } = await refused('tight');
    expect(shown.waiting?.reason).toMatch(/^lane_full: /);
    for (const _ of 'abc') await lookAt('tight~s');
    expect(await spent()).toBe('1');
    expect((await operator.schedules.list()).schedules[0]?.waiting).toMatchObject(shown.waiting ?? {});
    await operator.cancel('block');
    await lookAt('tight~s');
    const fired = await until(operator, 's', ({ counts }) => counts.fired === 1);
    expect(fired).toMatchObject({ waiting: null, counts: { failed: 0, missed: 0 } });
    expect(await spent()).toBe('1');
  });

  test('is not fired with a key that was revoked since', async () => {
    const { operator, own } = await refused('narrow');
    await scene.admin.revoke(own.id);
    await operator.cancel('block');
    await lookAt('narrow~s');
    const paused = await until(operator, 's', ({ status }) => status === 'paused');
    const note = 'The key "own" is revoked.';
    expect(paused).toMatchObject({
      paused: { by: null, note },
      waiting: null,
      counts: { fired: 0, failed: 1 },
    });
  });
});

describe.concurrent('a record of another version', () => {
  test('fires nothing where it cannot be read with whose rights, until somebody resumes it', async () => {
    const { client } = await scene.of('acme');
    await client.schedules.create(rarely('owned'));
    const record = scene.record('acme~owned');
    const owner = JSON.parse((await scene.commands.hget(record, 'owner')) ?? '') as object;
    await scene.commands.hset(record, 'owner', JSON.stringify({ ...owner, perMinute: { limit: 5 } }));
    await fireNow('acme~owned');
    const { paused, counts } = await until(client, 'owned', ({ status }) => status === 'paused');
    expect(paused?.note).toMatch(/Another version .* resume it/);
    expect(counts).toMatchObject({ fired: 0, failed: 1 });
    expect(await client.schedules.resume('owned')).toMatchObject({ status: 'active', fires_as: 'acme' });
  });

  test('is paused where it cannot be read by whom', async () => {
    const { client } = await scene.of('acme');
    await client.schedules.create(rarely('stopped'));
    await scene.commands.hset(scene.record('acme~stopped'), 'paused', '{"since":1}');
    expect(await client.schedules.get('stopped')).toMatchObject({ status: 'paused' });
    expect(await client.schedules.resume('stopped')).toMatchObject({ status: 'active', paused: null });
  });
});

test('a list reads nothing of what schedules submit', async () => {
  const { client } = await scene.of('initech');
  await client.schedules.create(rarely('listed'));
  const { template, history: _, ...shown } = await client.schedules.get('listed');
  expect(template).toMatchObject({ directives: [STAYS] });
  await scene.commands.hset(scene.record('initech~listed'), 'template', 'unreadable');
  expect((await client.schedules.list()).schedules).toEqual([shown]);
  await expect(client.schedules.get('listed')).rejects.toMatchObject({ problem: { code: 'not_found' } });
});

test('an open request stays in the way however often somebody triggers', async () => {
  const { client } = await scene.of('globex');
  await client.schedules.create(rarely('long'));
  const first = await client.schedules.trigger('long', { key: 'first' });
  for (let at = 0; at < 33; at += 1) {
    const { request_id: id } = await client.schedules.trigger('long', { key: `ends-${at}` });
    await client.cancel(id ?? '');
  }
  await fireNow('globex~long');
  const { last } = await until(client, 'long', ({ counts }) => counts.skipped === 1);
  expect(last?.reason).toBe(`${first.request_id} is open`);
  for (let at = 0; at < 15; at += 1) await client.schedules.trigger('long', { key: `stays-${at}` });
  await expect(client.schedules.trigger('long', { key: 'more' })).rejects.toMatchObject({
    problem: { code: 'lane_full' },
  });
  expect(await client.schedules.trigger('long', { key: 'first' })).toEqual(first);
});

// Issue 35, point 18.
test('schedules of all tenants are listed to an operator, tenant by tenant, as long as they exist', async () => {
  const [one, other] = [await scene.of('many-a'), await scene.of('many-b')];
  const found = async (): Promise<string[]> => {
    const ids: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await scene.operator.schedules.list({ tenant: '*', after, limit: 1 });
      ids.push(...page.schedules.map(({ tenant, id }) => `${tenant}~${id}`));
      if (page.next === null) return ids.filter((id) => id.startsWith('many-'));
      after = page.next;
    }
  };
  for (const { client } of [other, one])
    for (const id of ['s2', 's1']) await client.schedules.create(rarely(id) as never);
  expect(await found()).toEqual(['many-a~s1', 'many-a~s2', 'many-b~s1', 'many-b~s2']);
  await expect(one.client.schedules.list({ tenant: '*' })).rejects.toMatchObject({
    problem: { code: 'forbidden' },
  });
  for (const id of ['s1', 's2']) await one.client.schedules.delete(id);
  expect(await found()).toEqual(['many-b~s1', 'many-b~s2']);
  expect(await scene.commands.smembers(scene.tenants)).not.toContain('many-a');
});

describe.concurrent('the ids of firings', () => {
  const request_id = 'schedule.backup.20270328T010000Z';
  const refusal = (path: string) => ({
    problem: { code: 'invalid_body', errors: [expect.objectContaining({ path })] },
  });

  test('are refused to all others, in every tenant', async () => {
    for (const tenant of ['default', 'acme']) {
      const { client } = await scene.of(tenant);
      const directive = { ...STAYS, request_id, id: 'd1' } as never;
      await expect(client.submit(directive)).rejects.toMatchObject(refusal('request_id'));
      await expect(client.submit([directive])).rejects.toMatchObject(refusal('directives[0].request_id'));
      const run = client.runs.start({ agent: 'a', query: 'x', request_id });
      await expect(run).rejects.toMatchObject(refusal('request_id'));
      expect(await client.request(request_id)).toBe(null);
    }
  });

  test.each(['x.trigger', '.', '..'])(
    'are of one schedule alone, which a URL can name: not %j',
    async (id) => {
      const { client } = await scene.of('acme');
      await expect(client.schedules.create(rarely(id))).rejects.toMatchObject(refusal('id'));
    },
  );
});
