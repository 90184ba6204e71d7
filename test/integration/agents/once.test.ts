/** Runs under a key, on a real Redis: one at a time, once in a window, once after quiet; whatever comes together, twice, or dies.
 *  It must never judge an instant by another clock than that of Redis. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StartedRun } from '../../../src/contract/run/run.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/pipeline.ts';
import { script } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';
import type { SpanRecord } from '../../../src/platform/telemetry/traces/span.ts';
import { NO_SPANS, type Spans } from '../../../src/platform/telemetry/traces/spans.ts';
import { traceContext } from '../../../src/platform/telemetry/traces/trace-context.ts';

const redis = useRedis();
let engines: EngineTest;
let key: string;

beforeEach(async () => {
  key = randomUUID();
  engines = await openEngineTest(redis.url);
});
afterEach(async () => {
  await engines?.[Symbol.asyncDispose]();
});

/** Ends at once, unless it is to wait for inputs. */
const ENDS = script({ inputs: 0 });
const HOLDS = script({ inputs: 1 });
const HOUR_MS = 3_600_000;

const start = async (fields: object, query = HOLDS, idempotencyKey?: string, tenant?: string) =>
  engines.client.start(
    { agent: 'scripted', query, ...fields },
    idempotencyKey === undefined ? {} : { idempotencyKey },
    tenant,
  );
const singleton = (when_open?: string) => ({ singleton: { key, when_open } });
const dedupe = (window_ms = 30_000) => ({ dedupe: { key, window_ms } });
const debounce = (fields: object = {}) => ({ debounce: { key, quiet_ms: HOUR_MS, ...fields } });

const statusOf = async ({ request_id: id }: StartedRun) => (await engines.runs.head(id))?.status;
const outcomes = (started: readonly StartedRun[]) => started.map(({ once }) => once?.outcome);
const give = async ({ request_id: id }: StartedRun) => engines.client.input(id, { content: 'go on' });
const queryOf = async ({ request_id: id }: StartedRun) => (await engines.client.view(id))?.view.query;
const guardOf = ({ request_id: id }: StartedRun) =>
  `${engines.prefix}:{${id.slice(0, id.lastIndexOf('.'))}}:once`;

describe('one at a time', () => {
  test('another one is refused with the open one, or joins it; after its end another one begins', async () => {
    await engines.startEngine();
    const first = await start(singleton());
    expect(first.once).toMatchObject({ outcome: 'began' });
    expect(await refusal(start(singleton('refuse')))).toMatchObject({
      code: 'singleton_open',
      open: { request_id: first.request_id, id: first.run_id },
      until: first.once?.until,
    });
    const joined = await start(singleton('join'), ENDS);
    expect(joined).toMatchObject({ request_id: first.request_id, once: { outcome: 'joined' } });
    expect(await engines.connection.pttl(guardOf(first))).toBe(-1);
    await give(first);
    await engines.ended(first.request_id);
    expect(await engines.connection.pttl(guardOf(first))).toBeGreaterThan(HOUR_MS);
    const next = await start(singleton('join'));
    expect(next.once?.outcome).toBe('began');
    expect(next.request_id).not.toBe(first.request_id);
  });

  test('fifty at once are one run, and two tenants have one each', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => start(singleton('join'))));
    expect(new Set(all.map(({ request_id }) => request_id)).size).toBe(1);
    expect(outcomes(all).filter((outcome) => outcome === 'began')).toHaveLength(1);
    const other = await start(singleton('join'), HOLDS, undefined, 'other');
    expect(other.once?.outcome).toBe('began');
  });

  test('the one that replaces begins when the other one has ended; of those that wait only the last one', async () => {
    const engine = await engines.startEngine();
    const first = await start(singleton());
    await eventually(() => statusOf(first)).toBe('waiting');
    await engine.stop();
    const waiting: StartedRun[] = [];
    for (let n = 0; n < 4; n += 1) waiting.push(await start(singleton('replace'), ENDS));
    expect(outcomes(waiting)).toEqual(Array.from({ length: 4 }, () => 'replaced'));
    expect(waiting[0]?.once?.replaces).toEqual({ request_id: first.request_id, id: first.run_id });
    await engines.startEngine();
    await engines.sweeper().start();
    const [last] = waiting.slice(-1) as [StartedRun];
    await engines.ended(last.request_id);
    expect(await statusOf(last)).toBe('completed');
    for (const each of [first, ...waiting.slice(0, -1)]) {
      await engines.ended(each.request_id);
      expect(await statusOf(each)).toBe('cancelled');
    }
    expect(await begunAt(last)).toBeGreaterThanOrEqual(await closedAt(first));
  });

  test('while what is replaced goes on, no engine and no sweeper begins the other one, and its wait is shown', async () => {
    const first = await start(singleton());
    const next = await start(singleton('replace'), ENDS);
    await engines.wake(next.request_id, 0);
    expect(await engines.runs.release(next.request_id)).toEqual({ kind: 'held' });
    expect((await engines.client.view(next.request_id))?.view.waiting_for).toEqual([
      { kind: 'turn', id: first.request_id, name: 'singleton' },
    ]);
    await engines.startEngine();
    await engines.ended(first.request_id);
    expect(await engines.runs.release(next.request_id)).toMatchObject({ kind: 'released' });
    expect(await engines.runs.release(next.request_id)).toEqual({ kind: 'none' });
  });

  test('of two that wait for the same one, the replaced one never begins, and the other one waits for no end but that', async () => {
    const first = await start(singleton());
    const second = await start(singleton('replace'));
    const third = await start(singleton('replace'));
    expect(third.once?.replaces?.request_id).toBe(second.request_id);
    expect((await engines.runs.head(third.request_id))?.behind).toBe(first.request_id);
    // As if only the first one had ended.
    await engines.connection.hset(engines.keys.request(first.request_id)[0], 'status', 'closed');
    expect(await engines.runs.release(second.request_id)).toEqual({ kind: 'none' });
    expect(await engines.runs.release(third.request_id)).toMatchObject({ kind: 'released' });
  });

  test('who dies before it has cancelled what it replaces leaves that to the sweeper', async () => {
    await engines.startEngine();
    const first = await start(singleton());
    await eventually(() => statusOf(first)).toBe('waiting');
    const next = await replaceAndDie();
    expect(await statusOf(first)).toBe('waiting');
    await engines.sweeper().start();
    await engines.ended(next);
    expect(await statusOf(first)).toBe('cancelled');
    expect((await engines.runs.head(next))?.status).toBe('completed');
  });

  /** As the script leaves it, when nothing follows. */
  async function replaceAndDie(): Promise<string> {
    const { cancelled } = { cancelled: engines.runs.send };
    engines.runs.send = () => Promise.reject(new Error('killed'));
    const { request_id } = await start(singleton('replace'), ENDS).finally(() => {
      engines.runs.send = cancelled;
    });
    return request_id;
  }
});

