/** Runs on a real cluster: the keys of each script in one slot, and every step after the one before it.
 *  It must not rely on an order between slots. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jobId } from '../../../src/queue/job.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { RUN_ENTRY } from '../../../src/queue/run-wake.ts';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { acceptance, jobOf, toolCall } from '../../support/journal.ts';
import { startCluster, type TestCluster } from '../../support/redis-cluster.ts';
import { script, scriptedAgent } from '../../support/scripted-strategy.ts';

let cluster: TestCluster;
let engines: EngineTest;

beforeAll(async () => {
  cluster = await startCluster();
  engines = await openEngineTest(cluster.url, {
    agents: [scriptedAgent({ policies: { busy: 'queue' } })],
  });
  await engines.startEngine();
  await engines.startWorker(echo);
});
afterAll(async () => {
  await engines?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

test('runs with tools, timers, children and a conversation end as they do on one Redis', async () => {
  const child = { agent: 'scripted', script: [{ tools: ['inner'] }] };
  const query = script({ tools: ['a', 'b'] }, { timer_ms: 50 }, { child }, { inputs: 1 });
  const ids = Array.from({ length: 12 }, (_, number) => `run-${number}`);
  for (const [number, request_id] of ids.entries()) {
    await engines.client.start({
      request_id,
      agent: 'scripted',
      query,
      conversation_id: `talk-${number % 6}`,
    });
    await engines.client.input(request_id, { content: 'hello' });
  }
  for (const id of ids) {
    const log = await engines.ended(id);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
    const end = log.findLast(({ type }) => type.startsWith('ai.request.'));
    expect(end, id).toMatchObject({ type: 'ai.request.completed' });
  }
  const historyOf = async (conversation: string): Promise<unknown> =>
    JSON.parse((await engines.connection.get(engines.keys.conversation(conversation)[2])) ?? '[]');
  for (let number = 0; number < 6; number += 1)
    await eventually(() => historyOf(`talk-${number}`)).toHaveLength(4);
});

test('an end that is forgotten only after the resume leaves the run in the sweep index', async () => {
  const request_id = 'resumed';
  const entry = { requestId: request_id, id: RUN_ENTRY };
  await engines.client.start({ request_id, agent: 'scripted', query: script({ inputs: 1 }) });
  await eventually(async () => (await engines.runs.head(request_id))?.status).toBe('waiting');
  await engines.client.cancel(request_id, null);
  await engines.ended(request_id);
  await eventually(() => engines.index.has(entry)).toBe(false);
  await engines.client.resume(request_id);
  expect(await engines.index.has(entry)).toBe(true);
  engines.index.forget(entry);
  const other = { requestId: request_id, id: 'ended' };
  await engines.index.announce([other], 60_000);
  engines.index.forget(other);
  engines.index.flush();
  await eventually(() => engines.index.has(other)).toBe(false);
  await eventually(() => engines.index.has(entry)).toBe(true);
});

// Issue 14: on a cluster it was removed.
test('a waiting call that is cancelled stays in its lane as a failed job', async () => {
  const lane = 'tool.unserved';
  const call = toolCall();
  await engines.journal.accept(call.request_id, [acceptance(call, lane)]);
  await engines.lanes.enqueue(lane, jobOf(call));
  await engines.requests.cancel(call.request_id, call.id);
  const job = `${lanePrefix(engines.keys.prefix, lane)}:${lane}:${jobId(call.request_id, call.id)}`;
  expect(await engines.connection.hget(job, 'failedReason')).toMatch(/^cancelled: /);
  expect(await engines.lanes.counts(lane)).toMatchObject({ waiting: 0, active: 0 });
});
