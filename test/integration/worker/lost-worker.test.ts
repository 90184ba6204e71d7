/** A worker that loses its claim: it died, stopped answering, or was overtaken.
 *  It must never kill a process: for Redis a dead worker is just a claim that nobody extends. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../src/contract/result.ts';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import type { ClaimVerdict } from '../../../src/journal/verdicts.ts';
import { createCanceller } from '../../../src/queue/cancel.ts';
import { attemptDirective } from '../../../src/worker/attempt.ts';
import { createThreadedHeartbeat } from '../../../src/worker/threaded-heartbeat.ts';
import { acceptance, claimOf, dueAt, failureOf, toolCall, LANE } from '../../support/journal.ts';
import { errorOf, openPipeline, type Pipeline, stillHeart } from '../../support/pipeline.ts';
import { type Execute, gate } from '../../support/executors.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

const done = async () => ({ result: okResult('done') });

async function accepted(open: Pipeline, fields: Partial<ToolExec> = {}): Promise<ToolExec> {
  const call = toolCall({ tool_name: 'test.echo', ...fields });
  await open.index.add([{ requestId: call.request_id, id: call.id }], Date.now());
  await open.journal.accept(call.request_id, [acceptance(call, LANE)]);
  return call;
}

const ringOf = (call: ToolExec) => ({
  request_id: call.request_id,
  id: call.id,
  digest: acceptance(call).digest,
});

/** Claims with a lease that ends before the reply arrives, until the claim is granted. */
async function dieWith(open: Pipeline, call: ToolExec): Promise<void> {
  const claim = async (): Promise<ClaimVerdict['kind']> => (await open.journal.claim(claimOf(call, 1))).kind;
  await vi.waitFor(async () => expect(await claim()).toBe('granted'));
  await vi.waitFor(async () => {
    const [seconds, micros] = await open.connection.time();
    const record = await open.journal.directive(call.request_id, call.id);
    expect(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)).toBeGreaterThanOrEqual(
      record?.leaseUntil ?? 0,
    );
  });
}

/** Its deadline passes now. */
async function expire(open: Pipeline, { request_id, id }: ToolExec): Promise<void> {
  const [state] = open.keys.request(request_id);
  await open.connection.hset(state, `${id}|deadline_at`, Date.now() - 1_000);
}

const types = async (open: Pipeline, { request_id }: ToolExec): Promise<string[]> =>
  (await open.log(request_id)).map(({ type }) => type);

const ONE_END = ['ai.tool.started', 'ai.tool.result'];

