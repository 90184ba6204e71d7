/** Runs on a real Redis: started, taken turn by turn, spoken to and ended, whoever takes the turns.
 *  It must not look into a document: what a run did is in its log. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import type { Signal } from '../../../src/contract/signal.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import type { Execute } from '../../support/pipeline.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { script } from '../../support/scripted-core.ts';

let redis: TestRedis;
let engines: EngineTest;

const echo: Execute = async ({ tool_name }) => ({ result: okResult(tool_name) });

beforeAll(async () => {
  redis = await startRedis();
  engines = await openEngineTest(redis.url);
});
afterAll(async () => {
  await engines?.[Symbol.asyncDispose]();
  await redis?.stop();
});

function types(log: readonly Signal[]): string[] {
  return log.map(({ type }) => type);
}

function resultOf(log: readonly Signal[]): unknown {
  const last = log.at(-1);
  return last && 'result' in last.data ? last.data.result : null;
}

describe('a run', () => {
  test('goes from its start over its tools to its end, with every signal in order', async () => {
    const engine = await engines.startEngine();
    await engines.startWorker(echo);
    const query = script({ tools: ['a', 'b'] }, { tool_errors: ['x'] });
    const { request_id, status } = await engines.client.start({ agent: 'scripted', query });
    expect(status).toBe('pending');
    const log = await engines.ended(request_id);
    expect(types(log).filter((type) => type !== 'ai.tool.started')).toEqual([
      'ai.request.started',
      'ai.tool.result',
      'ai.tool.result',
      'ai.tool.result',
      'ai.request.completed',
    ]);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
    await engine.stop();
  });
});
