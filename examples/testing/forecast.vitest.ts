/** A test suite of a user with vitest: the matchers, and a Redis that goes away.
 *  Run it: npx vitest run examples/testing */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { matchers, startTestKit, type TestKit, type TestMatchers } from 'adjutant/testing';

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void>, T> extends TestMatchers<R> {}
}

expect.extend(matchers);

let kit: TestKit;

beforeAll(async () => {
  kit = await startTestKit({ tools: { weather: { forecast: { effect: 'read', run: () => 'sun' } } } });
});

afterAll(async () => kit.stop());

test('a call outlives Redis', async () => {
  const { request_id } = await kit.client.submit({
    type: 'tool_exec',
    id: 'a',
    tool_name: 'weather.forecast',
  });
  kit.faults.cutRedis();
  kit.faults.restoreRedis();
  const signal = await kit.client.result(request_id, 'a', { timeoutMs: 30_000 });
  expect(signal).toHaveSucceeded('sun');
  expect(await kit.signals(request_id)).toEndOnce('a');
});

test('a model that fails', async () => {
  kit.model.fails(400);
  const signal = await kit.client.execute({
    type: 'llm_generate',
    id: 'a',
    model: 'fast',
    context: [{ role: 'user', content: 'Hello' }],
  });
  expect(signal).not.toHaveSucceeded();
});
