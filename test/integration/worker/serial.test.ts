/** Serial lanes and shared limits on a real Redis: freezes, dead holders, workers with another configuration.
 *  It must never judge by how fast something is, only by what overlaps with what. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import { createLaneLimits, type LaneLimit, tighter } from '../../../src/catalog/lane-limits.ts';
import { createSerialLanes } from '../../../src/journal/serial-lanes.ts';
import { SILENT } from '../../../src/telemetry/logger.ts';
import { attemptDirective } from '../../../src/worker/attempt.ts';
import { createSharedLimits } from '../../../src/worker/shared-limits.ts';
import { acceptance, claimOf, toolCall, LANE } from '../../support/journal.ts';
import { openPipeline, type Pipeline } from '../../support/pipeline.ts';
import { type Execute, gate } from '../../support/executors.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis({ args: ['--enable-debug-command', 'yes'] });

async function accepted(open: Pipeline, fields: Partial<ToolExec> = {}): Promise<ToolExec> {
  const call = toolCall({ tool_name: 'test.echo', effect: 'read', ...fields });
  await open.index.add([{ requestId: call.request_id, id: call.id }], Date.now() + 60_000);
  await open.journal.accept(call.request_id, [acceptance(call, LANE)]);
  return call;
}

const ringOf = (call: ToolExec) => ({
  request_id: call.request_id,
  id: call.id,
  digest: acceptance(call).digest,
});

/** A claim on a directive of its own, with a lease of `leaseMs`. */
async function claimed(open: Pipeline, leaseMs = 60_000) {
  const call = await accepted(open);
  const verdict = await open.journal.claim(claimOf(call, leaseMs));
  if (verdict.kind !== 'granted') throw new Error(verdict.kind);
  const ref = { requestId: call.request_id, id: call.id, fence: verdict.fence };
  return { call, ref };
}

const serialOf = ({ connection, keys, journal }: Pipeline) => createSerialLanes(connection, keys, journal);

/** How many attempts run at once at most, with an executor that takes a moment. */
function overlap(open: Pipeline) {
  let [running, most] = [0, 0];
  const execute: Execute = async () => {
    running += 1;
    most = Math.max(most, running);
    await open.connection.ping();
    await open.connection.ping();
    running -= 1;
    return { result: okResult('done') };
  };
  return { execute, most: () => most };
}

describe('the place in a serial lane', () => {
  test('has one claim at a time, and the next one once it is released', async () => {
    await using open = await openPipeline(redis.url);
    const serial = serialOf(open);
    const [one, two] = [await claimed(open), await claimed(open)];
    expect(await serial.enter(LANE, one.ref, Date.now(), 1_000)).toBe(true);
    expect(await serial.enter(LANE, one.ref, Date.now(), 1_000)).toBe(true);
    expect(await serial.enter(LANE, two.ref, Date.now(), 1_000)).toBe(false);
    await serial.leave(LANE, two.ref);
    expect(await serial.enter(LANE, two.ref, Date.now(), 1_000)).toBe(false);
    await serial.leave(LANE, one.ref);
    expect(await serial.enter(LANE, two.ref, Date.now(), 1_000)).toBe(true);
  });

  test('is free at once when its holder has ended without releasing it', async () => {
    await using open = await openPipeline(redis.url);
    const serial = serialOf(open);
    const [one, two] = [await claimed(open), await claimed(open)];
    await serial.enter(LANE, one.ref, Date.now(), 60_000);
    await open.journal.release(one.ref, 0);
    expect(await serial.enter(LANE, two.ref, Date.now(), 60_000)).toBe(true);
  });

  test('of a dead holder is free after its lease and a grace in which nothing extends it', async () => {
    await using open = await openPipeline(redis.url);
    const serial = serialOf(open);
    const [one, two] = [await claimed(open, 1), await claimed(open)];
    await serial.enter(LANE, one.ref, Date.now(), 300);
    const later = Date.now() + 60_000;
    expect(await serial.enter(LANE, two.ref, later, 300)).toBe(false);
    await vi.waitFor(async () => expect(await serial.enter(LANE, two.ref, later, 300)).toBe(true), {
      timeout: 10_000,
      interval: 50,
    });
  });

  test('stays with a holder whose Redis was frozen for longer than its lease, and that continues', async () => {
    await using open = await openPipeline(redis.url);
    const serial = serialOf(open);
    const [one, two] = [await claimed(open, 1), await claimed(open)];
    await serial.enter(LANE, one.ref, Date.now(), 500);
    const afterIt = async (): Promise<number> => Date.now() + 60_000;
    expect(await serial.enter(LANE, two.ref, await afterIt(), 500)).toBe(false);
    expect(await open.journal.extend(one.ref, 120_000)).toBe('extended');
    for (let asked = 0; asked < 20; asked += 1) {
      expect(await serial.enter(LANE, two.ref, await afterIt(), 500)).toBe(false);
    }
    const suspected = await open.connection.hget(open.keys.place(LANE), 'suspected_at');
    expect(suspected).toBeNull();
  });
});

