/** Runs on a real Redis: started, taken turn by turn, woken too often, and ended, whichever engine takes the turns.
 *  It must not look into a document: what a run did is in its log. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { laneScriptsOn } from '../../../src/queue/lane-scripts.ts';
import { newTraceparent } from '../../../src/platform/telemetry/traces/trace-context.ts';
import { consumeLane, type JobOutcome } from '../../../src/queue/consume.ts';
import { createHandOver } from '../../../src/queue/hand-over.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { RUN_LANE } from '../../../src/queue/run-wake.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { acceptance, endOf, toolCall, LANE } from '../../support/journal.ts';
import { refusal } from '../../support/pipeline.ts';
import { passDeadline } from '../../support/passed-deadline.ts';
import { useRedis } from '../../support/shared.ts';
import { heard, types } from '../../support/run-log.ts';
import { script, scriptedAgent } from '../../support/scripted-strategy.ts';

const redis = useRedis();
let engines: EngineTest;

const AGENTS = [
  scriptedAgent(),
  scriptedAgent({ name: 'narrow', limits: { max_pending: 5, parallel_tool_calls: 10 } }),
];
const SIX = ['a', 'b', 'c', 'd', 'e', 'f'];
const FIVE = SIX.slice(1);
beforeEach(async () => {
  engines = await openEngineTest(redis.url, { agents: AGENTS });
});
afterEach(async () => {
  await engines?.[Symbol.asyncDispose]();
});

function failure(log: readonly Signal[]): unknown {
  const end = log.find(({ type }) => type === 'ai.request.failed');
  return end?.type === 'ai.request.failed' ? (end.data.error as { type: string }).type : null;
}

async function startRun(query: string, more: Record<string, unknown> = {}): Promise<string> {
  const started = await engines.client.start({ agent: 'scripted', query, ...more });
  return started.request_id;
}

describe('a run', () => {
  test('goes from its start over its tools to its end, every signal in order, in one trace', async () => {
    await engines.startEngine();
    await engines.startWorker(echo);
    const traceparent = newTraceparent();
    const query = script({ tools: ['a'] }, { tool_errors: ['x'] }, { emit: 'shop.sold' });
    const run = { request_id: `a.b_c:D-${engines.newId()}`, agent: 'scripted', query };
    const { request_id, status } = await engines.client.start(run, { traceparent });
    expect([request_id, status]).toEqual([run.request_id, 'pending']);
    const log = await engines.ended(request_id);
    expect(types(log)).toEqual([
      'ai.request.started',
      'ai.tool.started',
      'ai.tool.result',
      'ai.tool.result',
      'shop.sold',
      'ai.request.completed',
    ]);
    expect(heard(log)).toEqual(['ai.tool.result s0.a', 'ai.tool.result s1.x failed']);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
    expect(new Set(log.map((signal) => signal.traceparent.slice(3, 35)))).toEqual(
      new Set([traceparent.slice(3, 35)]),
    );
    expect(log.at(-1)?.causationid).toBe(log[3]?.id);
  });

  test('closes its request when it ends, and leaves no key without an expiry', async () => {
    await engines.startEngine();
    await engines.startWorker(echo);
    const id = await startRun(script({ tools: ['a'] }));
    await engines.ended(id);
    await eventually(() => engines.index.size()).toBe(0);
    expect(await engines.journal.head(id)).toMatchObject({ status: 'closed', open: 0 });
    expect((await engines.keysWithoutExpiry()).filter((key) => key.includes(id))).toEqual([]);
    expect(await engines.jobs('run')).toBe(0);
  });

  test('is found again after its engine and its jobs are lost', async () => {
    const id = await startRun(script({ tool_errors: ['x'] }), { request_id: 'lost-ring' });
    await eventually(() => engines.jobs('run')).toBe(1);
    await engines.lanes.removeJob('run', id, '@run/0');
    expect(await engines.jobs('run')).toBe(0);
    await engines.startEngine();
    await engines.connection.zadd(engines.keys.sweep, 'XX', 1, `${id}/@run`);
    await engines.sweeper().sweep();
    expect(heard(await engines.ended(id))).toHaveLength(1);
  });

  // Issue 14: an error of the script that enqueues with the start was hidden.
  test('whose job Redis refuses at its start has started; Redis logs the error, and the sweeper enqueues', async () => {
    const { connection, keys, lanes } = engines;
    expect(await laneScriptsOn(connection, keys.prefix).check()).toBeNull();
    const waiting = `${lanes.scriptedBase('run')}wait`;
    await connection.set(waiting, 'of another program');
    const id = await startRun(script({ tool_errors: ['x'] }));
    await redis.waitForLine(new RegExp(`the request ${id} .*WRONGTYPE`));
    await connection.del(waiting);
    await engines.startEngine();
    await connection.zadd(keys.sweep, 'XX', 1, `${id}/@run`);
    await engines.sweeper().sweep();
    expect(heard(await engines.ended(id))).toHaveLength(1);
  });

  test('goes on when the worker that ended its directive died before it could wake it', async () => {
    await engines.startEngine();
    // With a rate, an end and the job of the turn that reads it are two commands.
    const dying = await engines.startWorker(echo, async () => {}, { rate: { max: 100, per_ms: 1_000 } });
    const id = await startRun(script({ tools: ['a'] }));
    await eventually(async () => (await engines.journal.directive(id, 's0.a'))?.status).toBe('succeeded');
    expect((await engines.runs.head(id))?.unread).toBe(true);
    await dying.stop();
    await engines.startWorker(echo);
    const digest = (await engines.journal.directive(id, 's0.a'))?.digest ?? '';
    // BullMQ gives the dead worker's job to the next free one.
    await eventually(async () => {
      await engines.lanes.requeue(LANE, { request_id: id, id: 's0.a', digest }, { evenEnded: true });
      return (await engines.runs.head(id))?.ended;
    }).toBe(true);
  });

  // A lane with a limit is served by BullMQ's own scripts.
  test.each([
    ['plain', {}],
    ['limited', { concurrency: 100 }],
  ])('has another turn for a wake during the job of its version: a %s lane', async (_lane, meta) => {
    const base = `${lanePrefix(engines.keys.prefix, RUN_LANE)}:${RUN_LANE}:`;
    await engines.connection.hset(`${base}meta`, { opts: '', ...meta });
    const taken: ((outcome: JobOutcome) => void)[] = [];
    const consumer = consumeLane({
      lane: RUN_LANE,
      prefix: engines.keys.prefix,
      connection: engines.connection,
      concurrency: 2,
      lockMs: 3_000,
      stalledCheckMs: 500,
      handle: () => new Promise<JobOutcome>((resolve) => taken.push(resolve)),
      onError: (error) => void engines.errors.push(error),
    });
    await consumer.start();
    onTestFinished(() => consumer.stop());
    const id = await startRun(script({ tools: ['a'] }));
    await eventually(() => taken.length).toBe(1);
    await engines.wake(id, 0);
    taken[0]?.({ kind: 'done' });
    await eventually(() => taken.length).toBe(2);
    taken[1]?.({ kind: 'done' });
    await eventually(() => engines.jobs('run')).toBe(0);
  });

  test('is given back by an engine without a free slot, and has its turn there when one is free', async () => {
    const listening = connectRedis(redis.url, 'subscriber');
    onTestFinished(async () => closeRedis(listening));
    const { connection, keys, errors } = engines;
    const onError = (error: Error): void => void errors.push(error);
    const handOver = createHandOver({ listening, publishing: connection, onError }, keys);
    await handOver.start();
    const taken: [requestId: string, end: (outcome: JobOutcome) => void][] = [];
    const consumer = consumeLane({
      lane: RUN_LANE,
      prefix: keys.prefix,
      connection,
      concurrency: 1,
      lockMs: 3_000,
      stalledCheckMs: 500,
      handle: ({ request_id: requestId }) =>
        new Promise<JobOutcome>((resolve) => taken.push([requestId, resolve])),
      offering: { handOver, leaseMs: 3_000, owesStart: false, keyPrefix: keys.prefix },
      onError,
    });
    await consumer.start();
    onTestFinished(() => consumer.stop());
    const offers = `${lanePrefix(keys.prefix, RUN_LANE)}:${RUN_LANE}:offers`;
    await eventually(() => connection.hlen(offers)).toBe(1);
    const offer = await connection.hgetall(offers);
    const first = await startRun(script());
    await eventually(() => taken.length).toBe(1);
    // It is announced once more, as by a message that was late.
    await connection.hset(offers, offer);
    const second = await startRun(script());
    await eventually(() => engines.lanes.counts(RUN_LANE)).toMatchObject({ waiting: 1, active: 1 });
    taken[0]?.[1]({ kind: 'done' });
    await eventually(() => taken.map(([requestId]) => requestId)).toEqual([first, second]);
    taken[1]?.[1]({ kind: 'done' });
    await eventually(() => engines.jobs(RUN_LANE)).toBe(0);
    expect(errors).toEqual([]);
  });

  test('reads at once what was answered at acceptance', async () => {
    await engines.startEngine();
    const id = await startRun(script({ approval: 'ask' }));
    await eventually(async () => (await engines.runs.head(id))?.version).toBe(1);
    const journal = engines.wakingJournal(engines.wake);
    const foreign = { ...acceptance(toolCall({ request_id: id }), ''), lane: null };
    const signal = endOf(toolCall({ request_id: id, id: foreign.id }));
    await journal.accept(id, [{ ...foreign, end: { status: 'failed', signal } }]);
    await eventually(() => engines.runs.head(id)).toMatchObject({ version: 2, unread: false });
  });

  test('misses nothing when one of two ends came from a process that did not wake it', async () => {
    await engines.startEngine();
    let ends = 0;
    await engines.startWorker(echo, async (requestId, version) => {
      ends += 1;
      if (ends > 1) await engines.wake(requestId, version);
    });
    const id = await startRun(script({ tools: ['a', 'b'] }));
    expect(heard(await engines.ended(id)).toSorted()).toEqual(['ai.tool.result s0.a', 'ai.tool.result s0.b']);
  });

  test('reads all signals before it ends, however many there are', async () => {
    const id = await startRun('[]');
    for (let number = 0; number < 450; number += 1) {
      const data = { parent_request_id: 'other', reason: String(number) };
      const signal = { type: 'agent.parent.exit', data };
      await engines.tell(id, { name: `n${number}`, digest: '', limit: null, signal });
    }
    await engines.startEngine();
    const log = await engines.ended(id);
    expect(log.at(-1)?.type).toBe('ai.request.completed');
    expect(log).toHaveLength(452);
  });

  test('ends although its unread signals are larger than a turn reads', async () => {
    const id = await startRun(script({ inputs: 1 }));
    for (let index = 0; index < 9; index += 1) {
      const data = { request_id: id, input_id: `i${index}`, content: 'x'.repeat(1_048_576) };
      const signal = { type: 'ai.request.input', data } as const;
      await engines.tell(id, { name: `large-${index}`, digest: '', limit: null, signal });
    }
    await engines.startEngine();
    const ends = types(await engines.ended(id)).filter((type) => type === 'ai.request.completed');
    expect(ends).toHaveLength(1);
  });
});

describe('starting', () => {
  test('the same content twice is one run, at once or later', async () => {
    await engines.startEngine();
    await engines.startWorker(echo);
    const run = { request_id: engines.newId(), agent: 'scripted', query: script({ tools: ['a'] }) };
    const starts = await Promise.all(Array.from({ length: 8 }, () => engines.client.start(run)));
    expect(new Set(starts.map(({ run_id }) => run_id)).size).toBe(1);
    const log = await engines.ended(run.request_id);
    expect(await engines.client.start(run)).toMatchObject({ status: 'completed' });
    expect(await engines.log(run.request_id)).toEqual(log);
    expect(types(log).filter((type) => type === 'ai.request.started')).toHaveLength(1);
  });

  test('with one limit of its own leaves the others as its agent has them', async () => {
    await engines.startEngine();
    const limits = { max_iterations: 2 };
    const id = await startRun(script({ tools: SIX }), { agent: 'narrow', overrides: { limits } });
    expect(failure(await engines.ended(id))).toBe('queue_overflow');
  });

  test('with a looser limit than its agent has is refused', async () => {
    const overrides = { limits: { max_pending: 6 } };
    const problem = await refusal(engines.client.start({ agent: 'narrow', query: 'a', overrides }));
    expect(problem).toMatchObject({
      code: 'invalid_body',
      errors: [{ path: 'overrides.limits.max_pending' }],
    });
  });
});

describe('waking', () => {
  test('any number of times, by any engine, late or at once, changes nothing', async () => {
    for (let count = 0; count < 3; count += 1) await engines.startEngine();
    await engines.startWorker(echo);
    const ids = await Promise.all(
      Array.from({ length: 10 }, () =>
        startRun(script({ tools: ['a', 'b', 'c'] }, { tool_errors: ['x'] }, { tools: ['d'] })),
      ),
    );
    let over = false;
    const pestering = (async () => {
      while (!over) {
        await Promise.all(ids.flatMap((id) => [engines.wake(id, 0), engines.wake(id, 3)]));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const logs = await Promise.all(ids.map((id) => engines.ended(id)));
    over = true;
    await pestering;
    for (const log of logs) {
      expect(types(log).filter((type) => type.startsWith('ai.request'))).toEqual([
        'ai.request.started',
        'ai.request.completed',
      ]);
      expect(heard(log).toSorted()).toEqual(
        ['s0.a', 's0.b', 's0.c', 's1.x failed', 's2.d'].map((name) => `ai.tool.result ${name}`),
      );
    }
  });

  test('a run that does not exist, or whose request is gone, is forgotten', async () => {
    await engines.startEngine();
    const id = engines.newId();
    await engines.index.add([{ requestId: id, id: '@run' }], 1);
    await engines.wake(id, 0);
    await eventually(() => engines.index.size()).toBe(0);
  });
});

describe('directives of a run', () => {
  test('beyond what may be open are refused with the turn that asked for them', async () => {
    await engines.startEngine();
    const id = engines.newId();
    const foreign = toolCall({ request_id: id, server: 'test' });
    await engines.requests.submit(foreign);
    await startRun(script({ tools: FIVE }), { request_id: id, agent: 'narrow' });
    expect(failure(await engines.ended(id))).toBe('queue_overflow');
    expect((await engines.journal.request(id))?.directives.map((one) => one.id)).toEqual([foreign.id]);
  });

  test('up to what may be open are accepted', async () => {
    await engines.startEngine();
    await engines.startWorker(echo);
    const id = await startRun(script({ tools: FIVE }, { tools: FIVE }), { agent: 'narrow' });
    expect(heard(await engines.ended(id))).toHaveLength(10);
  });

  test('whose id exists with other content end the run', async () => {
    await engines.startEngine();
    const id = engines.newId();
    const taken = { type: 'emit_tool_error', id: 's0.a', tool_name: 'other', error: 'x' } as const;
    await engines.requests.submit({ ...taken, request_id: id });
    await startRun(script({ tools: ['a'] }), { request_id: id });
    expect(failure(await engines.ended(id))).toBe('id_conflict');
  });

  test('which were accepted and ended before the run are still read by it', async () => {
    const id = engines.newId();
    const own = { request_id: id, run_id: id, iteration: 0, strategy: 'scripted', agent: 'scripted' };
    const before = { type: 'emit_tool_error', id: 's0.a', tool_name: 'a', error: 'unknown' } as const;
    await engines.requests.submit({ ...before, request_id: id, metadata: own });
    await engines.startEngine();
    await startRun(script({ tool_errors: ['a'] }), { request_id: id });
    expect(heard(await engines.ended(id))).toEqual(['ai.tool.result s0.a failed']);
  });

  test('that no worker serves end at their deadline, and the run reads that', async () => {
    await engines.startEngine();
    const id = await startRun(script({ tools: ['a'] }));
    await eventually(async () => (await engines.journal.directive(id, 's0.a'))?.status).toBe('accepted');
    await passDeadline(engines, id, 's0.a');
    await engines.connection.zadd(engines.keys.sweep, 'XX', 1, `${id}/s0.a`);
    await engines.sweeper().start();
    await engines.connection.zadd(engines.keys.sweep, 1, `${id}/@run`);
    expect(heard(await engines.ended(id))).toEqual(['ai.tool.result s0.a failed']);
  });
});

describe('cancelling a request', () => {
  test('ends its run and its directives, and twice is once', async () => {
    await engines.startEngine();
    const id = await startRun(script({ tools: ['a', 'b'] }));
    await eventually(async () => (await engines.journal.request(id))?.directives.length).toBe(2);
    await Promise.all([1, 2].map(() => engines.requests.cancel(id, undefined, { reason: 'enough' })));
    const log = await engines.ended(id);
    expect(failure(log)).toBe('cancelled');
    expect(types(log).filter((type) => type === 'ai.tool.result')).toHaveLength(2);
    expect(types(log).filter((type) => type === 'ai.request.cancel_requested')).toHaveLength(1);
    await eventually(async () => (await engines.journal.head(id))?.status).toBe('closed');
  });

  test('ends its directives without an engine, and the run once there is an engine', async () => {
    const engine = await engines.startEngine();
    const id = await startRun(script({ tools: ['a'] }));
    await eventually(async () => (await engines.journal.request(id))?.directives.length).toBe(1);
    await engine.stop();
    const cancelled = await engines.requests.cancel(id);
    expect(cancelled.directives).toMatchObject([{ id: 's0.a', status: 'cancelled' }]);
    expect((await engines.runs.head(id))?.ended).toBe(false);
    await engines.startEngine();
    const log = await engines.ended(id);
    expect(failure(log)).toBe('cancelled');
    expect(types(log)).toEqual([
      'ai.request.started',
      'ai.request.cancel_requested',
      'ai.tool.result',
      'ai.request.failed',
    ]);
  });

  test('before its first turn, while it is shown as pending: it never begins', async () => {
    const id = await startRun(script({ tools: ['a'] }));
    expect(await engines.requests.request(id)).toMatchObject({ run: { status: 'pending', ended_at: null } });
    await engines.requests.cancel(id);
    await engines.startEngine();
    const log = await engines.ended(id);
    expect(types(log)).toEqual(['ai.request.cancel_requested', 'ai.request.error', 'ai.request.failed']);
    expect((await engines.runs.head(id))?.status).toBe('cancelled');
  });
});

describe('timers', () => {
  test('fire by themselves, without a sweeper', async () => {
    await engines.startEngine();
    const id = await startRun(script({ timer_ms: 300 }, { timer_ms: 1 }));
    const log = await engines.ended(id);
    expect(heard(log)).toEqual(['agent.scheduled t0', 'agent.scheduled t1']);
    const [started, fired] = log;
    expect(Date.parse(fired?.time ?? '') - Date.parse(started?.time ?? '')).toBeGreaterThanOrEqual(300);
  });

  test('survive every engine, also when their job is lost', async () => {
    const engine = await engines.startEngine();
    const id = await startRun(script({ timer_ms: 700 }));
    await eventually(async () => (await engines.runs.head(id))?.wakeAt).toBeTypeOf('number');
    await engine.stop();
    const wakeAt = (await engines.runs.head(id))?.wakeAt ?? 0;
    await engines.lanes.removeJob('run', id, `@run/at/${wakeAt}`);
    await engines.startEngine();
    await engines.sweeper().start();
    expect(heard(await engines.ended(id))).toEqual(['agent.scheduled t0']);
  });
});

describe('children', () => {
  test('run beside their parent, which reads their end, and have children of their own', async () => {
    await engines.startEngine();
    await engines.startWorker(echo);
    const grandchild = { agent: 'scripted', script: [{ tool_errors: ['x'] }] };
    const child = { agent: 'scripted', script: [{ tools: ['inner'] }, { child: grandchild }] };
    const id = await startRun(script({ child }, { tools: ['after'] }));
    const log = await engines.ended(id);
    expect(heard(log)).toEqual(['agent.child.exit c0', 'ai.tool.result s1.after']);
    const inner = heard(await engines.ended(`${id}.c1`));
    expect(inner).toEqual(['ai.tool.result s0.inner', 'agent.child.exit c1']);
    const exits = log.filter(({ type }) => type === 'agent.child.exit');
    expect(exits).toMatchObject([{ data: { status: 'completed', child_request_id: `${id}.c1` } }]);
    const trace = (signals: readonly Signal[]) => signals[0]?.traceparent.slice(3, 35);
    expect(trace(await engines.log(`${id}.c1`))).toBe(trace(log));
  });

  test('of an unknown agent are reported to the parent as a failure', async () => {
    await engines.startEngine();
    const id = await startRun(script({ child: { agent: 'nobody', script: [] } }));
    expect(heard(await engines.ended(id))).toEqual(['agent.child.exit c0 failed']);
  });
});
