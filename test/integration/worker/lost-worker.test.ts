/** A worker that loses its claim: it died, stopped answering, or was overtaken.
 *  It must never kill a process: for Redis a dead worker is just a claim that nobody extends. */
import { describe, expect, test } from 'vitest';
import { signalSchema } from '../../../src/contract/signal/signal.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import type { ClaimVerdict } from '../../../src/store/request/verdicts.ts';
import { draftSignal } from '../../../src/store/log/signal-draft.ts';
import { jobId } from '../../../src/queue/job.ts';
import { createCanceller } from '../../../src/directives/change/cancel.ts';
import { attemptDirective } from '../../../src/worker/attempt/attempt.ts';
import { createThreadedHeartbeat } from '../../../src/worker/threaded-heartbeat.ts';
import { untilHolds } from '../../support/eventually.ts';
import { done, type Execute, fails, inTurn, untilAborted, untilResumed } from '../../support/executors.ts';
import { claimOf, dueAt, failureOf, jobOf, LANE, originOf } from '../../support/journal.ts';
import { setLeaseEnd } from '../../support/lease.ts';
import { takenJob } from '../../support/lane-taken.ts';
import { call, errorOf, openPipeline, stillHeart } from '../../support/pipeline.ts';
import { passDeadline } from '../../support/passed-deadline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

/** Claims with a lease that ends before the reply arrives, until the claim is granted. */
async function dieWith(call: ToolExec): Promise<void> {
  const claim = async (): Promise<ClaimVerdict['kind']> => (await open.journal.claim(claimOf(call, 1))).kind;
  await untilHolds(async () => expect(await claim()).toBe('granted'));
  await untilHolds(async () => {
    const [seconds, micros] = await open.connection.time();
    const record = await open.recordOf(call);
    expect(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)).toBeGreaterThanOrEqual(
      record?.leaseUntil ?? 0,
    );
  });
}

/** Data of its job, as a dashboard shows them. */
async function shownJob({ request_id, id }: ToolExec): Promise<Record<string, unknown>> {
  const base = open.lanes.scriptedBase(LANE) ?? '';
  return JSON.parse((await open.connection.hget(base + jobId(request_id, id), 'data')) ?? '{}') as Record<
    string,
    unknown
  >;
}

/** Its deadline passes now. */
async function expire({ request_id, id }: ToolExec): Promise<void> {
  await passDeadline(open, request_id, id);
}

const ONE_END = ['ai.tool.started', 'ai.tool.result'];

