/** Serial lanes and shared limits on a real Redis: freezes, dead holders, workers with another configuration.
 *  It must never judge by how fast something is, only by what overlaps with what. */
import { describe, expect, test, vi } from 'vitest';
import { createLaneLimits, type LaneLimit, tighter } from '../../../src/store/catalog/lane-limits.ts';
import { createSerialLanes } from '../../../src/store/limits/serial-lanes.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';
import { attemptDirective } from '../../../src/worker/attempt/attempt.ts';
import { createSharedLimits } from '../../../src/worker/shared-limits.ts';
import { untilHolds } from '../../support/eventually.ts';
import { done, type Execute, untilResumed } from '../../support/executors.ts';
import { jobOf, LANE } from '../../support/journal.ts';
import { calls, openPipeline } from '../../support/pipeline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis({ args: ['--enable-debug-command', 'yes'] });
const open = eachTest(() => openPipeline(redis.url));

/** A claim on a directive of its own, with a lease of `leaseMs`. */
const claim = async (leaseMs?: number) => open.claimed(await open.accepted({ effect: 'read' }), leaseMs);

/** As another process has them. */
const serialLanes = () => createSerialLanes(open.connection, open.keys, open.journal);

/** How many attempts run at once at most, with an executor that takes a moment. */
function overlap() {
  let [running, most] = [0, 0];
  const execute: Execute = async () => {
    running += 1;
    most = Math.max(most, running);
    await open.connection.ping();
    await open.connection.ping();
    running -= 1;
    return done;
  };
  return { execute, most: () => most };
}

describe('the place in a serial lane', () => {
  test('has one claim at a time, and the next one once it is released', async () => {
    const { serial } = open;
    const [one, two] = [await claim(), await claim()];
    expect(await serial.enter(LANE, one, Date.now(), 1_000)).toBe(true);
    expect(await serial.enter(LANE, one, Date.now(), 1_000)).toBe(true);
    expect(await serial.enter(LANE, two, Date.now(), 1_000)).toBe(false);
    await serial.leave(LANE, two);
    expect(await serial.enter(LANE, two, Date.now(), 1_000)).toBe(false);
    await serial.leave(LANE, one);
    expect(await serial.enter(LANE, two, Date.now(), 1_000)).toBe(true);
  });

  test('is free at once when its holder has ended without releasing it', async () => {
    const { serial } = open;
    const [one, two] = [await claim(), await claim()];
    await serial.enter(LANE, one, Date.now(), 60_000);
    await open.journal.release(one, 0);
    expect(await serial.enter(LANE, two, Date.now(), 60_000)).toBe(true);
  });

  test('of a dead holder is free after its lease and a grace in which nothing extends it', async () => {
    const { serial } = open;
    const [one, two] = [await claim(1), await claim()];
    await serial.enter(LANE, one, Date.now(), 300);
    const later = Date.now() + 60_000;
    expect(await serial.enter(LANE, two, later, 300)).toBe(false);
    await untilHolds(async () => expect(await serial.enter(LANE, two, later, 300)).toBe(true));
  });

  test('stays with a holder whose Redis was frozen for longer than its lease, and that continues', async () => {
    const { serial } = open;
    const [one, two] = [await claim(1), await claim()];
    await serial.enter(LANE, one, Date.now(), 500);
    const afterIt = async (): Promise<number> => Date.now() + 60_000;
    expect(await serial.enter(LANE, two, await afterIt(), 500)).toBe(false);
    expect(await open.journal.extend(one, 120_000)).toBe('extended');
    for (let asked = 0; asked < 20; asked += 1) {
      expect(await serial.enter(LANE, two, await afterIt(), 500)).toBe(false);
    }
    const suspected = await open.connection.hget(open.keys.place(LANE), 'suspected_at');
    expect(suspected).toBeNull();
  });
});

