/** A schedule is changed while somebody fires it and dies at each of its steps, and by two at once.
 *  It must not wait for the clock: the instants before the change are over before it begins. */
import { expect, test } from 'vitest';
import type { ReplacedSchedule } from '../../../../src/contract/schedule/schedule.ts';
import { createFiringLoop, type FiringLoopParts } from '../../../../src/features/schedules/firing-loop.ts';
import { instantName } from '../../../../src/features/schedules/instants.ts';
import {
  dying,
  ENDS,
  frozenFiring,
  INSTANTS,
  overdueSchedule,
  SECOND,
} from '../../../support/overdue-schedule.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();

type Overdue = Awaited<ReturnType<typeof overdueSchedule>>;

const NEW_YEAR = '0 0 1 1 *';
const AFTER = { ...ENDS, error: 'after' };

async function changed(it: Overdue, more: Partial<ReplacedSchedule> = {}) {
  const { version, overlap } = await it.client.schedules.get('s');
  const content = { cron: NEW_YEAR, overlap, directives: [AFTER], ...more };
  return it.client.schedules.replace('s', { version, ...content });
}

/** What the directive of an instant says: `x` as it was made, `after` as it was changed. */
async function saidAt(it: Overdue, instant: number): Promise<unknown> {
  const view = await it.client.directive(`schedule.s.${instantName(instant)}`, 'd1');
  return (view?.result?.data as { result?: { error?: { message?: unknown } } } | undefined)?.result?.error;
}

const DEATHS = Array.from({ length: 7 }, (_, at) => at + 1).flatMap((at) =>
  (['before', 'after'] as const).map((moment) => [moment, at] as const),
);

test.each(DEATHS)('after a death %s the write number %i of a firing', async (moment, at) => {
  await using it = await overdueSchedule(redis.url, at % 2 === 0 ? 'allow' : 'skip');
  const { mortal, dead } = dying(at, moment);
  const { store } = it.parts;
  const mortals: FiringLoopParts = {
    ...it.parts,
    store: { ...store, change: mortal(store.change) },
    clientOf: () => ({ ...it.client, submit: mortal(it.client.submit) }),
  };
  await Promise.race([dead, createFiringLoop(mortals).fireDue()]);
  const before = await it.client.schedules.get('s');
  const marked = await it.firingAt();
  const { next_at: next, history: left } = await changed(it);
  expect(left).toEqual(before.history);
  // Another change leaves what is marked alone.
  await changed(it, { jitter_ms: 1 });
  await it.makeDue();
  await createFiringLoop(it.parts).fireDue();
  const { history, counts, status } = await it.client.schedules.get('s');
  const instants = Array.from({ length: INSTANTS }, (_, nth) => it.first + nth * SECOND);
  expect(history.map(({ scheduled_at }) => Date.parse(scheduled_at)).toReversed()).toEqual(instants);
  expect(counts).toEqual({ fired: INSTANTS, triggered: 0, skipped: 0, failed: 0, missed: 0 });
  expect(status).toBe('active');
  if (before.history.length < INSTANTS) expect(Date.parse(next ?? '')).toBeLessThan(Date.now());
  const done = before.history.map(({ scheduled_at }) => Date.parse(scheduled_at));
  for (const instant of instants) {
    const asBefore = done.includes(instant) || instant === marked;
    expect(JSON.stringify(await saidAt(it, instant))).toContain(asBefore ? '"x"' : '"after"');
  }
  expect((await it.client.schedules.get('s')).next_at).toMatch(/-01-01T00:00:00.000Z$/);
});

test('one that is frozen before each of its writes, while the schedule is changed, fires nothing twice', async () => {
  for (const at of [1, 2, 3]) {
    await using it = await overdueSchedule(redis.url, 'skip');
    const { thaw } = await frozenFiring(it, at);
    await changed(it);
    await thaw();
    await it.makeDue();
    await createFiringLoop(it.parts).fireDue();
    const { counts, history } = await it.client.schedules.get('s');
    expect(counts).toMatchObject({ fired: INSTANTS, failed: 0, missed: 0, skipped: 0 });
    expect(history).toHaveLength(INSTANTS);
    expect(JSON.stringify(await saidAt(it, it.first))).toContain(at === 1 ? '"after"' : '"x"');
  }
});