describe('a directive whose worker died', () => {
  test('ends in outcome_unknown if its policy is once, and is not run', async () => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'once', max_retries: 5 });
    await dieWith(open, call);
    let runs = 0;
    const parts = open.attemptParts(async () => {
      runs += 1;
      return { result: okResult(null) };
    });
    expect(await attemptDirective(parts, ringOf(call))).toEqual({
      kind: 'done',
      errorType: 'outcome_unknown',
    });
    const signal = await open.client.result(call.request_id, call.id);
    expect(errorOf(signal)).toMatchObject({ type: 'outcome_unknown', retryable: false });
    expect([runs, await types(open, call)]).toEqual([0, ONE_END]);
  });

  test('is never run again when its repeat policy is unknown', async () => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'read' });
    await dieWith(open, call);
    const parts = open.attemptParts(done);
    const registry = {
      ...parts.registry,
      queued: (type: ToolExec['type']) => {
        const definition = parts.registry.queued(type);
        return definition && { ...definition, repeatPolicy: () => Promise.reject(new Error('no catalog')) };
      },
    } as typeof parts.registry;
    await attemptDirective({ ...parts, registry }, ringOf(call));
    expect(errorOf(await open.client.result(call.request_id, call.id)).type).toBe('outcome_unknown');
  });

  test.each(['read', 'idempotent'] as const)(
    'is run again when it is %s, which uses up no retry',
    async (effect) => {
      await using open = await openPipeline(redis.url);
      const call = await accepted(open, { effect, max_retries: 1 });
      await dieWith(open, call);
      const attempts: number[] = [];
      await open.lanes.enqueue(LANE, ringOf(call));
      await open.startWorker(async (_directive, { attempt }) => {
        attempts.push(attempt);
        if (attempts.length > 1) return { result: okResult('done') };
        return { result: errorResult(errorEnvelope('timeout', 'slow')) };
      });
      const signal = await open.client.result(call.request_id, call.id);
      expect(signal).toMatchObject({
        attempt: 3,
        data: { result: { ok: true }, metadata: { attempts: 3, redeliveries: 1 } },
      });
      expect(attempts).toEqual([2, 3]);
      expect(await open.client.directive(call.request_id, call.id)).toMatchObject({
        failures: 1,
        redeliveries: 1,
      });
    },
  );

  test('three times is run again, and the fourth time given up', async () => {
    await using open = await openPipeline(redis.url);
    const [third, fourth] = [
      await accepted(open, { effect: 'read' }),
      await accepted(open, { effect: 'read' }),
    ];
    for (let death = 0; death < 3; death += 1) await dieWith(open, third);
    for (let death = 0; death < 4; death += 1) await dieWith(open, fourth);
    let runs = 0;
    const parts = open.attemptParts(async () => {
      runs += 1;
      return { result: okResult('done') };
    });
    await attemptDirective(parts, ringOf(third));
    await attemptDirective(parts, ringOf(fourth));
    expect((await open.client.result(third.request_id, third.id))?.data).toMatchObject({
      result: { ok: true },
    });
    const error = errorOf(await open.client.result(fourth.request_id, fourth.id));
    expect(error).toMatchObject({ type: 'worker_lost', retryable: false });
    expect([runs, await types(open, fourth)]).toEqual([1, ONE_END]);
  });
});

describe('a directive whose worker died and whose deadline passed', () => {
  test.each([
    ['once', 'unknown'],
    ['read', undefined],
  ] as const)('is ended by the next worker, which runs nothing: %s says %s', async (effect, outcome) => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect });
    await dieWith(open, call);
    let runs = 0;
    const parts = open.attemptParts(async () => {
      runs += 1;
      return { result: okResult(null) };
    });
    await expire(open, call);
    expect(await attemptDirective(parts, ringOf(call))).toEqual({
      kind: 'done',
      errorType: 'deadline_exceeded',
    });
    const error = errorOf(await open.client.result(call.request_id, call.id));
    expect([error.type, error.details['outcome'], runs]).toEqual(['deadline_exceeded', outcome, 0]);
  });

  test.each([
    ['once', 'unknown'],
    ['read', undefined],
  ] as const)('is ended by the sweeper: %s says %s', async (effect, outcome) => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect });
    await dieWith(open, call);
    await expire(open, call);
    await open.sweeper().sweep();
    const error = errorOf(await open.client.result(call.request_id, call.id));
    expect([error.type, error.details['outcome']]).toEqual(['deadline_exceeded', outcome]);
  });

  test('reports no unknown outcome if no attempt was under way', async () => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'once' });
    await expire(open, call);
    await attemptDirective(open.attemptParts(done), ringOf(call));
    const error = errorOf(await open.client.result(call.request_id, call.id));
    expect(error).toMatchObject({ type: 'deadline_exceeded' });
    expect(error.details).not.toHaveProperty('outcome');
  });
});

test('a claim is announced before it is made: whenever its worker dies, the sweeper checks at the end of the lease', async () => {
  await using open = await openPipeline(redis.url);
  const call = await accepted(open);
  const member = `${call.request_id}/${call.id}`;
  await open.connection.zadd(open.keys.sweep, Date.now() + 3_600_000, member);
  const parts = open.attemptParts(done, { leaseMs: 5_000 });
  const looks: string[] = [];
  const claim: typeof open.journal.claim = async (asked) => {
    const verdict = await open.journal.claim(asked);
    looks.push(...(await dueAt(open, Date.now() + 6_000)).map(({ id }) => id));
    return verdict;
  };
  await attemptDirective(
    {
      ...parts,
      records: { ...parts.records, journal: { ...parts.records.journal, claim } },
    },
    ringOf(call),
  );
  expect(looks).toEqual([call.id]);
});

