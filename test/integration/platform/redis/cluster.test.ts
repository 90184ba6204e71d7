/** Everything on a real cluster of three masters and three replicas, also while one master dies.
 *  It must not promise what asynchronous replication does not: a write that no replica has dies with its master. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../../src/client/http-client.ts';
import type { SubmittedDirective } from '../../../../src/contract/directive/directive.ts';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import { okResult } from '../../../../src/contract/result.ts';
import { acceptance, endOf, jobOf, toolCall, LANE } from '../../../support/journal.ts';
import { countingCall, countingCalls } from '../../../support/calls.ts';
import { installOn, type Processes } from '../../../support/installation.ts';
import { auditLoad, startLoad } from '../../../support/load.ts';
import { openPipeline } from '../../../support/pipeline.ts';
import { startCluster, type TestCluster } from '../../../support/redis-cluster.ts';

let cluster: TestCluster;
let installation: Processes;
let url: string;
let client: DirectiveClient;

beforeAll(async () => {
  cluster = await startCluster({ replicas: 1 });
  const limited = { type: 'scripted', pace: 1_000, requests_per_minute: 6_000, tokens_per_minute: 1_000_000 };
  const config = { worker: { lease_ms: 2_000 }, providers: { scripted: limited } };
  installation = await installOn(cluster.url, { config });
  const { start } = installation;
  [{ url }] = await Promise.all([start('api'), start('worker'), start('worker')]);
  client = createHttpClient({ baseUrl: url });
});
afterAll(async () => {
  await client.close();
  await installation[Symbol.asyncDispose]();
  await cluster.stop();
});

async function all(signals: AsyncIterable<Signal>): Promise<Signal[]> {
  const seen: Signal[] = [];
  for await (const signal of signals) seen.push(signal);
  return seen;
}

/** One after the other: a lost announcement would cost five seconds each time. */
async function executeTwenty(): Promise<void> {
  for (let number = 0; number < 20; number += 1) {
    const signal = await client.execute(countingCall('read', number, { requestId: randomUUID() }));
    expect(signal.data).toMatchObject({ result: { ok: true } });
  }
}

