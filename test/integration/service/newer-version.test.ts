/** Two versions side by side: what a newer process has written is understood where it can be, and else left alone.
 *  It must never write through our own code what only a newer version would write. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { createSignalLines } from '../../../src/cli/following/signal-lines.ts';
import { createCore } from '../../../src/agents/core/core.ts';
import { defineStrategy } from '../../../src/agents/strategies/strategy.ts';
import { newTraceparent } from '../../../src/platform/telemetry/traces/trace-context.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { acceptance, jobOf, LANE, toolCall } from '../../support/journal.ts';
import { passDeadline } from '../../support/passed-deadline.ts';
import { useRedis } from '../../support/shared.ts';

/** Waits for input, and completes with it. */
const listening = defineStrategy({
  name: 'listening',
  init: () => null,
  reduce(state, signal) {
    if (signal.type !== 'ai.request.input') return { state, awaits: 'input' };
    return { state, outcome: { status: 'completed', result: signal.data.content } };
  },
});

const redis = useRedis();
let open: EngineTest;
beforeEach(async () => {
  const core = createCore({ strategies: [listening] });
  open = await openEngineTest(redis.url, { agents: [{ name: 'listening', strategy: 'listening' }], core });
});
afterEach(async () => {
  await open?.[Symbol.asyncDispose]();
});

/** Accepted by a newer API, which stores more than we know of. */
async function accepted(more: object, format?: number) {
  const directive = toolCall({ deadline_ms: 60_000 });
  const known = acceptance(directive);
  const envelope = { ...JSON.parse(known.envelope), ...more, ...(format === undefined ? {} : { format }) };
  await open.journal.accept(directive.request_id, [{ ...known, envelope: JSON.stringify(envelope) }]);
  const [state] = open.keys.request(directive.request_id);
  const extras = { [`${directive.id}|mood`]: 'calm', [`${directive.id}|waits`]: '0 resting', mood: 'calm' };
  await open.connection.hset(state, extras);
  return { directive, job: { ...jobOf(directive), envelope, mood: 'calm' } };
}

test('members that nobody here knows are skipped: of a directive, a job, a record and a request', async () => {
  const { directive, job } = await accepted({ mood: 'calm' });
  const { request_id, id } = directive;
  expect(await open.requests.directive(request_id, id)).toMatchObject({ status: 'accepted' });
  await open.lanes.enqueue(LANE, job);
  await open.startWorker(async () => ({ result: okResult('done') }));
  expect((await open.requests.result(request_id, id))?.data).toMatchObject({ result: { ok: true } });
  expect(await open.requests.request(request_id)).toMatchObject({ status: 'closed', open: 0 });
});

test('a directive of a later format is left to a newer worker, and ends at its deadline without one', async () => {
  const { directive } = await accepted({}, 99);
  const { request_id, id } = directive;
  const parts = open.attemptParts(async () => ({ result: okResult('done') }));
  const before = Date.now();
  const outcome = await open.attempt(parts, directive);
  expect(outcome).toMatchObject({ kind: 'later' });
  expect('at' in outcome && outcome.at).toBeGreaterThan(before);
  expect(await open.typesOf(directive)).toEqual([]);
  expect(await open.journal.directive(request_id, id)).toMatchObject({ status: 'accepted', fence: 0 });
  await passDeadline(open, request_id, id);
  await open.index.add([{ requestId: request_id, id }], 0);
  await open.sweeper().sweep();
  expect(await open.typesOf(directive)).toEqual(['ai.tool.result']);
});

test('a signal of a type that nobody here knows is passed on, printed, and changes nothing', async () => {
  await open.startWorker(async () => ({ result: okResult('done') }));
  const directive = toolCall();
  const { request_id } = directive;
  const novel = {
    specversion: '1.0',
    id: 'novel-1',
    source: '/directive',
    type: 'directive.resting',
    subject: request_id,
    time: '2026-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    traceparent: newTraceparent(),
    causationid: directive.id,
    mood: 'calm',
    data: { call_id: directive.id, mood: 'calm' },
  };
  await open.journal.accept(request_id, [acceptance(directive)]);
  const claim = await open.claimed(directive);
  await open.journal.log.append(claim, [novel as never]);
  await open.journal.release(claim, 0);
  await open.lanes.enqueue(LANE, jobOf(directive));
  await open.requests.result(request_id, directive.id);
  const followed: Signal[] = [];
  for await (const signal of open.requests.signals(request_id)) followed.push(signal);
  expect(followed.map(({ type }) => type)).toContain('directive.resting');
  expect((await open.requests.page(request_id)).signals).toEqual(followed);
  const printed: string[] = [];
  const lines = createSignalLines(
    (line) => void printed.push(line),
    (_style, text) => text,
  );
  for (const signal of followed) lines.add(signal);
  lines.end();
  expect(printed.find((line) => line.includes('directive.resting'))).toContain('{"call_id":');
});

test('a run that a newer engine has written is left to it, and goes on there', async () => {
  const { request_id: id } = await open.client.start({ agent: 'listening', query: 'hi' });
  const engine = await open.startEngine();
  await open.wake(id, 0);
  await eventually(async () => (await open.runs.head(id))?.status).toBe('waiting');
  await engine.stop();
  const [state, bodies] = open.keys.request(id);
  const document = JSON.parse((await open.connection.hget(bodies, '@run')) ?? '') as object;
  await open.connection.hset(bodies, '@run', JSON.stringify({ ...document, format: 99, inner: 'other' }));
  const version = await open.connection.hget(state, '@run|version');
  await open.startEngine();
  await open.client.input(id, { content: 'read by the newer one' });
  await open.wake(id, Number(version));
  expect(await open.connection.hget(state, '@run|version')).toBe(version);
  expect(await open.runs.head(id)).toMatchObject({ ended: false, status: 'waiting', unread: true });
  expect((await open.requests.request(id))?.run).toMatchObject({ status: 'waiting', agent: 'listening' });
  // The newer engine's place is taken by one that understands what is there.
  await open.connection.hset(bodies, '@run', JSON.stringify(document));
  await open.wake(id, Number(version));
  const log = await open.ended(id);
  expect(log.at(-1)).toMatchObject({
    type: 'ai.request.completed',
    data: { result: 'read by the newer one' },
  });
});

test('a process of a newer version is listed, and what cannot be read of one is not', async () => {
  const { workers } = open.store.catalog;
  const entry = {
    roles: ['worker', 'oracle'],
    state: 'resting',
    host: 'h',
    pid: 1,
    version: '99.0.0',
    started_at: 0,
    lanes: [{ name: LANE, concurrency: 1, running: 0, mood: 'calm' }],
    mood: 'calm',
  };
  await workers.beat('newer', entry);
  await workers.beat('broken', { roles: 'all' } as never);
  const listing = await open.requests.workers();
  expect(listing.workers).toMatchObject([{ id: 'newer', version: '99.0.0', state: 'resting' }]);
  expect(listing.workers[0]).not.toHaveProperty('mood');
});
