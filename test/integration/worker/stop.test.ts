/** How a worker stops: running work may finish, the rest goes back to its lane, and nothing is lost or repeated.
 *  It must never use a real drain time: it is either long enough or nothing. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SubmittedDirective } from '../../../src/contract/directive.ts';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../src/contract/result.ts';
import type { Execution } from '../../../src/executors/definition.ts';
import { attemptDirective } from '../../../src/worker/attempt.ts';
import { acceptance, toolCall, LANE } from '../../support/journal.ts';
import { errorOf, openPipeline } from '../../support/pipeline.ts';
import { type Execute, gate } from '../../support/executors.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

type Call = Extract<SubmittedDirective, { type: 'tool_exec' }>;

function call(fields: Partial<Call> = {}): Call {
  return { type: 'tool_exec', tool_name: 'test.echo', id: 'a', request_id: randomUUID(), ...fields };
}

const done: Execution = { result: okResult('done') };
const cancelled: Execution = { result: errorResult(errorEnvelope('cancelled', 'aborted')) };

/** Runs until it is aborted, and then ends in `execution`. */
function untilAborted(execution: Execution) {
  const started = gate();
  const execute: Execute = async (_directive, { signal }) => {
    started.open();
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    return execution;
  };
  return { started: started.passed, execute };
}

describe('a graceful stop', () => {
  test('lets running work finish, and leaves waiting work to others', async () => {
    await using open = await openPipeline(redis.url);
    const [started, resume] = [gate(), gate()];
    const ran: string[] = [];
    const first = await open.startWorker(
      async ({ id }) => {
        ran.push(id);
        started.open();
        await resume.passed;
        return done;
      },
      { concurrency: 1 },
    );
    const request_id = randomUUID();
    await open.client.submit(['a', 'b', 'c'].map((id) => call({ id, request_id })));
    await started.passed;
    const stopping = first.stop();
    resume.open();
    await stopping;
    expect(ran).toEqual(['a']);
    expect((await open.client.result(request_id, 'a'))?.data).toMatchObject({ result: { ok: true } });
    expect(await open.jobs()).toBe(2);
    await open.startWorker(async ({ id }) => {
      ran.push(id);
      return done;
    });
    for (const id of ['b', 'c']) await open.client.result(request_id, id);
    expect(ran.toSorted()).toEqual(['a', 'b', 'c']);
  });

  test('of an idle worker ends at once, and may be called twice', async () => {
    await using open = await openPipeline(redis.url);
    const worker = await open.startWorker(async () => done);
    await Promise.all([worker.stop(), worker.stop()]);
    await worker.stop();
    expect(open.errors).toEqual([]);
  });
});