describe('on a cluster', () => {
  test('single calls are answered as they end', executeTwenty);

  test('batches are followed to their end, each signal once and in order', async () => {
    const requestId = randomUUID();
    await client.submit(countingCalls(['read', 'once', 'idempotent'], 20, { requestId }));
    const signals = await all(client.signals(requestId));
    expect(signals.map(({ sequence }) => sequence)).toEqual(signals.map((_, index) => index + 1));
    expect(signals.filter(({ type }) => type === 'ai.tool.result').length).toBe(60);
    expect(await client.request(requestId)).toMatchObject({ status: 'closed', open: 0 });
  });

  test('models are called within the limits that all workers share', async () => {
    const context = [{ role: 'user' as const, content: 'hello' }];
    for (let call = 0; call < 5; call += 1) {
      const signal = await client.execute({ type: 'llm_stream', model: 'scripted:m', context });
      expect(signal.data).toMatchObject({ result: { ok: true, payload: { scripted: true } } });
    }
  });

  test('retries, dead letters and redrives', async () => {
    const requestId = randomUUID();
    const retried = { failures: 1, fields: { max_retries: 2 } };
    const signal = await client.execute(countingCall('read', 1, { requestId, ...retried }));
    expect(signal).toMatchObject({ attempt: 2, data: { result: { ok: true } } });
    await client.execute(countingCall('read', 2, { requestId, failures: 1 }));
    let letters = await client.deadLetters({ lane: 'tool.counting' });
    while (letters.dead_letters.length === 0) letters = await client.deadLetters({ lane: 'tool.counting' });
    expect(letters.dead_letters).toMatchObject([{ request_id: requestId, id: 'read-2' }]);
    const { redriven } = await client.redrive({ directives: [{ request_id: requestId, id: 'read-2' }] });
    expect(redriven).toMatchObject([{ to: { id: 'read-2.redrive-1' } }]);
    expect((await client.result(requestId, 'read-2.redrive-1'))?.data).toMatchObject({
      call_id: 'read-2.redrive-1',
    });
  });

  test('under a key a shorter quiet is kept, and what is replaced ends before its instant', async () => {
    const { request_id: _request, id: _id, ...call } = countingCall('read', 7, { requestId: '' });
    const submit = async (fields: object) => {
      const { request_id, directives } = await client.submit({ ...call, ...fields } as SubmittedDirective);
      return { request_id, id: directives[0]?.id ?? '' };
    };
    const key = randomUUID();
    const first = await submit({ debounce: { key, quiet_ms: 3_600_000 } });
    expect(await submit({ debounce: { key, quiet_ms: 200 } })).toEqual(first);
    const end = await client.result(first.request_id, first.id);
    expect(end?.data).toMatchObject({ result: { ok: true } });
    const singleton = { key, when_open: 'replace' };
    const replaced = await submit({ singleton, delay_ms: 3_600_000 });
    const last = await client.execute({ ...call, singleton } as SubmittedDirective);
    expect(last.data).toMatchObject({ result: { ok: true } });
    const cancelled = await client.result(replaced.request_id, replaced.id);
    expect(cancelled?.data).toMatchObject({ result: { error: { type: 'cancelled' } } });
  });

  test('waiting and running work is cancelled from another process', async () => {
    const requestId = randomUUID();
    const [running, waiting] = [
      countingCall('read', 91, { requestId, delayMs: 30_000 }),
      countingCall('read', 92, {
        requestId,
        failures: 1,
        fields: { max_retries: 1, retry_backoff_ms: 60_000 },
      }),
    ];
    await client.submit([running, waiting]);
    for await (const { type, causationid } of client.signals(requestId))
      if (type === 'directive.retry_scheduled' && causationid === waiting.id) break;
    await installation.untilExecuted((counted) => counted.some(({ label }) => label === running.id));
    const { directives } = await client.cancel(requestId);
    expect(directives.map(({ status }) => status).toSorted()).toEqual(['cancelled', 'requested']);
    for (const { id } of [running, waiting])
      expect((await client.result(requestId, id))?.data).toMatchObject({
        result: { ok: false, error: { type: 'cancelled' } },
      });
  });

  test('tools and lanes are listed', async () => {
    const { tools } = await client.tools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'counting.idempotent',
      'counting.once',
      'counting.read',
    ]);
    const { lanes } = await client.lanes();
    expect(lanes).toMatchObject([
      { name: 'tool.counting', workers: 2 },
      { name: 'llm.scripted', workers: 2 },
      { name: 'run' },
    ]);
  });

  test('the sweeper enqueues what was accepted and never queued, and ends what is overdue', async () => {
    await using open = await openPipeline(cluster.url);
    const [forgotten, overdue] = [toolCall(), toolCall({ deadline_ms: 1 })];
    await open.startWorker(async () => ({ result: okResult('done') }));
    for (const [call, lane] of [
      [forgotten, LANE],
      [overdue, 'tool.nobody'],
    ] as const) {
      await open.index.add([{ requestId: call.request_id, id: call.id }], 0);
      await open.journal.accept(call.request_id, [acceptance(call, lane)]);
    }
    await open.sweeper().start();
    const result = (call: typeof forgotten) => open.client.result(call.request_id, call.id);
    expect((await result(forgotten))?.data).toMatchObject({ result: { ok: true } });
    expect((await result(overdue))?.data).toMatchObject({ result: { error: { type: 'deadline_exceeded' } } });
  });

  test('what has ended gets no job, where it is looked at only afterwards', async () => {
    await using open = await openPipeline(cluster.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    await open.journal.endUnclaimed(call.request_id, call.id, 'succeeded', [endOf(call)]);
    await open.lanes.requeue(LANE, jobOf(call));
    await open.lanes.enqueueOpen(LANE, [jobOf(call)]);
    expect(await open.lanes.queued(LANE)).toBe(0);
  });
});

describe('a master is killed under load', () => {
  test('replicated work continues by itself: every known directive ends once, no once tool runs twice', async () => {
    const load = startLoad({ url, delayMs: 20 });
    const followed = countingCalls(['read'], 10, { requestId: 'followed', delayMs: 4_000 });
    await client.submit(followed);
    const signals = all(client.signals('followed'));
    await load.until(({ accepted }) => accepted.size >= 60);
    await cluster.nodes[0]?.kill9();
    const before = load.accepted.size;
    await load.until(({ accepted }) => accepted.size >= before + 60);
    await load.stop();
    const { lost = 0, ok = 0 } = await auditLoad(url, load, installation, { mayBeLost: true });
    expect(ok).toBeGreaterThan(load.accepted.size / 2);
    expect(lost).toBeLessThan(load.accepted.size / 4);

    const seen = await signals;
    expect(seen.map(({ sequence }) => sequence)).toEqual(seen.map((_, index) => index + 1));
    expect(seen.filter(({ type }) => type === 'ai.tool.result').length).toBe(followed.length);
    await executeTwenty();
    await cluster.nodes[0]?.restart();
  });
});

test('a cluster without any node: submissions are refused, and the next ones accepted when it is back', async () => {
  await using small = await startCluster();
  await using open = await openPipeline(small.url);
  const call = { type: 'tool_exec', id: 'a', request_id: 'r', tool_name: 'test.echo' } as const;
  await open.client.submit({ ...call, id: 'before' });
  await Promise.all(small.nodes.map((node) => node.kill9()));
  await expect(open.client.submit(call)).rejects.toMatchObject({ retryAfterMs: expect.any(Number) });
  await Promise.all(small.nodes.map((node) => node.restart()));
  for (let known = false; !known;) {
    known = await open.client.submit(call).then(
      () => true,
      () => false,
    );
  }
  await open.startWorker(async () => ({ result: okResult('done') }));
  expect((await open.client.result('r', 'a'))?.data).toMatchObject({ result: { ok: true } });
});
