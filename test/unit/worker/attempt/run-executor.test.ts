/** An executor always ends, whatever it does.
 *  It must never wait in real time: the test controls the clock. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { okResult } from '../../../../src/contract/result.ts';
import type { ExecutionContext, QueuedDefinition } from '../../../../src/worker/executors/definition.ts';
import { newTraceparent } from '../../../../src/platform/telemetry/traces/trace-context.ts';
import { toolCall } from '../../../support/journal.ts';
import { type Execute, testTool } from '../../../support/executors.ts';
import { runExecutor } from '../../../../src/worker/attempt/execute.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function run(execute: Execute, signal: AbortSignal) {
  const context: ExecutionContext = {
    lane: 'tool.test',
    tenant: 'default',
    attempt: 1,
    signal,
    remainingMs: 1_000,
    traceparent: newTraceparent(),
    idempotencyKey: 'key',
    models: [],
    candidate: { index: 0, history: [] },
    redeliveries: 0,
    drained: () => Promise.resolve(true),
    whenRecorded: () => {},
    report: () => {},
  };
  return runExecutor(testTool(execute) as QueuedDefinition, toolCall(), context);
}

const never: Execute = () => new Promise(() => {});

test('its result is passed on, and no timer stays', async () => {
  const execution = { result: okResult('done'), metadata: { server: 'x' } };
  expect(await run(async () => execution, new AbortController().signal)).toBe(execution);
  expect(vi.getTimerCount()).toBe(0);
});

test.each<[string, Execute]>([
  ['rejects', () => Promise.reject(new Error('broken'))],
  [
    'throws at once',
    () => {
      throw new Error('broken');
    },
  ],
])('an executor that %s may have acted', async (_how, execute) => {
  expect(await run(execute, new AbortController().signal)).toMatchObject({
    result: { ok: false, error: { message: 'broken', retryable: false } },
    ambiguous: true,
  });
});

test('one that obeys its signal decides its own result', async () => {
  const stop = new AbortController();
  const running = run(async (_directive, { signal }) => {
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    return { result: okResult('stopped') };
  }, stop.signal);
  stop.abort();
  expect(await running).toMatchObject({ result: { payload: 'stopped' } });
  expect(vi.getTimerCount()).toBe(0);
});

test('one that does not is abandoned, and may have acted', async () => {
  const stop = new AbortController();
  const running = run(never, stop.signal);
  stop.abort();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await running).toMatchObject({
    result: { ok: false, error: { type: 'executor' } },
    ambiguous: true,
  });
});

test('one that fails after it was abandoned has no effect', async () => {
  const [stop, late] = [new AbortController(), Promise.withResolvers<never>()];
  const running = run(() => late.promise, stop.signal);
  stop.abort();
  await vi.advanceTimersByTimeAsync(2_000);
  await running;
  late.reject(new Error('too late'));
  await vi.advanceTimersByTimeAsync(1);
});

test('one that was stopped before its start is not begun, and has certainly not acted', async () => {
  let runs = 0;
  const execution = await run(async () => {
    runs += 1;
    return { result: okResult(null) };
  }, AbortSignal.abort());
  expect(execution.result.ok).toBe(false);
  expect([execution.ambiguous ?? false, runs]).toEqual([false, 0]);
});
