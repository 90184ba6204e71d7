/** What a run is started with says how its directives, and those of its children, wait for their turn.
 *  It must never look at what becomes of them: their lane has no worker. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { decodeEnvelope } from '../../../src/store/request/envelope.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/pipeline.ts';
import { script } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
let engines: EngineTest;

beforeEach(async () => {
  engines = await openEngineTest(redis.url);
});
afterEach(async () => {
  await engines?.[Symbol.asyncDispose]();
});

const FLOW = {
  priority: 7,
  fairness_key: 'customer-42',
  concurrency: { key: 'customer-42', limit: 2 },
  rate: { key: 'mail', max: 10, per_ms: 60_000 },
};

/** The first directive of a request, as it was accepted. */
async function accepted(requestId: string) {
  const first = async () => (await engines.journal.request(requestId))?.directives[0]?.id;
  await eventually(first).toBeDefined();
  return decodeEnvelope((await engines.journal.envelope(requestId, (await first()) ?? '')) ?? '');
}

test('a run hands its priority, fairness key and limits to its directives, and to its children', async () => {
  await engines.startEngine();
  const child = { agent: 'scripted', script: [{ tools: ['b'] }] };
  const query = script({ tools: ['a'] });
  const { request_id: own } = await engines.client.start({ agent: 'scripted', query, ...FLOW });
  const family = { agent: 'scripted', query: script({ child }), ...FLOW };
  const { request_id: parent } = await engines.client.start(family);
  const children = async () => (await engines.client.view(parent))?.view.children ?? [];
  await eventually(async () => (await children()).length).toBe(1);
  const [ofOwn, ofChild] = [await accepted(own), await accepted((await children())[0]?.request_id ?? '')];
  for (const { directive, ticket } of [ofOwn, ofChild]) {
    expect(directive).toMatchObject(FLOW);
    expect(ticket).toMatchObject({ priority: 7, limits: [{ concurrency: 2 }, { rate: { max: 10 } }] });
  }
  expect(ofChild.ticket).toEqual(ofOwn.ticket);
});

test('a run without them makes plain directives', async () => {
  await engines.startEngine();
  const { request_id: id } = await engines.client.start({
    agent: 'scripted',
    query: script({ tools: ['a'] }),
  });
  expect(await accepted(id)).not.toHaveProperty('ticket');
});

test('a priority that there is not is refused', async () => {
  const start = engines.client.start({ agent: 'scripted', query: 'x', priority: 10 });
  expect(await refusal(start)).toMatchObject({ code: 'invalid_body', errors: [{ path: 'priority' }] });
});