test('of two who change it at once one is refused, and a repeat of the other finds its change', async () => {
  await using it = await overdueSchedule(redis.url, 'skip');
  const { version } = await it.client.schedules.get('s');
  const contents = ['one', 'two', 'three'].map((error) => ({
    version,
    cron: NEW_YEAR,
    directives: [{ ...ENDS, error }],
  }));
  const ends = await Promise.allSettled(contents.map(async (each) => it.client.schedules.replace('s', each)));
  const won = ends.findIndex(({ status }) => status === 'fulfilled');
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const each of ends)
    if (each.status === 'rejected')
      expect(each.reason).toMatchObject({ problem: { code: 'version_conflict', status: 409 } });
  const after = await it.client.schedules.get('s');
  expect(after.version).not.toBe(version);
  expect(await it.client.schedules.replace('s', contents[won] as ReplacedSchedule)).toEqual(after);
  // Another one under the same id has another version.
  await it.client.schedules.delete('s');
  await it.client.schedules.create({ id: 's', every_ms: SECOND, directives: [ENDS] });
  await expect(it.client.schedules.replace('s', contents[0] as ReplacedSchedule)).rejects.toMatchObject({
    problem: { code: 'version_conflict' },
  });
});

test('as it is shown it is taken from programs in the same installation, too', async () => {
  await using it = await overdueSchedule(redis.url, 'skip');
  const { schedules } = it.client;
  const shown = await schedules.get('s');
  expect(await schedules.replace('s', shown)).toEqual(shown);
  const changed = await schedules.replace('s', { ...shown, template: { directives: [AFTER] } });
  expect(changed).toMatchObject({ template: { directives: [AFTER] }, every_ms: shown.every_ms });
});

test('a pause stays, a change of when it fires counts from now on, and what it fires begins nothing by itself', async () => {
  await using it = await overdueSchedule(redis.url, 'skip');
  await it.client.schedules.pause('s', { note: 'it moves' });
  const { paused } = await it.client.schedules.get('s');
  const view = await changed(it, { cron: '* * * * * *' });
  expect(view).toMatchObject({
    status: 'paused',
    paused,
    next_at: null,
    every_ms: null,
    version: view.version,
  });
  await it.makeDue();
  await createFiringLoop(it.parts).fireDue();
  expect((await it.client.schedules.get('s')).counts.fired).toBe(0);
  const { next_at: next } = await it.client.schedules.resume('s');
  expect(Date.parse(next ?? '')).toBeGreaterThan(Date.parse(view.edited_at ?? ''));
});

test('a change of what it submits alone leaves when it fires; one after which it would never fire is refused', async () => {
  await using it = await overdueSchedule(redis.url, 'skip');
  await it.client.schedules.delete('s');
  const made = await it.client.schedules.create({ id: 's', every_ms: 3_600_000, directives: [ENDS] });
  const same = { version: made.version, every_ms: 3_600_000, directives: [AFTER] };
  const edited = await it.client.schedules.replace('s', same);
  expect(edited).toMatchObject({ next_at: made.next_at, created_at: made.created_at });
  expect(edited.template).toMatchObject({ directives: [{ id: 'd1', error: 'after' }] });
  const { version } = edited;
  const never = { version, cron: NEW_YEAR, ends_at: '2020-01-01T00:00:00Z', directives: [ENDS] };
  await expect(it.client.schedules.replace('s', never)).rejects.toMatchObject({
    problem: { code: 'invalid_body', errors: [expect.objectContaining({ path: 'ends_at' })] },
  });
  const unnamed = { every_ms: 1_000, directives: [ENDS] } as unknown as ReplacedSchedule;
  await expect(it.client.schedules.replace('s', unnamed)).rejects.toMatchObject({
    problem: { code: 'invalid_body', errors: [expect.objectContaining({ path: 'version' })] },
  });
  await expect(it.client.schedules.replace('none', same)).rejects.toMatchObject({
    problem: { code: 'not_found' },
  });
});

test('what was triggered before a change is the same firing after it', async () => {
  await using it = await overdueSchedule(redis.url, 'skip');
  const first = await it.client.schedules.trigger('s', { key: 'k' });
  await changed(it);
  expect(await it.client.schedules.trigger('s', { key: 'k' })).toEqual(first);
  expect((await it.client.schedules.get('s')).counts.triggered).toBe(1);
});