describe('calls of a serial lane', () => {
  test('do not overlap when BullMQ has handed out both: a lock expired under a living worker', async () => {
    await open.serial.declare(LANE);
    const { execute, ran, started, resume } = untilResumed();
    const parts = open.attemptParts(execute);
    const [one, two] = [await open.accepted({ effect: 'read' }), await open.accepted({ effect: 'read' })];
    const first = attemptDirective(parts, jobOf(one), LANE);
    await started;
    const second = await attemptDirective(parts, jobOf(two), LANE);
    expect(second.kind).toBe('later');
    expect(ran).toEqual([one.id]);
    // It waits in its lane, which is paused for a moment; no attempt is counted.
    expect(open.lanes.isPaused(LANE)).toBe(true);
    const waiting = await open.recordOf(two);
    expect(waiting).toMatchObject({ status: 'waiting', failures: 0, fence: 1, released: 1 });
    resume();
    expect(await first).toEqual({ kind: 'done', errorType: null });
    await untilHolds(async () => {
      expect(await attemptDirective(parts, jobOf(two), LANE)).toEqual({ kind: 'done', errorType: null });
    });
    expect(ran).toEqual([one.id, two.id]);
  });

  test('do not overlap when Redis is frozen for longer than lock and lease', async () => {
    await open.serial.declare(LANE);
    const { execute, ran, started, resume } = untilResumed();
    const [holder, rival] = [1, 2].map(() => open.attemptParts(execute, { leaseMs: 1_200 }));
    const [one, two] = [await open.accepted({ effect: 'read' }), await open.accepted({ effect: 'read' })];
    if (!holder || !rival) throw new Error('two workers');
    const first = attemptDirective(holder, jobOf(one), LANE);
    await started;
    const before = (await open.recordOf(one))?.leaseUntil ?? 0;
    const asked = open.connection.call('DEBUG', 'SLEEP', '1.6');
    // In flight when Redis continues: perhaps before the holder's heartbeat has been answered.
    const other = attemptDirective(rival, jobOf(two), LANE);
    await asked;
    expect((await other).kind).toBe('later');
    await untilHolds(async () => {
      expect((await attemptDirective(rival, jobOf(two), LANE)).kind).toBe('later');
      const extended = (await open.recordOf(one))?.leaseUntil ?? 0;
      expect(extended).toBeGreaterThan(before + 1_600);
    });
    expect(ran).toEqual([one.id]);
    resume();
    expect(await first).toEqual({ kind: 'done', errorType: null });
  });

  test('run one after the other also on a worker that is configured without it', async () => {
    const { execute, most } = overlap();
    await open.startWorker(execute, { serial: true });
    await open.startWorker(execute, { concurrency: 20 });
    const all = calls(30);
    await open.client.submit(all);
    for (const each of all) expect((await open.resultOf(each))?.data).toMatchObject({ result: { ok: true } });
    expect(most()).toBe(1);
  });
});

describe('limits of several workers', () => {
  const limit = (concurrency: number | null, max: number | null = null): LaneLimit => ({
    concurrency,
    rate: max === null ? null : { max, per_ms: 1_000 },
  });

  test.each([
    [limit(null), limit(null), limit(null)],
    [limit(3), limit(null), limit(3)],
    [limit(3), limit(2), limit(2)],
    [limit(null, 5), limit(4), limit(4, 5)],
    [limit(null, 5), limit(null, 50), limit(null, 5)],
  ])('%j and %j make %j', (one, other, both) => {
    expect(tighter(one, other)).toEqual(both);
    expect(tighter(other, one)).toEqual(both);
  });

  test('hold together: one that starts later without a limit does not remove an existing one', async () => {
    const execute = async () => done;
    await open.startWorker(execute, { serial: true });
    await open.startWorker(execute);
    expect((await open.lanes.counts(LANE)).globalConcurrency).toBe(1);
    expect(open.warnings).toContain('another worker limits this lane more tightly: its limit holds');
  });

  test('are forgotten with a worker that has been absent for minutes', async () => {
    const limits = createLaneLimits(open.connection, open.keys);
    await limits.announce('one', { [LANE]: limit(1) });
    await limits.announce('two', { [LANE]: limit(7) });
    expect((await limits.read()).get(LANE)).toEqual(limit(1));
    const said = await open.connection.hget(open.keys.laneLimits, 'one');
    const [saidAt, json] = [parseInt(String(said), 10), String(said).replace(/^\d+ /, '')];
    await open.connection.hset(open.keys.laneLimits, 'one', `${saidAt - 150_000} ${json}`);
    expect((await limits.read()).get(LANE)).toEqual(limit(7));
    expect(await open.connection.hkeys(open.keys.laneLimits)).toEqual(['two']);
  });

  test('hold whatever the clock of their worker shows', async () => {
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 600_000);
    await createLaneLimits(open.connection, open.keys).announce('slow', { [LANE]: limit(1) });
    vi.restoreAllMocks();
    expect((await createLaneLimits(open.connection, open.keys).read()).get(LANE)).toEqual(limit(1));
  });

  test('are not removed by a worker that starts at the same time', async () => {
    const limits = createLaneLimits(open.connection, open.keys);
    let inForce: number | null = null;
    let isFirst = true;
    const shared = createSharedLimits({
      serves: [{ name: LANE, concurrency: 1, globalConcurrency: null, rate: null }],
      limits,
      serial: open.serial,
      lanes: {
        // The other worker announces its limit between this one's read and write.
        setGlobalConcurrency: async (_lane, most) => {
          if (isFirst) await limits.announce('other', { [LANE]: limit(1) });
          isFirst = false;
          inForce = most;
        },
        setRate: () => Promise.resolve(),
      },
      logger: SILENT,
      onError: () => {},
    });
    await shared.start();
    shared.stop();
    expect(inForce).toBe(1);
  });

  test('of a serial lane hold for its own worker although Redis has lost them', async () => {
    const { serial } = open;
    await serial.declare(LANE);
    await open.connection.del(open.keys.serial(LANE));
    expect(await serial.isDeclared(LANE)).toBe(true);
    expect(await serialLanes().isDeclared(LANE)).toBe(false);
  });
});
