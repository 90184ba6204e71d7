/** A test suite of a user with node:test: a tool, an agent, a worker that dies, and a delay that nobody waits for.
 *  Run it: npx node --conditions=adjutant-source --test examples/testing/forecast.node-test.ts */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertEndedOnce, assertFailed, assertSucceeded, startTestKit, type TestKit } from 'adjutant/testing';

let kit: TestKit;

before(async () => {
  kit = await startTestKit({
    tools: {
      weather: { forecast: { effect: 'read', run: ({ city }) => `sun in ${String(city)}` } },
      bank: { pay: { effect: 'once', run: () => ({ paid: true }) } },
    },
  });
});

after(async () => kit.stop());

test('an agent asks the tool, and answers', async () => {
  kit.model
    .wants({ tool: 'weather.forecast', arguments: { city: 'Oslo' } })
    .says('Take your sunglasses to Oslo.');
  const { request_id } = await kit.client.runs.start({
    agent: 'default',
    query: 'What should I pack for Oslo?',
  });
  const signals = [];
  for await (const signal of kit.client.signals(request_id)) signals.push(signal);
  assert.equal(signals.at(-1)?.type, 'ai.request.completed');
  assert.deepEqual(kit.tools.calls.at(-1), { tool: 'weather.forecast', arguments: { city: 'Oslo' } });
});

test('a lost answer is asked again, ten minutes later', async () => {
  kit.tools.loses('weather.forecast');
  const call = {
    type: 'tool_exec',
    id: 'a',
    tool_name: 'weather.forecast',
    max_retries: 1,
    retry_backoff_ms: 600_000,
  } as const;
  const { request_id } = await kit.client.submit(call);
  for await (const { type } of kit.client.signals(request_id)) {
    if (type === 'directive.retry_scheduled') await kit.clock.advance('10m');
  }
  assertSucceeded(await kit.client.result(request_id, 'a'));
  assertEndedOnce(await kit.signals(request_id), 'a');
});

test('a payment is not repeated when its worker dies', async () => {
  kit.tools.slow('bank.pay', 60_000);
  const { request_id } = await kit.client.submit({ type: 'tool_exec', id: 'pay', tool_name: 'bank.pay' });
  for await (const { type } of kit.client.signals(request_id)) {
    if (type !== 'ai.tool.started') continue;
    await kit.faults.killWorker();
    await kit.clock.advance('1m');
  }
  assertFailed(await kit.client.result(request_id, 'pay'), 'outcome_unknown');
  // The worker may have died just before it called.
  assert.ok(kit.tools.calls.filter(({ tool }) => tool === 'bank.pay').length <= 1);
});