describe('past the drain time', () => {
  test.each<[string, Partial<Call>, Execution]>([
    ['a call that only reads', { effect: 'read' }, { ...cancelled, ambiguous: true }],
    ['a call that may be repeated', { effect: 'idempotent' }, { ...cancelled, ambiguous: true }],
    ['a call that was not sent', { effect: 'once' }, { ...cancelled, ambiguous: false }],
  ])('%s goes back to its lane, and the next worker runs it as usual', async (_what, fields, ends) => {
    await using open = await openPipeline(redis.url);
    const { started, execute } = untilAborted(ends);
    const directive = call(fields);
    const worker = await open.startWorker(execute, { drainMs: 0 });
    await open.client.submit(directive);
    await started;
    await worker.stop();
    expect(await open.jobs()).toBe(1);
    expect(await open.client.directive(directive.request_id ?? '', 'a')).toMatchObject({
      status: 'waiting',
      attempts: 0,
    });
    const attempts: number[] = [];
    await open.startWorker(async (_directive, { attempt }) => {
      attempts.push(attempt);
      return done;
    });
    const signal = await open.client.result(directive.request_id ?? '', 'a');
    expect(signal).toMatchObject({ attempt: 1, data: { result: { ok: true }, metadata: { attempts: 1 } } });
    expect(attempts).toEqual([1]);
    const log = await open.log(directive.request_id ?? '');
    expect(log.map(({ type }) => type)).toEqual(['ai.tool.started', 'ai.tool.result']);
    expect(await open.client.directive(directive.request_id ?? '', 'a')).toMatchObject({
      redeliveries: 0,
      failures: 0,
    });
  });

  test('a call that may have happened and must not be repeated ends in outcome_unknown', async () => {
    await using open = await openPipeline(redis.url);
    const { started, execute } = untilAborted({ ...cancelled, ambiguous: true });
    const directive = call({ effect: 'once', max_retries: 5 });
    const worker = await open.startWorker(execute, { drainMs: 0 });
    const ending = open.client.execute(directive);
    await started;
    await worker.stop();
    expect(errorOf(await ending)).toMatchObject({ type: 'outcome_unknown', retryable: false });
    expect(await open.jobs()).toBe(0);
  });

  test('a call that still succeeds has succeeded', async () => {
    await using open = await openPipeline(redis.url);
    const { started, execute } = untilAborted(done);
    const worker = await open.startWorker(execute, { drainMs: 0 });
    const ending = open.client.execute(call());
    await started;
    await worker.stop();
    expect((await ending).data).toMatchObject({ result: { ok: true } });
  });

  test('an executor that ignores the stop does not delay it, and its later result is ignored', async () => {
    await using open = await openPipeline(redis.url);
    const [started, late] = [gate(), gate()];
    const worker = await open.startWorker(
      async () => {
        started.open();
        await late.passed;
        return done;
      },
      { drainMs: 0 },
    );
    const directive = call({ effect: 'once' });
    const ending = open.client.execute(directive);
    await started.passed;
    await worker.stop();
    expect(errorOf(await ending)).toMatchObject({ type: 'outcome_unknown' });
    late.open();
    const log = await open.log(directive.request_id ?? '');
    expect(log.map(({ type }) => type)).toEqual(['ai.tool.started', 'ai.tool.result']);
  });
});

test('a job that comes after the stop is returned unchanged', async () => {
  await using open = await openPipeline(redis.url);
  const parts = open.attemptParts(async () => done);
  const directive = toolCall({ tool_name: 'test.echo' });
  const { request_id, id } = directive;
  await open.journal.accept(request_id, [acceptance(directive, LANE)]);
  parts.running.stopAll('shutdown');
  const outcome = await attemptDirective(parts, { request_id, id, digest: acceptance(directive).digest });
  expect(outcome.kind).toBe('later');
  expect(await open.journal.directive(request_id, id)).toMatchObject({ status: 'accepted', fence: 0 });
});

test('workers that come and go lose nothing and repeat nothing', async () => {
  await using open = await openPipeline(redis.url);
  const runs = new Map<string, number>();
  const execute: Execute = async ({ id }, { signal }) => {
    for (let turn = 0; turn < 5; turn += 1) {
      if (signal.aborted) return { ...cancelled, ambiguous: false };
      await open.connection.ping();
    }
    runs.set(id, (runs.get(id) ?? 0) + 1);
    return done;
  };
  const request_id = randomUUID();
  await open.client.submit(Array.from({ length: 200 }, (_, index) => call({ id: `d${index}`, request_id })));
  for (let generation = 0; generation < 4; generation += 1) {
    const worker = await open.startWorker(execute, { concurrency: 10, drainMs: 0 });
    await worker.stop();
  }
  const last = await open.startWorker(execute);
  const ended: (string | undefined)[] = [];
  for await (const signal of open.client.signals(request_id)) {
    if (signal.type === 'ai.tool.result') ended.push(signal.causationid);
  }
  expect(new Set(ended).size).toBe(200);
  expect(ended).toHaveLength(200);
  expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
  await last.stop();
  expect(await open.jobs()).toBe(0);
  expect(await open.keysWithoutExpiry()).toEqual([]);
});
