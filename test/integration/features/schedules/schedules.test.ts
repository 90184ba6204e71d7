/** Schedules of a running service, as callers use them.
 *  It must not depend on how long anything takes. */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import { SCOPES } from '../../../../src/contract/access/access.ts';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import type { ScheduleView, SubmittedSchedule } from '../../../../src/contract/schedule/schedule.ts';
import { untilHolds } from '../../../support/eventually.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const redis = useRedis();
const ADMIN = randomBytes(32).toString('hex');

const scene = shared(async () => {
  const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
  const config = { mcpServers: {}, retention: { closed_ms: 600_000 } };
  const service = await startService({ redisUrl: redis.url, config, environment });
  const admin = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const of = async (tenant: string, more: object = {}) => {
    const { key, id } = await admin.create({ name: tenant, tenant, scopes: [...SCOPES], ...more });
    return { id, client: createHttpClient({ baseUrl: service.url, apiKey: key }) };
  };
  const client = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  const [acme, globex] = [await of('acme'), await of('globex')];
  const stop = async (): Promise<void> => service.stop();
  return { service, admin, client, of, acme, globex, [Symbol.asyncDispose]: stop };
});

/** Ends as it is accepted. */
const ENDS = { type: 'emit_tool_error', tool_name: 'a.b', error: 'x' };
/** Stays open: nobody serves its lane. */
const STAYS = { type: 'tool_exec', tool_name: 'nowhere.tool', server: 'nowhere' };

const everySecond = (id: string, more: Partial<SubmittedSchedule> = {}): SubmittedSchedule => ({
  id,
  every_ms: 1_000,
  directives: [ENDS],
  ...more,
});

async function until(
  client: DirectiveClient,
  id: string,
  holds: (each: ScheduleView) => boolean,
): Promise<void> {
  const check = async (): Promise<void> => {
    const shown = await client.schedules.get(id);
    if (!holds(shown)) throw new Error(JSON.stringify({ ...shown, history: [] }));
  };
  await untilHolds(check);
}

function inSeconds(count: number): string {
  return new Date(Math.ceil(Date.now() / 1_000) * 1_000 + count * 1_000).toISOString();
}