test('a slow cancellation reports that a worker had the call meanwhile, and died', async () => {
  await using open = await openPipeline(redis.url);
  const call = await accepted(open, { effect: 'once' });
  const cancelLate: typeof open.journal.cancel = async (...asked) => {
    if ((await open.journal.directive(call.request_id, call.id))?.fence === 0) await dieWith(open, call);
    return open.journal.cancel(...asked);
  };
  const canceller = createCanceller({ ...open, journal: { ...open.journal, cancel: cancelLate } });
  const cancelled = await canceller.cancel(call.request_id, call.id, undefined);
  expect(cancelled?.directives).toMatchObject([{ status: 'cancelled' }]);
  const error = errorOf(await open.client.result(call.request_id, call.id));
  expect([error.type, error.details['outcome']]).toEqual(['cancelled', 'unknown']);
});

/** An attempt that hangs in its executor while its claim is taken over; `resume` lets it continue to its end. */
async function overtaken(open: Pipeline, call: ToolExec, ends: Execute) {
  const [started, resumed] = [gate(), gate()];
  const execute: Execute = async (directive, context) => {
    started.open();
    await resumed.passed;
    return ends(directive, context);
  };
  const parts = open.attemptParts(execute, { leaseMs: 1, heartbeat: stillHeart });
  const attempt = attemptDirective(parts, ringOf(call));
  await started.passed;
  const takeover = await vi.waitFor(async () => {
    const verdict = await open.journal.claim(claimOf(call, 60_000));
    if (verdict.kind !== 'granted') throw new Error(verdict.kind);
    return { requestId: call.request_id, id: call.id, fence: verdict.fence };
  });
  return { attempt, takeover, resume: () => resumed.open() };
}

describe('a worker that was overtaken', () => {
  test.each<[string, () => ReturnType<Execute>]>([
    ['success', done],
    ['failure', async () => ({ result: errorResult(errorEnvelope('validation_error', 'stale')) })],
    ['retryable failure', async () => ({ result: errorResult(errorEnvelope('timeout', 'stale')) })],
    ['breakdown', () => Promise.reject(new Error('stale'))],
  ])('cannot publish its %s', async (_what, ends) => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'read', max_retries: 3 });
    const { attempt, takeover, resume } = await overtaken(open, call, async (_directive, { report }) => {
      report('ai.tool.progress', { call_id: call.id, tool_name: 'stale', progress: 1, metadata: {} });
      return ends();
    });
    resume();
    expect(await attempt).toEqual({ kind: 'done' });
    expect(await types(open, call)).toEqual(['ai.tool.started']);
    const record = await open.journal.directive(call.request_id, call.id);
    expect(record).toMatchObject({ status: 'running', fence: takeover.fence, failures: 0 });
    const verdict = await open.journal.finish(takeover, 'failed', [failureOf(call)]);
    expect(verdict).toMatchObject({ kind: 'ended', closed: true });
    expect(await types(open, call)).toEqual(ONE_END);
  });

  test('cannot end what has ended', async () => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'read' });
    const { attempt, takeover, resume } = await overtaken(open, call, done);
    await open.journal.finish(takeover, 'failed', [failureOf(call)]);
    resume();
    await attempt;
    expect(await types(open, call)).toEqual(ONE_END);
    expect(errorOf(await open.client.result(call.request_id, call.id)).type).toBe('timeout');
  });
});