describe('calls of a serial lane', () => {
  test('do not overlap when BullMQ has handed out both: a lock expired under a living worker', async () => {
    await using open = await openPipeline(redis.url);
    await serialOf(open).declare(LANE);
    const [started, resumed] = [gate(), gate()];
    const ran: string[] = [];
    const parts = open.attemptParts(async ({ id }) => {
      ran.push(id);
      started.open();
      await resumed.passed;
      return { result: okResult(id) };
    });
    const [one, two] = [await accepted(open), await accepted(open)];
    const first = attemptDirective(parts, ringOf(one), LANE);
    await started.passed;
    const second = await attemptDirective(parts, ringOf(two), LANE);
    expect(second.kind).toBe('later');
    expect(ran).toEqual([one.id]);
    // It waits in its lane, which is paused for a moment; no attempt is counted.
    expect(open.lanes.isPaused(LANE)).toBe(true);
    const waiting = await open.journal.directive(two.request_id, two.id);
    expect(waiting).toMatchObject({ status: 'waiting', failures: 0, fence: 1, released: 1 });
    resumed.open();
    expect(await first).toEqual({ kind: 'done', errorType: null });
    await vi.waitFor(async () => {
      expect(await attemptDirective(parts, ringOf(two), LANE)).toEqual({ kind: 'done', errorType: null });
    }, 10_000);
    expect(ran).toEqual([one.id, two.id]);
  });

  test('do not overlap when Redis is frozen for longer than lock and lease', async () => {
    await using open = await openPipeline(redis.url);
    await serialOf(open).declare(LANE);
    const [started, resumed] = [gate(), gate()];
    const ran: string[] = [];
    const execute: Execute = async ({ id }) => {
      ran.push(id);
      started.open();
      await resumed.passed;
      return { result: okResult(id) };
    };
    const [holder, rival] = [1, 2].map(() => open.attemptParts(execute, { leaseMs: 1_200 }));
    const [one, two] = [await accepted(open), await accepted(open)];
    if (!holder || !rival) throw new Error('two workers');
    const first = attemptDirective(holder, ringOf(one), LANE);
    await started.passed;
    const before = (await open.journal.directive(one.request_id, one.id))?.leaseUntil ?? 0;
    const asked = open.connection.call('DEBUG', 'SLEEP', '1.6');
    // In flight when Redis continues: perhaps before the holder's heartbeat has been answered.
    const other = attemptDirective(rival, ringOf(two), LANE);
    await asked;
    expect((await other).kind).toBe('later');
    await vi.waitFor(async () => {
      expect((await attemptDirective(rival, ringOf(two), LANE)).kind).toBe('later');
      const extended = (await open.journal.directive(one.request_id, one.id))?.leaseUntil ?? 0;
      expect(extended).toBeGreaterThan(before + 1_600);
    }, 10_000);
    expect(ran).toEqual([one.id]);
    resumed.open();
    expect(await first).toEqual({ kind: 'done', errorType: null });
  });

  test('run one after the other also on a worker that is configured without it', async () => {
    await using open = await openPipeline(redis.url);
    const { execute, most } = overlap(open);
    await open.startWorker(execute, { serial: true });
    await open.startWorker(execute, { concurrency: 20 });
    const request_id = randomUUID();
    const calls = Array.from({ length: 30 }, (_, number) => ({
      type: 'tool_exec' as const,
      tool_name: 'test.echo',
      id: `c-${number}`,
      request_id,
    }));
    await open.client.submit(calls);
    for (const { id } of calls)
      expect((await open.client.result(request_id, id))?.data).toMatchObject({ result: { ok: true } });
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
    await using open = await openPipeline(redis.url);
    const execute = async () => ({ result: okResult('done') });
    await open.startWorker(execute, { serial: true });
    const loose = await open.startWorker(execute);
    expect((await open.lanes.counts(LANE)).globalConcurrency).toBe(1);
    expect(loose.canTake(LANE)).toBe(false);
    expect(open.warnings).toContain('another worker limits this lane more tightly: its limit holds');
  });

  test('are forgotten with a worker that has been absent for minutes', async () => {
    await using open = await openPipeline(redis.url);
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
    await using open = await openPipeline(redis.url);
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 600_000);
    await createLaneLimits(open.connection, open.keys).announce('slow', { [LANE]: limit(1) });
    vi.restoreAllMocks();
    expect((await createLaneLimits(open.connection, open.keys).read()).get(LANE)).toEqual(limit(1));
  });

  test('are not removed by a worker that starts at the same time', async () => {
    await using open = await openPipeline(redis.url);
    const limits = createLaneLimits(open.connection, open.keys);
    let inForce: number | null = null;
    let isFirst = true;
    const shared = createSharedLimits({
      serves: [{ name: LANE, concurrency: 1, globalConcurrency: null, rate: null }],
      limits,
      serial: serialOf(open),
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
    await using open = await openPipeline(redis.url);
    const serial = serialOf(open);
    await serial.declare(LANE);
    await open.connection.del(open.keys.serial(LANE));
    expect(await serial.isDeclared(LANE)).toBe(true);
    expect(await serialOf(open).isDeclared(LANE)).toBe(false);
  });
});
