/** A process that fires and dies at each of its steps: another one takes over, and each instant has one request and one entry.
 *  It must not wait for the clock: the instants are over before it begins. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { createFiringLoop, type FiringLoopParts } from '../../../../src/features/schedules/firing-loop.ts';
import { instantName } from '../../../../src/features/schedules/instants.ts';
import { dying, frozenFiring, INSTANTS, overdueSchedule, SECOND } from '../../../support/overdue-schedule.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();

const DEATHS = Array.from({ length: 10 }, (_, at) => at + 1).flatMap((at) =>
  (['before', 'after'] as const).map((moment) => [moment, at] as const),
);

test.each(DEATHS)('dies %s its write number %i', async (moment, at) => {
  await using it = await overdueSchedule(redis.url, at % 2 === 0 ? 'allow' : 'skip');
  const { mortal, dead } = dying(at, moment);
  const { store } = it.parts;
  const mortals: FiringLoopParts = {
    ...it.parts,
    store: { ...store, change: mortal(store.change) },
    clientOf: () => ({ ...it.client, submit: mortal(it.client.submit) }),
  };
  await Promise.race([dead, createFiringLoop(mortals).fireDue()]);
  // As when the time is over for which it has taken the schedule.
  const other = createFiringLoop(it.parts);
  await it.makeDue();
  await other.fireDue();
  const { history, counts, status } = await it.client.schedules.get('s');
  const instants = Array.from({ length: INSTANTS }, (_, nth) => it.first + nth * SECOND);
  expect(status).toBe('ended');
  expect(history.map(({ scheduled_at }) => Date.parse(scheduled_at)).toReversed()).toEqual(instants);
  expect(counts).toEqual({ fired: INSTANTS, triggered: 0, skipped: 0, failed: 0, missed: 0 });
  for (const instant of instants) {
    const view = await it.client.request(`schedule.s.${instantName(instant)}`);
    expect(view?.directives).toHaveLength(1);
  }
});

test('two that look at the same instant at once fire it once', async () => {
  await using it = await overdueSchedule(redis.url, 'skip');
  const loops = Array.from({ length: 4 }, () => createFiringLoop(it.parts));
  await Promise.all(
    loops.map(async (loop) => {
      await it.makeDue();
      await loop.fireDue();
    }),
  );
  await it.makeDue();
  await createFiringLoop(it.parts).fireDue();
  const { counts, history } = await it.client.schedules.get('s');
  expect(counts).toMatchObject({ fired: INSTANTS, missed: 0, skipped: 0 });
  expect(history).toHaveLength(INSTANTS);
});

test('one whose look at what is due waited for Redis fires nothing before its instant', async () => {
  await using it = await overdueSchedule(redis.url, 'allow');
  await it.goOn();
  const clock = performance.now.bind(performance);
  let waitedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + waitedMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const { store } = it.parts;
  const take: typeof store.take = async (...given) => {
    waitedMs += 3 * SECOND;
    return store.take(...given);
  };
  await createFiringLoop({ ...it.parts, store: { ...store, take } }).fireDue();
  const { history } = await it.client.schedules.get('s');
  expect(history.length).toBeGreaterThanOrEqual(INSTANTS);
  for (const { scheduled_at, request_id } of history) {
    const view = await it.client.request(request_id ?? '');
    const acceptedAt = Date.parse(view?.directives[0]?.accepted_at ?? '');
    expect(acceptedAt).toBeGreaterThanOrEqual(Date.parse(scheduled_at));
  }
});

test.each([1, 2, 3, 4, 5])(
  'one that is frozen before its write number %i, and goes on when all is over, changes nothing',
  async (at) => {
    await using it = await overdueSchedule(redis.url, 'skip');
    const { thaw } = await frozenFiring(it, at);
    await it.makeDue();
    await createFiringLoop(it.parts).fireDue();
    const before = await it.client.schedules.get('s');
    await thaw();
    expect(await it.client.schedules.get('s')).toEqual(before);
    expect(before).toMatchObject({ status: 'ended', counts: { fired: INSTANTS } });
  },
);