/** They wait for instants of the clock, all at once. */
describe.concurrent('a schedule', () => {
  test("fires at each instant under the instant's own id, and records it", async () => {
    const { client } = scene;
    // A busy machine takes seconds to create it.
    const made = await client.schedules.create(everySecond('ticks', { ends_at: inSeconds(10) }));
    expect(made).toMatchObject({
      status: 'active',
      fires: 'directives',
      overlap: 'skip',
      catch_up_ms: 300_000,
    });
    expect(
      await client.schedules.create(everySecond('ticks', { ends_at: made.ends_at ?? '' })),
    ).toMatchObject({
      created_at: made.created_at,
    });
    await until(client, 'ticks', (each) => each.status === 'ended');
    const { history, counts, next_at } = await client.schedules.get('ticks');
    expect(next_at).toBe(null);
    const instants = history.map(({ scheduled_at }) => Date.parse(scheduled_at)).toReversed();
    expect(instants).toEqual(instants.map((_, at) => Date.parse(made.next_at ?? '') + at * 1_000));
    expect(counts).toMatchObject({ fired: instants.length, failed: 0, missed: 0 });
    expect(instants.length).toBeGreaterThan(1);
    for (const { request_id: id } of history) {
      const view = await client.request(id ?? '');
      expect(view).toMatchObject({ status: 'closed', directives: [{ id: 'd1' }] });
    }
  });

  /** Of a schedule that fires nothing by itself here. */
  const rarely = (id: string, more: Partial<SubmittedSchedule> = {}): SubmittedSchedule => ({
    id,
    cron: '0 0 1 1 *',
    directives: [ENDS],
    ...more,
  });

  describe('while an earlier request is open', () => {
    test('skip says which one, and fires again after its end', async () => {
      const { client } = scene;
      await client.schedules.create(everySecond('skips', { directives: [STAYS] }));
      await until(client, 'skips', (each) => each.counts.skipped > 0);
      const { history } = await client.schedules.get('skips');
      const fired = history.find(({ outcome }) => outcome === 'fired')?.request_id ?? '';
      expect(history[0]).toMatchObject({ outcome: 'skipped', reason: `${fired} is open`, request_id: null });
      await client.cancel(fired);
      await until(client, 'skips', (each) => each.counts.fired === 2);
      await client.schedules.delete('skips');
    });

    test('a template under a key is done once, and the history names what stands for it', async () => {
      const { client } = scene;
      const dedupe = { key: 'hourly', window_ms: 600_000 };
      const singleton = { key: 'one' };
      const more = { overlap: 'allow' } as const;
      await client.schedules.create(everySecond('deduped', { ...more, directives: [{ ...STAYS, dedupe }] }));
      await client.schedules.create(
        everySecond('single', { ...more, directives: [{ ...STAYS, singleton }] }),
      );
      await until(client, 'deduped', (each) => each.counts.fired > 1);
      await until(client, 'single', (each) => each.counts.skipped > 0);
      const { history } = await client.schedules.delete('deduped');
      const requests = new Set(history.map(({ request_id }) => request_id));
      expect(requests.size).toBe(1);
      expect((await client.request([...requests][0] ?? ''))?.directives).toHaveLength(1);
      const { history: ofSingle } = await client.schedules.delete('single');
      expect(ofSingle[0]).toMatchObject({ outcome: 'skipped', request_id: null });
      expect(ofSingle.filter(({ outcome }) => outcome === 'fired')).toHaveLength(1);
    });

    test('queue_one keeps one instant, which is fired under its own id', async () => {
      const { client } = scene;
      await client.schedules.create(everySecond('queues', { directives: [STAYS], overlap: 'queue_one' }));
      await until(client, 'queues', (each) => each.counts.skipped > 0);
      const { queued_at: queued, history } = await client.schedules.get('queues');
      await client.schedules.pause('queues');
      await client.cancel(history.find(({ outcome }) => outcome === 'fired')?.request_id ?? '');
      await client.schedules.resume('queues');
      await until(client, 'queues', (each) => each.counts.fired === 2);
      const fired = (await client.schedules.get('queues')).history.filter(
        ({ outcome }) => outcome === 'fired',
      );
      expect(fired[0]?.scheduled_at).toBe(queued);
      await client.schedules.delete('queues');
    });

    test('cancel_running cancels it, allow leaves it alone', async () => {
      const { client } = scene;
      const names = ['cancels', 'allows'];
      for (const overlap of ['cancel_running', 'allow'] as const)
        await client.schedules.create(
          everySecond(overlap === 'allow' ? 'allows' : 'cancels', { directives: [STAYS], overlap }),
        );
      for (const id of names) await until(client, id, (each) => each.counts.fired > 1);
      const [cancelled, allowed] = await Promise.all(
        names.map(async (id) => {
          const { history } = await client.schedules.delete(id);
          return client.directive(history.at(-1)?.request_id ?? '', 'd1');
        }),
      );
      expect(cancelled).toMatchObject({
        status: 'failed',
        result: { data: { result: { error: { type: 'cancelled' } } } },
      });
      expect(allowed).toMatchObject({ status: 'accepted', result: null });
    });
  });

  test('a pause fires nothing, a trigger does all the same, and a resume goes on with the next instant', async () => {
    const { client } = scene;
    await client.schedules.create(everySecond('pauses'));
    await until(client, 'pauses', (each) => each.counts.fired > 0);
    const paused = await client.schedules.pause('pauses', { note: 'it moves' });
    expect(paused).toMatchObject({ status: 'paused', next_at: null, paused: { note: 'it moves' } });
    const first = await client.schedules.trigger('pauses', { key: 'k1' });
    expect(first).toMatchObject({ outcome: 'triggered', request_id: 'schedule.pauses.trigger.k1' });
    expect(await client.schedules.trigger('pauses', { key: 'k1' })).toEqual(first);
    const before = (await client.schedules.get('pauses')).counts;
    expect(before.triggered).toBe(1);
    const { next_at: next } = await client.schedules.resume('pauses');
    await until(client, 'pauses', (each) => each.counts.fired > before.fired);
    const after = (await client.schedules.delete('pauses')).history.filter(
      ({ outcome }) => outcome === 'fired',
    );
    expect(after.map(({ scheduled_at }) => scheduled_at)).toContain(next);
    await expect(client.schedules.get('pauses')).rejects.toMatchObject({ problem: { code: 'not_found' } });
    expect(await client.request(first.request_id ?? '')).toMatchObject({ status: 'closed' });
  });

  test('what is refused is in the history with the reason, and the schedule goes on', async () => {
    const { client } = scene;
    const { next_at: next } = await client.schedules.create(
      everySecond('fails', { directives: undefined, run: { agent: 'nobody', query: 'x' } }),
    );
    await until(client, 'fails', (each) => each.counts.failed > 1);
    const { history, failures_in_a_row: failures } = await client.schedules.delete('fails');
    expect(failures).toBeGreaterThan(1);
    expect(history.at(-1)).toMatchObject({ scheduled_at: next, outcome: 'failed', request_id: null });
    expect(history.at(-1)?.reason).toMatch(/^not_found: .*nobody/);
  });

  test('what was missed for longer than catch_up_ms is one entry, and the rest is fired', async () => {
    const prefix = scene.service.prefix;
    const { client } = scene;
    // Longer than a busy process is late, which would be another entry of what was missed.
    await client.schedules.create(everySecond('late', { catch_up_ms: 40_000 }));
    await until(client, 'late', (each) => each.counts.fired > 0);
    const commands = new Redis(redis.url);
    const [record, due] = [`${prefix}:{schedules}:of-id:late`, `${prefix}:{schedules}:due`];
    // As after an hour without a process: its next instant is long over.
    const nextAt = Number(await commands.hget(record, 'next_at')) - 3_600_000;
    await commands.multi().hset(record, 'next_at', nextAt).zadd(due, nextAt, 'late').exec();
    commands.disconnect();
    await until(client, 'late', (each) => each.counts.missed > 3_500 && each.last?.outcome === 'fired');
    const { history } = await client.schedules.delete('late');
    const missed = history.filter(({ outcome }) => outcome === 'missed');
    expect(missed).toMatchObject([{ scheduled_at: new Date(nextAt).toISOString(), request_id: null }]);
    const after = Date.parse(missed[0]?.until ?? '') + 1_000;
    expect(history.some((each) => each.outcome === 'fired' && Date.parse(each.scheduled_at) === after)).toBe(
      true,
    );
  });

  describe('refuses', () => {
    test.each<[string, object, string]>([
      ['an expression that never fires', { cron: '0 0 30 2 *' }, 'cron'],
      ['what is no expression', { cron: '@daily' }, 'cron'],
      ['an unknown time zone', { time_zone: 'Mars/Olympus' }, 'time_zone'],
      ['two ways of saying when', { every_ms: 60_000 }, 'cron'],
      ['parts of a second', { cron: undefined, every_ms: 1_500 }, 'every_ms'],
      ['an end before its first instant', { ends_at: '2020-01-01T00:00:00Z' }, 'ends_at'],
      ['a catch-up as long as the retention', { catch_up_ms: 600_000 }, 'catch_up_ms'],
      ['nothing to submit', { directives: undefined }, 'directives'],
      ['an unknown type', { directives: [{ type: 'constructor' }] }, 'directives[0].type'],
      ['an id of a request', { directives: [{ ...ENDS, request_id: 'r' }] }, 'directives[0].request_id'],
      ['a run with a fault', { directives: undefined, run: { agent: 'a' } }, 'run.query'],
      ['64 KiB', { directives: [{ ...ENDS, metadata: { x: 'x'.repeat(70_000) } }] }, 'directives'],
      ['an id of another form', { id: 'a~b' }, 'id'],
      ['a member that it does not know', { __proto__: null, what: 1 }, 'what'],
    ])('%s', async (_, more, path) => {
      const refused = scene.client.schedules.create({ ...rarely('refused'), ...more });
      await expect(refused).rejects.toMatchObject({
        problem: { code: 'invalid_body', errors: [expect.objectContaining({ path })] },
      });
    });

    test('other content under the same id', async () => {
      const { client } = scene;
      await client.schedules.create(rarely('taken'));
      const other = client.schedules.create(rarely('taken', { overlap: 'allow' }));
      await expect(other).rejects.toMatchObject({ problem: { code: 'id_conflict' } });
    });
  });

  describe('is changed as it was shown', () => {
    test('with one member of it changed, and as it is nothing changes', async () => {
      const { schedules } = scene.client;
      await schedules.create(rarely('shown'));
      await schedules.trigger('shown', { key: 'k' });
      const shown = await schedules.get('shown');
      expect(await schedules.replace('shown', shown)).toEqual(shown);
      const run = { agent: 'a', query: 'q' };
      const often = { ...shown, cron: null, time_zone: null, every_ms: 60_000, template: { run } };
      const changed = await schedules.replace('shown', often);
      expect(changed).toMatchObject({ every_ms: 60_000, cron: null, template: { run }, fires: 'run' });
      expect(changed.history).toEqual(shown.history);
      await expect(schedules.replace('shown', { ...shown, jitter_ms: 5 })).rejects.toMatchObject({
        problem: { code: 'version_conflict' },
      });
    });

    test.each<[string, object, string]>([
      ['a member that it does not have', { what: 1 }, 'what'],
      ['another id', { id: 'other' }, 'id'],
      ['null where none is shown', { overlap: null }, 'overlap'],
      ['no way of saying when', { cron: null, time_zone: null }, 'cron'],
      ['content beside the template', { directives: [ENDS] }, 'directives'],
      ['another template', { template: { directives: [ENDS], what: 1 } }, 'template.what'],
      ['a template that is none', { template: [] }, 'template'],
      ['an empty template', { template: {} }, 'directives'],
      ['a template with a fault', { template: { run: { agent: 'a' } } }, 'run.query'],
    ])('but not with %s', async (name, more, path) => {
      const { schedules } = scene.client;
      const id = name.replaceAll(' ', '-');
      const made = await schedules.create(rarely(id));
      await expect(schedules.replace(id, { ...made, ...more } as never)).rejects.toMatchObject({
        problem: { code: 'invalid_body', errors: [expect.objectContaining({ path })] },
      });
    });
  });

  test('a tenant sees its own schedules alone, page by page', async () => {
    // Other tests make schedules of `acme` at the same time.
    const [pages, { globex }] = [await scene.of('pages'), scene];
    for (const id of ['a', 'b', 'c']) await pages.client.schedules.create(rarely(id));
    await globex.client.schedules.create(rarely('b', { overlap: 'allow' }));
    const first = await pages.client.schedules.list({ limit: 2 });
    expect(first).toMatchObject({ schedules: [{ id: 'a' }, { id: 'b', overlap: 'skip' }], next: 'b' });
    const rest = await pages.client.schedules.list({ limit: 2, after: 'b' });
    expect(rest).toMatchObject({ schedules: [{ id: 'c', fires_as: 'pages' }], next: null });
    const { schedules } = globex.client;
    for (const call of [
      () => schedules.get('a'),
      () => schedules.replace('a', { version: 'v', every_ms: 1_000, directives: [ENDS] }),
      () => schedules.pause('a'),
      () => schedules.resume('a'),
      () => schedules.trigger('a'),
      () => schedules.delete('a'),
    ])
      await expect(call()).rejects.toMatchObject({ problem: { code: 'not_found' } });
    const { request_id: id } = await schedules.trigger('b', { key: 'k' });
    expect(await globex.client.request(id ?? '')).toMatchObject({ status: 'closed' });
    expect(await pages.client.request(id ?? '')).toBe(null);
  });

  describe('the key behind a schedule', () => {
    test('pauses it when it is revoked; whoever resumes it lends it the own one', async () => {
      const { admin, of, acme } = scene;
      const leaving = await of('acme', { name: 'leaving' });
      await leaving.client.schedules.create(everySecond('orphan'));
      await until(acme.client, 'orphan', (each) => each.counts.fired > 0);
      await admin.revoke(leaving.id);
      await until(acme.client, 'orphan', (each) => each.status === 'paused');
      const { paused, last } = await acme.client.schedules.get('orphan');
      expect(paused).toMatchObject({ by: null, note: 'The key "leaving" is revoked.' });
      expect(last).toMatchObject({ outcome: 'failed', reason: 'The key "leaving" is revoked.' });
      expect(await acme.client.schedules.resume('orphan')).toMatchObject({
        status: 'active',
        fires_as: 'acme',
      });
      const { counts } = await acme.client.schedules.get('orphan');
      await until(acme.client, 'orphan', (each) => each.counts.fired > counts.fired);
      await acme.client.schedules.delete('orphan');
    });

    test('a limited one touches only what it might submit itself', async () => {
      const { of, acme } = scene;
      const limited = await of('acme', { name: 'limited', scopes: ['submit', 'read'], tools: ['b.*'] });
      const other = { type: 'tool_exec', tool_name: 'a.tool' };
      const forbidden = { problem: { code: 'forbidden' } };
      const { schedules } = limited.client;
      await expect(schedules.create(rarely('mine', { directives: [other] }))).rejects.toMatchObject(
        forbidden,
      );
      await acme.client.schedules.create(rarely('theirs', { directives: [other] }));
      const { version } = await acme.client.schedules.get('theirs');
      const allowed = { type: 'tool_exec', tool_name: 'b.tool' };
      for (const call of [
        () => schedules.replace('theirs', { version, every_ms: 1_000, directives: [allowed] }),
        () => schedules.pause('theirs'),
        () => schedules.resume('theirs'),
        () => schedules.trigger('theirs'),
        () => schedules.delete('theirs'),
      ])
        await expect(call()).rejects.toMatchObject(forbidden);
      const mine = await schedules.create(rarely('mine', { directives: [allowed] }));
      const taken = { version: mine.version, every_ms: 1_000, directives: [other] };
      await expect(schedules.replace('mine', taken)).rejects.toMatchObject(forbidden);
      const shownTaken = { ...mine, template: { directives: [other] } };
      await expect(schedules.replace('mine', shownTaken)).rejects.toMatchObject(forbidden);
      const lent = await acme.client.schedules.replace('mine', {
        ...taken,
        cron: '0 0 1 1 *',
        every_ms: undefined,
        directives: [{ ...allowed, id: 'x' }],
      });
      expect(lent).toMatchObject({ fires_as: 'acme', template: { directives: [{ id: 'x' }] } });
      expect(await schedules.trigger('mine')).toMatchObject({ outcome: 'triggered' });
      const reader = await of('acme', { name: 'reader', scopes: ['read'] });
      await expect(reader.client.schedules.trigger('mine')).rejects.toMatchObject(forbidden);
    });
  });
});
