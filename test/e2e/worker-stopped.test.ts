/** One of two services that share the load is stopped gently: nothing is lost, nothing is repeated.
 *  It must not look at the clock: a stop that takes longer than its drain is killed, and has no exit code. */
import { expect, test } from 'vitest';
import { auditRequest, executionsByLabel, outcome, outcomes } from '../support/audit.ts';
import { countingCalls, idsOf } from '../support/calls.ts';
import { install } from '../support/installation.ts';
import { get, post, untilClosed, untilEnded } from '../support/public-api.ts';

/** What a stop may take beyond its drain: closing connections and servers. */
const CLOSING_MS = 5_000;

test.concurrent('a service that is stopped ends its calls first; the other one makes the rest', async () => {
  const drainMs = 5_000;
  await using installation = await install({
    server: { lane: { concurrency: 10 } },
    config: { worker: { drain_ms: drainMs } },
  });
  const [stopped, left] = await Promise.all([installation.start('up'), installation.start('up')]);
  const requestId = 'shared';
  const calls = countingCalls(['read', 'once'], 100, { requestId, delayMs: 100 });
  expect((await post(`${stopped.url}/v1/directives`, { directives: calls })).status).toBe(202);
  await untilEnded(left.url, requestId, 50, () => installation.serverPids().length === 2);
  const atWork = installation.serverPids();
  const exit = await stopped.stop(drainMs + CLOSING_MS);
  await untilClosed(left.url, requestId);

  expect(exit).toEqual({ code: 0, signal: null });
  const { body } = await get<{ workers: { pid: number }[] }>(`${left.url}/v1/workers`);
  expect(body.workers, 'who is there after the stop').toHaveLength(1);
  expect(atWork, 'tool servers at work before the stop').toHaveLength(2);
  const results = await auditRequest(left.url, requestId, idsOf(calls));
  expect(outcomes(results.values())).toEqual({ ok: calls.length });
  const executions = executionsByLabel(installation.executions());
  for (const { id } of calls) expect(executions.get(id), `${id} ran once`).toHaveLength(1);
});

test.concurrent('calls that outlive the drain go to the other worker, unless they may not be repeated', async () => {
  const drainMs = 300;
  await using installation = await install({
    server: { lane: { concurrency: 10 } },
    config: { worker: { drain_ms: drainMs } },
  });
  const [{ url }, stopped] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const requestId = 'aborted';
  const calls = countingCalls(['read', 'once'], 5, { requestId, delayMs: 3_000 });
  expect((await post(`${url}/v1/directives`, { directives: calls })).status).toBe(202);
  await installation.untilExecuted(({ length }) => length === calls.length);
  const [exit] = await Promise.all([stopped.stop(drainMs + CLOSING_MS), installation.start('worker')]);
  await untilClosed(url, requestId);

  expect(exit).toEqual({ code: 0, signal: null });
  const results = await auditRequest(url, requestId, idsOf(calls));
  const executions = executionsByLabel(installation.executions());
  for (const { id } of calls) {
    const isRead = id.startsWith('read');
    expect(outcome(results.get(id)), id).toBe(isRead ? 'ok' : 'outcome_unknown');
    expect(executions.get(id), id).toHaveLength(isRead ? 2 : 1);
    // What was returned at the stop is not a redelivery: no worker died.
    expect(results.get(id)?.data.metadata['redeliveries']).toBeUndefined();
  }
});
