/** A run that has more unread signals than one turn reads, on a real Redis.
 *  It must never depend on how many bytes a turn reads, only on there being more. */
import { expect, test } from 'vitest';
import { createCore } from '../../../src/engine/core/core.ts';
import { defineStrategy } from '../../../src/engine/strategies/strategy.ts';
import { openEngineTest } from '../../support/engine.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

/** Completes with the first input. */
const hasty = defineStrategy({
  name: 'hasty',
  init: () => null,
  reduce(state, signal) {
    if (signal.type !== 'ai.request.input') return { state, awaits: 'input' };
    return { state, outcome: { status: 'completed', result: 'done' } };
  },
});

test('a run ends although its unread signals are larger than a turn reads', async () => {
  const agents = [{ name: 'hasty', strategy: 'hasty' }];
  await using engines = await openEngineTest(redis.url, {
    agents,
    core: createCore({ strategies: [hasty] }),
  });
  const { request_id } = await engines.client.start({ agent: 'hasty', query: 'hi' });
  for (let index = 0; index < 9; index += 1)
    await engines.tell(request_id, {
      name: `large-${index}`,
      digest: '',
      limit: null,
      signal: { type: 'ai.request.input', data: { request_id, content: 'x'.repeat(1_048_576) } } as never,
    });
  await engines.startEngine();
  const log = await engines.ended(request_id);
  expect(log.filter(({ type }) => type === 'ai.request.completed')).toHaveLength(1);
});
