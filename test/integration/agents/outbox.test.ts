/** Outbox entries are repeated until they are acknowledged: a repeat must not affect what happened in between.
 *  It must not wait for an engine: each entry is performed as an engine performs it, and then again. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OutboxParts, performOutbox } from '../../../src/agents/turn/outbox.ts';
import type { StoredRun } from '../../../src/agents/turn/run-store.ts';
import { createRunNotifier } from '../../../src/agents/run-notifier.ts';
import type { OutboxEntry } from '../../../src/agents/turn/transition.ts';
import { createCanceller } from '../../../src/directives/change/cancel.ts';
import { Simulation } from '../../unit/agents/simulation.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
let engines: EngineTest;
beforeEach(async () => {
  engines = await openEngineTest(redis.url);
});
afterEach(async () => {
  await engines?.[Symbol.asyncDispose]();
});

async function perform(requestId: string, outbox: OutboxEntry[]): Promise<void> {
  const parts = {
    canceller: createCanceller(engines),
    notifier: createRunNotifier(engines.runs, engines.wake, engines.index),
  } as OutboxParts;
  await performOutbox(parts, { requestId, document: { outbox } } as StoredRun);
}

async function submit(request_id: string, id: string): Promise<void> {
  await engines.requests.submit({ type: 'tool_exec', tool_name: 'test.x', request_id, id });
}

async function statusOf(requestId: string, id: string): Promise<string | undefined> {
  return (await engines.journal.directive(requestId, id))?.status;
}

/** Milliseconds since the epoch. */
async function redisTime(): Promise<number> {
  const [seconds, micros] = await engines.connection.time();
  return Number(seconds) * 1_000 + Number(micros) / 1_000;
}

test('the end of a run cancels directives of the run, and never those that a client submitted to its request', async () => {
  const run = new Simulation({ spec: { request_id: 'r1' } }).cancel();
  const [own] = run.ids();
  await submit('r1', own ?? '');
  await submit('r1', 'foreign');
  await perform('r1', run.outbox);
  await submit('r1', 'later');
  await perform('r1', run.outbox);
  expect(await statusOf('r1', own ?? '')).toBe('failed');
  expect(await statusOf('r1', 'foreign')).toBe('accepted');
  expect(await statusOf('r1', 'later')).toBe('accepted');
});

test('an agent that cancels another request cancels only what it held then', async () => {
  await submit('r2', 'before');
  const asked_at = (await engines.journal.directive('r2', 'before'))?.acceptedAt ?? 0;
  const entry = {
    id: 'cancel-1',
    kind: 'cancel_request',
    request_id: 'r2',
    reason: 'enough',
    asked_at,
  } as const;
  await perform('r1', [entry]);
  await eventually(redisTime).toBeGreaterThan(asked_at + 1);
  await submit('r2', 'later');
  await perform('r1', [entry]);
  expect(await statusOf('r2', 'before')).toBe('failed');
  expect(await statusOf('r2', 'later')).toBe('accepted');
});