async function begunAt({ request_id: id }: StartedRun): Promise<number> {
  const [state] = engines.keys.request(id);
  return Number((await engines.connection.hget(state, '@run|turn1'))?.split(' ')[0]);
}

async function closedAt({ request_id: id }: StartedRun): Promise<number> {
  return Number(await engines.connection.hget(engines.keys.request(id)[0], 'closed_at'));
}

describe('dedupe', () => {
  test('is the first one for all of the window, and another one after it', async () => {
    const first = await start(dedupe());
    expect(first).toMatchObject({ status: 'pending', once: { outcome: 'began' } });
    const second = await start(dedupe(), ENDS);
    expect(second).toEqual({ ...first, once: { ...first.once, outcome: 'deduplicated' } });
    // Nobody looks for what has not begun.
    expect(await engines.index.size()).toBe(1);
    await engines.connection.hincrby(guardOf(first), 'until', -30_001);
    const third = await start(dedupe());
    expect(third.once?.outcome).toBe('began');
    expect(third.request_id).not.toBe(first.request_id);
  });

  test('a window that is longer than its answer is kept is refused', async () => {
    expect(await refusal(start(dedupe(365 * 24 * HOUR_MS)))).toMatchObject({
      detail: expect.stringContaining('retention.closed_ms'),
      errors: [{ path: 'dedupe.window_ms' }],
    });
  });
});

describe('debounce', () => {
  test('the last content begins after the quiet, once, as the run that came first', async () => {
    await engines.startEngine();
    const first = await start(debounce({ quiet_ms: 60_000 }), script({ tools: ['a'] }));
    expect(first.once).toMatchObject({ outcome: 'began' });
    const last = await start(debounce({ quiet_ms: 300 }), ENDS);
    expect(last).toMatchObject({ request_id: first.request_id, once: { outcome: 'debounced' } });
    expect(await queryOf(first)).toBe(ENDS);
    await engines.sweeper().start();
    const log = await engines.ended(first.request_id);
    expect(log.find(({ type }) => type === 'ai.request.started')).toMatchObject({
      data: { request_id: first.request_id, query: ENDS },
    });
    expect(await statusOf(first)).toBe('completed');
    expect(await begunAt(first)).toBeGreaterThanOrEqual(Date.parse(last.once?.until ?? ''));
    expect(await engines.later.size()).toBe(0);
    expect((await start(debounce())).once?.outcome).toBe('began');
  });

  test('it waits no longer than at_most_ms of the first one', async () => {
    const first = await start(debounce({ at_most_ms: 2 * HOUR_MS }));
    await engines.connection.hincrby(guardOf(first), 'latest', -1.5 * HOUR_MS);
    const last = await start(debounce());
    const latest = Number(await engines.connection.hget(guardOf(first), 'latest'));
    expect(Date.parse(last.once?.until ?? '')).toBe(latest);
  });

  test('of what has come to its instant, or was cancelled, nothing is changed', async () => {
    const first = await start(debounce({ quiet_ms: 1 }));
    await eventually(async () => Number((await engines.connection.time())[0]) * 1000).toBeGreaterThan(
      Date.parse(first.once?.until ?? ''),
    );
    const second = await start(debounce(), ENDS);
    expect(second.once?.outcome).toBe('began');
    expect(await queryOf(first)).toBe(HOLDS);
    await engines.client.cancel(second.request_id, null);
    expect((await start(debounce())).once?.outcome).toBe('began');
  });
});