describe('a living worker', () => {
  test('keeps its claim longer than one lease', async () => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'once' });
    const resume = gate();
    const parts = open.attemptParts(
      async () => {
        await resume.passed;
        return done();
      },
      { leaseMs: 200 },
    );
    const attempt = attemptDirective(parts, ringOf(call));
    const leases = new Set<number>();
    await vi.waitFor(async () => {
      const record = await open.journal.directive(call.request_id, call.id);
      if (record?.leaseUntil) leases.add(record.leaseUntil);
      expect(leases.size).toBeGreaterThan(5);
    }, 10_000);
    expect((await open.journal.claim(claimOf(call))).kind).toBe('held');
    resume.open();
    await attempt;
    expect(await open.client.result(call.request_id, call.id)).toMatchObject({
      data: { result: { ok: true } },
    });
  });

  test('keeps its claim while its main thread is busy', async () => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'once' });
    const onError = (error: Error): void => void open.errors.push(error);
    const heartbeat = createThreadedHeartbeat({
      redisUrl: redis.url,
      prefix: open.prefix,
      leaseMs: 300,
      onError,
    });
    const leaseUntil = async () => (await open.journal.directive(call.request_id, call.id))?.leaseUntil ?? 0;
    let rival = '';
    const parts = open.attemptParts(
      async () => {
        const first = await leaseUntil();
        // The thread has to be up before the main one is blocked.
        await vi.waitFor(async () => expect(await leaseUntil()).toBeGreaterThan(first), 10_000);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
        rival = (await open.journal.claim(claimOf(call))).kind;
        return done();
      },
      { leaseMs: 300, heartbeat },
    );
    await attemptDirective(parts, ringOf(call));
    expect(rival).toBe('held');
    expect(await open.client.result(call.request_id, call.id)).toMatchObject({
      data: { result: { ok: true } },
    });
    expect(open.errors).toEqual([]);
  });

  test('loses its claim when its main thread is blocked for too long, and writes nothing more', async () => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'read' });
    const errors: string[] = [];
    const onError = ({ message }: Error): void => void errors.push(message);
    const { url: redisUrl } = redis;
    const data = { redisUrl, prefix: open.prefix, leaseMs: 300, blockedMs: 500, onError };
    const heartbeat = createThreadedHeartbeat(data);
    const leaseUntil = async () => (await open.journal.directive(call.request_id, call.id))?.leaseUntil ?? 0;
    let rival = '';
    const parts = open.attemptParts(
      async () => {
        const first = await leaseUntil();
        await vi.waitFor(async () => expect(await leaseUntil()).toBeGreaterThan(first), 10_000);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
        rival = (await open.journal.claim(claimOf(call))).kind;
        return done();
      },
      { leaseMs: 300, heartbeat },
    );
    await attemptDirective(parts, ringOf(call));
    expect(rival).toBe('granted');
    expect(await types(open, call)).toEqual(['ai.tool.started']);
    expect(errors).toEqual([expect.stringContaining('the event loop was blocked for more than 500 ms')]);
  });

  test('learns that its directive was ended elsewhere, and writes nothing more', async () => {
    await using open = await openPipeline(redis.url);
    const call = await accepted(open, { effect: 'read', max_retries: 5 });
    const started = gate();
    const parts = open.attemptParts(
      async (_directive, { signal }) => {
        started.open();
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve, { once: true });
        });
        return { result: errorResult(errorEnvelope('timeout', 'aborted')) };
      },
      { leaseMs: 200 },
    );
    const attempt = attemptDirective(parts, ringOf(call));
    await started.passed;
    await open.journal.endUnclaimed(call.request_id, call.id, 'failed', [failureOf(call)]);
    expect(await attempt).toEqual({ kind: 'done' });
    expect(await types(open, call)).toEqual(ONE_END);
  });
});

test('a job while another worker holds the claim waits for the end of the lease', async () => {
  await using open = await openPipeline(redis.url);
  const call = await accepted(open);
  await open.journal.claim(claimOf(call, 60_000));
  const record = await open.journal.directive(call.request_id, call.id);
  const outcome = await attemptDirective(open.attemptParts(done), ringOf(call));
  expect(outcome).toEqual({ kind: 'later', at: record?.leaseUntil });
});

test('two hundred jobs for one directive at once run it once', async () => {
  await using open = await openPipeline(redis.url);
  const call = await accepted(open, { id: randomUUID() });
  let runs = 0;
  const parts = open.attemptParts(async () => {
    runs += 1;
    return { result: okResult('done') };
  });
  await Promise.all(Array.from({ length: 200 }, () => attemptDirective(parts, ringOf(call))));
  expect([runs, await types(open, call)]).toEqual([1, ONE_END]);
});
