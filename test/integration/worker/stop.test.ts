/** How a worker stops: running work may finish, the rest goes back to its lane, and nothing is lost or repeated.
 *  It must never use a real drain time: it is either long enough or nothing. */
import { describe, expect, test } from 'vitest';
import type { Execution } from '../../../src/worker/executors/definition.ts';
import { done, type Execute, fails, inTurn, untilAborted, untilResumed } from '../../support/executors.ts';
import { type Call, calls, errorOf, openPipeline } from '../../support/pipeline.ts';
import { prepareScripts } from '../../../src/store/scripts.ts';
import { attemptDirective } from '../../../src/worker/attempt/attempt.ts';
import { claimVerdict } from '../../../src/store/request/verdicts.ts';
import { jobOf, LANE } from '../../support/journal.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const cancelled = fails('cancelled');

type Blocking = Pick<ReturnType<typeof untilAborted>, 'execute' | 'started'>;
type Fields = NonNullable<Parameters<typeof open.accepted>[0]>;

/** A call whose worker is stopped without a drain time while `execute` runs it; `end` resolves with its signal. */
async function stoppedUnder({ execute, started }: Blocking, fields: Fields) {
  const worker = await open.startWorker(execute, { drainMs: 0 });
  const directive = await open.accepted(fields, Date.now() + 60_000);
  await open.lanes.enqueue(LANE, jobOf(directive));
  await started;
  await worker.stop();
  return { directive, end: () => open.resultOf(directive) };
}

describe('a graceful stop', () => {
  test('lets running work finish, and leaves waiting work to others', async () => {
    const first = untilResumed();
    const worker = await open.startWorker(first.execute, { concurrency: 1 });
    const [running, ...waiting] = calls(3);
    await open.client.submit([running as Call, ...waiting]);
    await first.started;
    const stopping = worker.stop();
    first.resume();
    await stopping;
    expect(first.ran).toEqual([running?.id]);
    expect((await open.resultOf(running as Call))?.data).toMatchObject({ result: { ok: true } });
    expect(await open.jobs()).toBe(2);
    const { execute, ran } = inTurn(done);
    await open.startWorker(execute);
    for (const each of waiting) await open.resultOf(each);
    expect(ran.toSorted()).toEqual(waiting.map(({ id }) => id));
  });

  test('of an idle worker ends at once, and may be called twice', async () => {
    const worker = await open.startWorker(async () => done);
    await Promise.all([worker.stop(), worker.stop()]);
    await worker.stop();
    expect(open.errors).toEqual([]);
  });
});

describe('past the drain time', () => {
  test.each<[string, Fields, Execution]>([
    ['a call that only reads', { effect: 'read' }, { ...cancelled, ambiguous: true }],
    ['a call that may be repeated', { effect: 'idempotent' }, { ...cancelled, ambiguous: true }],
    ['a call that was not sent', { effect: 'once' }, { ...cancelled, ambiguous: false }],
  ])('%s goes back to its lane, and the next worker runs it as usual', async (_what, fields, ends) => {
    const { directive, end } = await stoppedUnder(untilAborted(ends), fields);
    expect(await open.jobs()).toBe(1);
    const view = () => open.client.directive(directive.request_id, directive.id);
    expect(await view()).toMatchObject({ status: 'waiting', attempts: 0 });
    const attempts: number[] = [];
    await open.startWorker(async (_directive, { attempt }) => {
      attempts.push(attempt);
      return done;
    });
    expect(await end()).toMatchObject({
      attempt: 1,
      data: { result: { ok: true }, metadata: { attempts: 1 } },
    });
    expect(attempts).toEqual([1]);
    expect(await open.typesOf(directive)).toEqual(['ai.tool.started', 'ai.tool.result']);
    expect(await view()).toMatchObject({ redeliveries: 0, failures: 0 });
  });

  test('an executor that ignores the stop does not delay it, and its later result is ignored', async () => {
    const deaf = untilResumed();
    const { directive, end } = await stoppedUnder(deaf, { effect: 'once' });
    expect(errorOf(await end())).toMatchObject({ type: 'outcome_unknown' });
    deaf.resume();
    expect(await open.typesOf(directive)).toEqual(['ai.tool.started', 'ai.tool.result']);
  });
});

test('a job that comes after the stop is returned unchanged', async () => {
  const parts = open.attemptParts();
  const directive = await open.accepted();
  parts.running.stopAll('shutdown');
  expect((await open.attempt(parts, directive)).kind).toBe('later');
  expect(await open.recordOf(directive)).toMatchObject({ status: 'accepted', fence: 0 });
});

test.each<[string, (parts: ReturnType<typeof open.attemptParts>) => void]>([
  ['after the stop', ({ running }) => running.stopAll('shutdown')],
  ['while its server is down', ({ breaker }) => breaker.down(LANE, 60_000)],
])(
  'a job that was claimed as it was taken and comes %s is given back, and is no attempt',
  async (_when, hinder) => {
    const execute = untilResumed();
    const parts = open.attemptParts(execute.execute);
    const directive = await open.accepted();
    const job = jobOf(directive);
    const ofRequest = [...open.keys.request(directive.request_id), open.keys.sweep];
    const asked = [directive.id, job.digest, 60_000, 20, 'token', '', LANE];
    const reply = await prepareScripts(open.connection)('claim', ofRequest, asked);
    const held = {
      token: 'token',
      verdict: claimVerdict(reply),
      askedAt: performance.now(),
      end: async () => [],
    };
    hinder(parts);
    expect((await attemptDirective(parts, job, LANE, held)).kind).toBe('later');
    expect(await open.recordOf(directive)).toMatchObject({ status: 'waiting', fence: 1, released: 1 });
    expect(execute.ran).toEqual([]);
  },
);

test('workers that come and go lose nothing and repeat nothing', async () => {
  const runs = new Map<string, number>();
  const execute: Execute = async ({ id }, { signal }) => {
    for (let turn = 0; turn < 5; turn += 1) {
      if (signal.aborted) return { ...cancelled, ambiguous: false };
      await open.connection.ping();
    }
    runs.set(id, (runs.get(id) ?? 0) + 1);
    return done;
  };
  const all = calls(200);
  await open.client.submit(all);
  for (let generation = 0; generation < 4; generation += 1) {
    const worker = await open.startWorker(execute, { concurrency: 10, drainMs: 0 });
    await worker.stop();
  }
  const last = await open.startWorker(execute);
  const ended: (string | undefined)[] = [];
  for await (const signal of open.client.signals(all[0]?.request_id ?? '')) {
    if (signal.type === 'ai.tool.result') ended.push(signal.causationid);
  }
  expect(new Set(ended).size).toBe(200);
  expect(ended).toHaveLength(200);
  expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
  await last.stop();
  expect(await open.jobs()).toBe(0);
  expect(await open.keysWithoutExpiry()).toEqual([]);
});
