/** Runs on a real cluster: the keys of each script in one slot, and every step after the one before it.
 *  It must not rely on an order between slots. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
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
