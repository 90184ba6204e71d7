/** A worker that dies, or seems to, in the middle of calls: another one takes over, and no `once` tool runs twice.
 *  It must not warn the worker. */
import { expect, test } from 'vitest';
import { auditRequest, executionsByLabel, outcome, outcomes } from '../support/audit.ts';
import { countingCalls, idsOf } from '../support/calls.ts';
import { untilHolds } from '../support/eventually.ts';
import { install } from '../support/installation.ts';
import { post, untilClosed, untilEnded } from '../support/public-api.ts';

const EACH = 100;

test.concurrent('kill -9 of a worker during 100 read-only and 100 once calls', async () => {
  await using installation = await install({
    server: { lane: { concurrency: 20 } },
    config: { worker: { lease_ms: 2_000 } },
  });
  const [{ url }, victim] = await Promise.all([
    installation.start('api'),
    installation.start('worker'),
    installation.start('worker'),
  ]);
  const requestId = 'worker-killed';
  // Long enough that calls of both kinds are in flight when the signal arrives, on a busy machine too.
  const calls = countingCalls(['read', 'once'], EACH, { requestId, delayMs: 250 });
  expect((await post(`${url}/v1/directives`, { directives: calls })).status).toBe(202);
  await untilEnded(url, requestId, EACH / 2, () => installation.serverPids().length === 2);
  await victim.kill9();
  await untilClosed(url, requestId);

  const results = await auditRequest(url, requestId, idsOf(calls));
  const executions = executionsByLabel(installation.executions());
  const reads = idsOf(calls).filter((id) => id.startsWith('read'));
  const onces = idsOf(calls).filter((id) => id.startsWith('once'));
  expect(outcomes(reads.flatMap((id) => results.get(id) ?? []))).toEqual({ ok: EACH });
  for (const id of onces) {
    expect(executions.get(id)?.length ?? 0, `${id} ran at most once`).toBeLessThanOrEqual(1);
    expect(['ok', 'outcome_unknown']).toContain(outcome(results.get(id)));
    if (outcome(results.get(id)) === 'ok') expect(executions.get(id)).toHaveLength(1);
  }
  // The kill hit calls of both kinds, and the other worker repeated them or gave them up.
  expect(onces.filter((id) => outcome(results.get(id)) === 'outcome_unknown').length).toBeGreaterThan(0);
  const redelivered = reads.filter((id) => results.get(id)?.data.metadata['redeliveries'] === 1);
  expect(redelivered.length).toBeGreaterThan(0);
});

test.concurrent('a worker that was frozen wakes up while its calls are being repeated, and writes nothing about them', async () => {
  await using installation = await install({
    server: { lane: { concurrency: 20 } },
    config: { worker: { lease_ms: 1_000 } },
  });
  const [{ url }, sleeper] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const requestId = 'worker-paused';
  // Long enough that the calls in flight are still in flight when the signal arrives, on a busy machine too.
  const calls = countingCalls(['read', 'once'], 10, { requestId, delayMs: 2_500 });
  expect((await post(`${url}/v1/directives`, { directives: calls })).status).toBe(202);
  // Every call, so that some of each kind are in flight.
  await installation.untilExecuted(({ length }) => length >= calls.length);
  process.kill(sleeper.pid, 'SIGSTOP');
  await installation.start('worker');
  await installation.untilExecuted(
    (executions) => new Set(executions.map(({ key }) => key)).size < executions.length,
  );
  // And given up: a claim that no worker has taken over yet could still be finished by the frozen one.
  await untilHolds(async () => {
    const answer = await fetch(`${url}/v1/requests/${requestId}`);
    const { directives } = (await answer.json()) as { directives: { status: string }[] };
    expect(directives.map(({ status }) => status)).toContain('failed');
  });
  process.kill(sleeper.pid, 'SIGCONT');
  await untilClosed(url, requestId);
  const exit = await sleeper.stop();

  // When it has stopped, it has reported everything that it had to report.
  expect(exit).toEqual({ code: 0, signal: null });
  const results = await auditRequest(url, requestId, idsOf(calls));
  const executions = executionsByLabel(installation.executions());
  for (const { id } of calls) {
    if (id.startsWith('read')) expect(outcome(results.get(id)), id).toBe('ok');
    else expect(executions.get(id)?.length ?? 0, `${id} ran at most once`).toBeLessThanOrEqual(1);
  }
  expect(outcomes(results.values())['outcome_unknown'] ?? 0).toBeGreaterThan(0);
});