describe('a directive whose worker died', () => {
  test('ends in outcome_unknown if its policy is once, and is not run', async () => {
    const call = await open.accepted({ effect: 'once', max_retries: 5 });
    await dieWith(call);
    const { execute, ran } = inTurn(done);
    const parts = open.attemptParts(execute);
    expect(await open.attempt(parts, call)).toMatchObject({ kind: 'done', errorType: 'outcome_unknown' });
    const signal = await open.resultOf(call);
    expect(errorOf(signal)).toMatchObject({ type: 'outcome_unknown', retryable: false });
    expect([ran.length, await open.typesOf(call)]).toEqual([0, ONE_END]);
  });

  test('is never run again when its repeat policy is unknown', async () => {
    const call = await open.accepted({ effect: 'read' });
    await dieWith(call);
    const parts = open.attemptParts();
    const registry = {
      ...parts.registry,
      queued: (type: ToolExec['type']) => {
        const definition = parts.registry.queued(type);
        return definition && { ...definition, repeatPolicy: () => Promise.reject(new Error('no catalog')) };
      },
    } as typeof parts.registry;
    await open.attempt({ ...parts, registry }, call);
    expect(errorOf(await open.resultOf(call)).type).toBe('outcome_unknown');
  });

  test.each(['read', 'idempotent'] as const)(
    'is run again when it is %s, which uses up no retry',
    async (effect) => {
      const call = await open.accepted({ effect, max_retries: 1 });
      await dieWith(call);
      const attempts: number[] = [];
      // As BullMQ gives on the job of a dead worker.
      await open.lanes.enqueue(LANE, { ...jobOf(call), attempt: 1 });
      await open.startWorker(async (_directive, { attempt }) => {
        attempts.push(attempt);
        await untilHolds(async () => expect((await shownJob(call))['attempt']).toBe(attempt));
        return attempts.length > 1 ? done : fails('timeout');
      });
      const signal = await open.resultOf(call);
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
});

test('the question of a call whose worker died is withdrawn by the next one, before it asks anew', async () => {
  const call = await open.accepted({ effect: 'read' });
  await dieWith(call);
  const question = { mode: 'form', message: 'How many?', schema: {} } as const;
  const round = { endpoint: 'e', state: null, questions: [{ key: '', question }] };
  const asking = { round, held: true, number: 1, first: 1, untilAt: Date.now() + 60_000, afresh: false };
  const about = {
    call_id: call.id,
    tool_name: 'test.tool',
    metadata: {},
    deadline_at: new Date().toISOString(),
  };
  const signal = draftSignal(
    'ai.tool.input_requested',
    { ...about, ...question, input_id: `${call.id}.1` },
    originOf(call),
  );
  const { request_id: requestId, id } = call;
  expect(await open.journal.questions.ask({ requestId, id, fence: 1 }, asking, [signal])).toBe('asked');
  const held = { question, endpoint: 'e', patienceMs: 60_000 };
  // Nobody waits for this one from the start.
  const parts = open.attemptParts(async (_directive, { ask }) => {
    expect(await ask?.(held, AbortSignal.abort())).toEqual({ action: 'cancel' });
    expect((await open.recordOf(call))?.asked?.open).toBe(0);
    return done;
  });
  await open.attempt(parts, call);
  const { signals } = await open.client.page(requestId, { limit: 10 });
  expect(signals.map(({ type, data }) => [type, Object(data).cause])).toEqual([
    ['ai.tool.started', undefined],
    ['ai.tool.input_requested', undefined],
    ['ai.tool.input_answered', 'withdrawn'],
    ['ai.tool.result', undefined],
  ]);
});

describe('a directive whose worker died and whose deadline passed', () => {
  test.each([
    ['once', 'unknown'],
    ['read', undefined],
  ] as const)('is ended by the next worker, which runs nothing: %s says %s', async (effect, outcome) => {
    const call = await open.accepted({ effect });
    await dieWith(call);
    const { execute, ran } = inTurn(done);
    const parts = open.attemptParts(execute);
    await expire(call);
    expect(await open.attempt(parts, call)).toMatchObject({ kind: 'done', errorType: 'deadline_exceeded' });
    const error = errorOf(await open.resultOf(call));
    expect([error.type, error.details['outcome'], ran.length]).toEqual(['deadline_exceeded', outcome, 0]);
  });

  test.each([
    ['once', 'unknown'],
    ['read', undefined],
  ] as const)('is ended by the sweeper: %s says %s', async (effect, outcome) => {
    const call = await open.accepted({ effect }, Date.now());
    await dieWith(call);
    await expire(call);
    await open.sweeper().sweep();
    const error = errorOf(await open.resultOf(call));
    expect([error.type, error.details['outcome']]).toEqual(['deadline_exceeded', outcome]);
  });

  test('reports no unknown outcome if no attempt was under way', async () => {
    const call = await open.accepted({ effect: 'once' });
    await expire(call);
    await open.attempt(open.attemptParts(), call);
    const error = errorOf(await open.resultOf(call));
    expect(error).toMatchObject({ type: 'deadline_exceeded' });
    expect(error.details).not.toHaveProperty('outcome');
  });
});

test('a claim is announced before it is made: whenever its worker dies, the sweeper checks at the end of the lease', async () => {
  const call = await open.accepted();
  const member = `${call.request_id}/${call.id}`;
  await open.connection.zadd(open.keys.sweep, Date.now() + 3_600_000, member);
  const parts = open.attemptParts(async () => done, { leaseMs: 5_000 });
  const looks: string[] = [];
  const claim: typeof open.journal.claim = async (asked) => {
    const verdict = await open.journal.claim(asked);
    looks.push(...(await dueAt(open, Date.now() + 6_000)).map(({ id }) => id));
    return verdict;
  };
  await open.attempt(
    {
      ...parts,
      records: { ...parts.records, journal: { ...parts.records.journal, claim } },
    },
    call,
  );
  expect(looks).toEqual([call.id]);
});

test('a slow cancellation reports that a worker had the call meanwhile, and died', async () => {
  const call = await open.accepted({ effect: 'once' });
  const cancelLate: typeof open.journal.cancel = async (...asked) => {
    if ((await open.recordOf(call))?.fence === 0) await dieWith(call);
    return open.journal.cancel(...asked);
  };
  const canceller = createCanceller({
    ...open.store,
    index: open.index,
    later: open.store.records.later,
    lanes: open.lanes,
    gated: open.gated,
    journal: { ...open.journal, cancel: cancelLate },
  });
  const cancelled = await canceller.cancel(call.request_id, call.id, undefined);
  expect(cancelled?.directives).toMatchObject([{ status: 'cancelled' }]);
  const error = errorOf(await open.resultOf(call));
  expect([error.type, error.details['outcome']]).toEqual(['cancelled', 'unknown']);
});

/** An attempt that hangs in its executor while its claim is taken over; `resume` lets it continue to its end. */
async function overtaken(call: ToolExec, ends: Execute) {
  const { execute, started, resume } = untilResumed();
  const hangs: Execute = async (...given) => {
    await execute(...given);
    return ends(...given);
  };
  const parts = open.attemptParts(hangs, { leaseMs: 1, heartbeat: stillHeart });
  const attempt = open.attempt(parts, call);
  await started;
  const takeover = await untilHolds(() => open.claimed(call));
  return { attempt, takeover, resume };
}

describe('a worker that was overtaken', () => {
  test.each<[string, () => ReturnType<Execute>]>([
    ['success', async () => done],
    ['failure', async () => fails('validation_error')],
    ['retryable failure', async () => fails('timeout')],
    ['breakdown', () => Promise.reject(new Error('stale'))],
  ])('cannot publish its %s', async (_what, ends) => {
    const call = await open.accepted({ effect: 'read', max_retries: 3 });
    const { attempt, takeover, resume } = await overtaken(call, async (_directive, { report }) => {
      report('ai.tool.progress', { call_id: call.id, tool_name: 'stale', progress: 1, metadata: {} });
      return ends();
    });
    resume();
    expect(await attempt).toEqual({ kind: 'done' });
    expect(await open.typesOf(call)).toEqual(['ai.tool.started']);
    const record = await open.recordOf(call);
    expect(record).toMatchObject({ status: 'running', fence: takeover.fence, failures: 0 });
    const verdict = await open.journal.finish(takeover, 'failed', [failureOf(call)]);
    expect(verdict).toMatchObject({ kind: 'ended', closed: true });
    expect(await open.typesOf(call)).toEqual(ONE_END);
  });
});

describe('a living worker', () => {
  test('keeps its claim longer than one lease', async () => {
    const call = await open.accepted({ effect: 'once' });
    const { execute, resume } = untilResumed();
    const attempt = open.attempt(open.attemptParts(execute, { leaseMs: 200 }), call);
    const leases = new Set<number>();
    await untilHolds(async () => {
      const record = await open.recordOf(call);
      if (record?.leaseUntil) leases.add(record.leaseUntil);
      expect(leases.size).toBeGreaterThan(5);
    });
    expect((await open.journal.claim(claimOf(call))).kind).toBe('held');
    resume();
    await attempt;
    expect(await open.resultOf(call)).toMatchObject({
      data: { result: { ok: true } },
    });
  });

  /** An attempt that blocks its main thread once its heartbeat is up: what a rival's claim is answered, and the errors. */
  async function blocked(call: ToolExec, forMs: number, blockedMs?: number) {
    const errors: string[] = [];
    const heartbeat = createThreadedHeartbeat({
      redisUrl: redis.url,
      prefix: open.prefix,
      leaseMs: 300,
      ...(blockedMs === undefined ? {} : { blockedMs }),
      onError: ({ message }) => void errors.push(message),
    });
    const leaseUntil = async () => (await open.recordOf(call))?.leaseUntil ?? 0;
    let rival = '';
    const parts = open.attemptParts(
      async () => {
        const first = await leaseUntil();
        await untilHolds(async () => expect(await leaseUntil()).toBeGreaterThan(first));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
        rival = (await open.journal.claim(claimOf(call))).kind;
        return done;
      },
      { leaseMs: 300, heartbeat },
    );
    await open.attempt(parts, call);
    return { rival, errors: [...errors, ...open.errors.map(({ message }) => message)] };
  }

  test('keeps its claim while its main thread is busy', async () => {
    const call = await open.accepted({ effect: 'once' });
    expect(await blocked(call, 1_500)).toEqual({ rival: 'held', errors: [] });
    expect(await open.resultOf(call)).toMatchObject({ data: { result: { ok: true } } });
  });

  test('loses its claim when its main thread is blocked for too long, and writes nothing more', async () => {
    const call = await open.accepted({ effect: 'read' });
    expect(await blocked(call, 3_000, 500)).toEqual({
      rival: 'granted',
      errors: [expect.stringContaining('the event loop was blocked for more than 500 ms')],
    });
    expect(await open.typesOf(call)).toEqual(['ai.tool.started']);
  });

  test('learns that its directive was ended elsewhere, and writes nothing more', async () => {
    const call = await open.accepted({ effect: 'read', max_retries: 5 });
    const { execute, started } = untilAborted(fails('timeout'));
    const attempt = open.attempt(open.attemptParts(execute, { leaseMs: 200 }), call);
    await started;
    await open.journal.endUnclaimed(call.request_id, call.id, 'failed', [failureOf(call)]);
    expect(await attempt).toEqual({ kind: 'done' });
    expect(await open.typesOf(call)).toEqual(ONE_END);
  });
});

test('a job while another worker holds the claim waits for the end of the lease', async () => {
  const call = await open.accepted();
  await open.journal.claim(claimOf(call, 60_000));
  const record = await open.recordOf(call);
  const outcome = await open.attempt(open.attemptParts(), call);
  expect(outcome).toEqual({ kind: 'later', at: record?.leaseUntil });
});

describe('a job that comes with its claim, and whose start its worker reports', () => {
  type Submitted = ReturnType<typeof call>;

  async function submitted(): Promise<Submitted> {
    // With arguments that are too long for the signal of its start to be kept.
    const made = call({ effect: 'once', arguments: { text: 'x'.repeat(2_000) } });
    await open.client.submit(made);
    return made;
  }

  /** As a worker takes it, without its attempt. */
  const taken = async (_made: Submitted) => takenJob(open);

  /** As if its worker had been silent for the whole lease, and so many before. */
  async function endLease({ request_id, id }: Submitted, redeliveries = 0): Promise<void> {
    const [state] = open.keys.request(request_id);
    await setLeaseEnd(open.connection, state, id, 1);
    if (redeliveries > 0) await open.connection.hset(state, `${id}|redeliveries`, redeliveries);
  }

  test('and whose worker dies before the start is reported is made by the next worker, though its policy is once', async () => {
    const made = await submitted();
    const [job] = await taken(made);
    await endLease(made);
    const { execute, ran } = inTurn(done);
    expect(await attemptDirective(open.attemptParts(execute), job, LANE)).toMatchObject({ errorType: null });
    expect([ran.length, await open.typesOf(made)]).toEqual([1, ONE_END]);
    expect(await open.recordOf(made)).toMatchObject({ redeliveries: 1 });
  });

  test('and kills each worker before the start is reported ends as worker_lost', async () => {
    const made = await submitted();
    const [job] = await taken(made);
    await endLease(made, 3);
    const { execute, ran } = inTurn(done);
    await attemptDirective(open.attemptParts(execute), job, LANE);
    expect(errorOf(await open.resultOf(made))).toMatchObject({
      type: 'worker_lost',
      details: { redeliveries: 4 },
    });
    expect(ran).toEqual([]);
  });

  test('that runs out before the start is reported is left to the next worker', async () => {
    const made = await submitted();
    const [job, held] = await taken(made);
    await endLease(made);
    const { execute, ran } = inTurn(done);
    expect(await attemptDirective(open.attemptParts(execute), job, LANE, held)).toEqual({ kind: 'done' });
    expect([ran, await open.typesOf(made)]).toEqual([[], []]);
  });

  test('and is cancelled before its call ends so once, and was no attempt', async () => {
    const made = await submitted();
    const [job, held] = await taken(made);
    expect(await open.client.cancel(made.request_id, made.id)).toMatchObject({
      directives: [{ id: made.id, status: 'requested' }],
    });
    const { execute, ran } = inTurn(done);
    const attempt = () => attemptDirective(open.attemptParts(execute), job, LANE, held);
    expect(await attempt()).toMatchObject({ kind: 'done', errorType: 'cancelled' });
    expect(await attempt()).toMatchObject({ kind: 'done' });
    expect([ran, await open.typesOf(made)]).toEqual([[], ['ai.tool.result']]);
    const end = await open.resultOf(made);
    expect(errorOf(end).details).not.toHaveProperty('outcome');
    expect(signalSchema.safeParse(end).error).toBeUndefined();
    expect(await open.client.directive(made.request_id, made.id)).toMatchObject({ attempts: 0 });
  });

  test('and is cancelled before a worker puts it off ends so, without a word of a possible execution', async () => {
    const made = await submitted();
    const [job, held] = await taken(made);
    await open.client.cancel(made.request_id, made.id);
    const parts = open.attemptParts();
    parts.running.stopAll('shutdown');
    const outcome = await attemptDirective(parts, job, LANE, held);
    expect(outcome).toMatchObject({ kind: 'done', errorType: 'cancelled' });
    expect(errorOf(await open.resultOf(made)).details).not.toHaveProperty('outcome');
  });

  test('and whose earlier worker died during the call is not given back by a worker that puts it off', async () => {
    const made = await submitted();
    const [state] = open.keys.request(made.request_id);
    const earlier = { status: 'running', started_at: 1, fence: 1, claimant: 'earlier/0', lease_until: 1 };
    for (const [name, value] of Object.entries(earlier))
      await open.connection.hset(state, `${made.id}|${name}`, value);
    const parts = open.attemptParts();
    parts.running.stopAll('shutdown');
    const [job, held] = await taken(made);
    const outcome = await attemptDirective(parts, job, LANE, held);
    expect(outcome).toMatchObject({ kind: 'done', errorType: 'outcome_unknown' });
  });
});