describe('the same submission', () => {
  test('is done once, whatever came after it, and other content is refused', async () => {
    const name = randomUUID();
    const first = await start(debounce(), HOLDS, name);
    await start(debounce(), ENDS);
    const again = await start(debounce(), HOLDS, name);
    expect(again).toMatchObject({ request_id: first.request_id, once: { outcome: 'began' } });
    expect(await queryOf(first)).toBe(ENDS);
    expect(await refusal(start(debounce(), ENDS, name))).toMatchObject({ code: 'idempotency_conflict' });
  });

  test('replaces once', async () => {
    const name = randomUUID();
    const first = await start(singleton());
    const second = await start(singleton('replace'), HOLDS, name);
    expect(await start(singleton('replace'), HOLDS, name)).toEqual(second);
    expect(second.once?.replaces?.request_id).toBe(first.request_id);
  });

  test('without a key is the same run, too', async () => {
    const name = randomUUID();
    const first = await start({}, HOLDS, name);
    expect(await start({}, HOLDS, name)).toEqual(first);
    expect(await refusal(start({}, ENDS, name))).toMatchObject({ code: 'idempotency_conflict' });
  });
});

test('the span of a submission names its field, what became of it and the run that stands for it; a key only where content is shown', async () => {
  const kept: SpanRecord[] = [];
  const spans: Spans = {
    ...NO_SPANS,
    under: (traceparent) => ({ traceId: traceContext(traceparent).traceId, spanId: null }),
    report: (span) => void kept.push(span),
    now: () => Date.now(),
  };
  await using traced = await openEngineTest(redis.url, { spans });
  const submit = (fields: object) => traced.client.start({ agent: 'scripted', query: HOLDS, ...fields });
  const first = await submit(singleton());
  const next = await submit(singleton('replace'));
  const quiet = await submit(debounce({ at_most_ms: 2 * HOUR_MS }));
  await submit(debounce());
  expect(await refusal(submit(singleton()))).toMatchObject({ code: 'singleton_open' });
  await submit({});
  const one = { 'adjutant.once': 'singleton', 'adjutant.once.replaces': undefined };
  const many = { 'adjutant.once': 'debounce', 'adjutant.once.quiet_ms': HOUR_MS };
  const named = ({ request_id }: StartedRun) => ({ 'adjutant.request.id': request_id });
  expect(kept.map(({ attributes }) => attributes)).toMatchObject([
    { ...one, ...named(first), 'adjutant.once.when_open': 'refuse', 'adjutant.once.outcome': 'began' },
    { ...named(next), 'adjutant.once.outcome': 'replaced', 'adjutant.once.replaces': first.request_id },
    { ...many, ...named(quiet), 'adjutant.once.outcome': 'began', 'adjutant.once.at_most_ms': 2 * HOUR_MS },
    { ...many, ...named(quiet), 'adjutant.once.outcome': 'debounced' },
  ]);
  expect(new Set(kept.map(({ name, error }) => `${name} ${error}`))).toEqual(new Set(['once run null']));
  expect(new Set(kept.map(({ place }) => place.spanId)).size).toBe(kept.length);
  expect(JSON.stringify(kept)).not.toContain(key);
});

test('a request id, two of the three, or an instant with debounce are refused', async () => {
  const errors = async (fields: object) => (await refusal(start(fields))).errors;
  expect(await errors({ ...singleton(), request_id: 'r1' })).toMatchObject([{ path: 'request_id' }]);
  expect(await errors({ ...singleton(), ...dedupe() })).toMatchObject([{ path: 'dedupe' }]);
  expect(await errors({ ...debounce(), delay_ms: 5 })).toMatchObject([{ path: 'debounce' }]);
  expect(await errors({ singleton: { key: 'a\u0000b' } })).toMatchObject([{ path: 'singleton.key' }]);
  const odd = await start({ singleton: { key: '__proto__/../{x}' } });
  expect(odd.request_id).toMatch(/^once\.[0-9a-f]{32}\.[^.]+$/);
});
