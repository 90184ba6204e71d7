/** An agent that is stopped, on a real Redis: which work continues and which is withdrawn.
 *  It must not wait for the deadline of a directive without a worker. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { okResult } from '../../../src/contract/result.ts';
import { createCore } from '../../../src/agents/core/core.ts';
import { defineDirective } from '../../../src/agents/core/directive-exec.ts';
import { callTool, defineStrategy } from '../../../src/agents/strategies/strategy.ts';
import { createToolCatalog } from '../../../src/store/catalog/tool-catalog.ts';
import { openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

/** Of a type that no worker of this test serves: it stays in its lane. */
const mail = defineDirective({
  mode: 'queued',
  type: 'mail',
  schema: z.strictObject({}),
  execute: () => Promise.resolve({ result: okResult(null) }),
});

/** Reports an error at the first answer. */
const failing = defineStrategy({
  name: 'failing',
  init: () => null,
  reduce: (state, signal) =>
    signal.type === 'ai.request.started'
      ? {
          state,
          directives: [callTool('slow', 'slow'), callTool('quick', 'quick'), { type: 'mail', id: 'mail' }],
        }
      : { state, directives: [{ type: 'error', error: { code: 'E1' }, context: 'at the first answer' }] },
});

function listed(tool: string) {
  return { name: tool, server: 'test', tool, input_schema: {}, effect: 'once' as const };
}

test('queued work is withdrawn at once, results of running work are ignored, and the run’s error names the reason', async () => {
  const core = createCore({ strategies: [failing], directives: [mail] });
  const agent = { name: 'a', strategy: 'failing', tools: ['*'], policies: { error: 'stop' as const } };
  await using engines = await openEngineTest(redis.url, { core, agents: [agent] });
  const tools = [listed('slow'), listed('quick')];
  const catalog = createToolCatalog(engines.connection, engines.keys);
  await catalog.publish({ server: 'test', status: 'ready', tools, updatedAt: Date.now() });
  await engines.startEngine();
  const [slowBegan, slowMayEnd] = [Promise.withResolvers<AbortSignal>(), Promise.withResolvers<void>()];
  await engines.startWorker(async ({ tool_name }, { signal }) => {
    if (tool_name === 'quick') await slowBegan.promise;
    if (tool_name === 'slow') {
      slowBegan.resolve(signal);
      await slowMayEnd.promise;
    }
    return { result: okResult(tool_name) };
  });
  const { request_id } = await engines.client.start({ agent: 'a', query: 'q' });
  const signals = await engines.ended(request_id);
  // Queued work is withdrawn after the end: its cancellation may follow in the log.
  expect(signals.find(({ type }) => type === 'ai.request.failed')).toMatchObject({
    data: {
      error: {
        type: 'stopped',
        details: { error: { code: 'E1' }, context: 'at the first answer', errors: 1 },
      },
    },
  });
  const endOf = async (id: string) =>
    (await engines.log(request_id)).find(
      ({ data }) => 'result' in data && 'call_id' in data && data.call_id === id,
    );
  const endedAs = (id: string) => eventually(() => endOf(id));
  await endedAs('mail').toMatchObject({
    data: { result: { error: { type: 'cancelled', details: { reason: 'the run was stopped' } } } },
  });
  expect((await slowBegan.promise).aborted).toBe(false);
  expect(await endOf('slow')).toBeUndefined();
  slowMayEnd.resolve();
  await endedAs('slow').toMatchObject({ data: { result: { ok: true } } });
});

// The wait holds a place of the engine; a run that began with the tools listed so far would lack the others to its end.
test('an engine that stops while a run waits for its server leaves the run, unbegun, to another engine', async () => {
  await using engines = await openEngineTest(redis.url);
  const catalog = createToolCatalog(engines.connection, engines.keys);
  const entry = { server: 'late', tools: [], updatedAt: Date.now() };
  await catalog.publish({ ...entry, status: 'connecting' });
  const read = Promise.withResolvers<void>();
  const first = await engines.startEngine({
    runsOf: (runs) => ({
      ...runs,
      read: async (...asked) => runs.read(...asked).finally(read.resolve),
    }),
  });
  await engines.startWorker(async ({ tool_name }) => ({ result: okResult(tool_name) }));
  const { request_id } = await engines.client.start({ agent: 'scripted', query: 'q' });
  await read.promise;
  await first.stop();
  expect((await engines.log(request_id)).map(({ type }) => type)).not.toContain('ai.request.started');
  expect(engines.errors).toEqual([]);
  await catalog.publish({ ...entry, status: 'ready' });
  await engines.startEngine();
  expect((await engines.ended(request_id)).map(({ type }) => type)).toContain('ai.request.started');
});
