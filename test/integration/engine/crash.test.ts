/** Engines that are killed at every command of a run: another engine takes over, and the log is as without a crash.
 *  It must kill for real, and leave nothing to the dead engine. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { okResult } from '../../../src/contract/result.ts';
import type { Signal } from '../../../src/contract/signal.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { type Child, spawnNode } from '../../support/process.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { script } from '../../support/scripted-core.ts';

const DOOMED = fileURLToPath(new URL('../../support/doomed-engine.ts', import.meta.url));

const AGENTS = [{ name: 'scripted' }];
const QUERY = script(
  { tools: ['a', 'later'] },
  { tool_errors: ['x'] },
  { timer_ms: 20 },
  { child: { agent: 'scripted', script: [{ tools: ['inner'] }] } },
  { emit: 'shop.sold' },
);

let redis: TestRedis;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis?.stop();
});

const AT_ONCE = 4;

/** Before each command; sometimes also after its answer, which differs where several are sent together. */
function deathsAt(command: number): { at: number; moment: 'before' | 'after' }[] {
  const before = { at: command, moment: 'before' as const };
  return command % 3 === 0 ? [before, { at: command, moment: 'after' }] : [before];
}

interface Story {
  run: string[];
  child: string[];
}

/** What happened, without ids and times; two calls may begin in either order. */
function told(log: readonly Signal[]): string[] {
  expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
  const rest = log.filter(({ type }) => type !== 'ai.tool.started');
  return rest.map(({ type, data }) => {
    const name = 'call_id' in data ? data.call_id : 'tag' in data ? data.tag : '';
    const result = type === 'ai.request.completed' ? JSON.stringify(data) : '';
    return `${type} ${name} ${result}`.trim();
  });
}

function doomed(prefix: string, command: number, moment: string): Child {
  return spawnNode([DOOMED, redis.url, prefix, String(command), moment]);
}

/** The sweeper checks everything at once, as it would after a while. */
async function letTimePass(engines: EngineTest): Promise<void> {
  const { connection, keys } = engines;
  const members = await connection.zrange(keys.sweep, '0', '-1');
  if (members.length > 0)
    await connection.zadd(keys.sweep, 'XX', ...members.flatMap((member) => [1, member]));
}

/** A run whose engine dies at its `command`-th command; a second engine takes over. null: it had fewer commands. */
async function disturbed(command: number, moment: 'before' | 'after'): Promise<Story | null> {
  await using engines = await openEngineTest(redis.url, { agents: AGENTS });
  const calls: string[] = [];
  await engines.startWorker(async ({ tool_name, request_id }) => {
    calls.push(`${request_id}/${tool_name}`);
    // So that both calls of one turn always end in the same order.
    if (tool_name === 'later') await setTimeout(100);
    return { result: okResult(tool_name) };
  });
  const child = doomed(engines.prefix, command, moment);
  await child.waitForLine(/^ready$/);
  const body = { request_id: 'r-00000000', agent: 'scripted', query: QUERY, conversation_id: 'talk' };
  await engines.client.start(body);
  const survived = await Promise.race([
    child.exited.then(() => false),
    command === 0 ? engines.ended('r-00000000').then(() => true) : new Promise<boolean>(() => {}),
    engines.ended('r-00000000', 30_000).then(
      () => true,
      () => false,
    ),
  ]);
  if (!survived) await takeOver(engines);
  const run = told(await engines.ended('r-00000000'));
  const inner = told(await engines.ended('r-00000000.c3'));
  if (survived) await child.kill9();
  expect(calls.length).toBe(new Set(calls).size);
  return survived && command > 0 ? null : { run, child: inner };
}

async function takeOver(engines: EngineTest): Promise<void> {
  await engines.startEngine();
  await engines.sweeper().start();
  let over = false;
  const passing = (async () => {
    while (!over) {
      await letTimePass(engines);
      await setTimeout(100);
    }
  })();
  await engines.ended('r-00000000').finally(() => {
    over = true;
  });
  await passing;
}

describe('an engine that is killed', () => {
  test('at any command leaves a run that ends as if nothing had happened', { timeout: 300_000 }, async () => {
    const calm = await disturbed(0, 'before');
    expect(calm?.run.at(-1)).toContain('ai.request.completed');
    let command = 1;
    for (let finished = false; !finished; command += AT_ONCE) {
      const deaths = Array.from({ length: AT_ONCE }, (_, index) => command + index).flatMap(deathsAt);
      const stories = await Promise.all(deaths.map(({ at, moment }) => disturbed(at, moment)));
      for (const [index, story] of stories.entries())
        if (story !== null) expect(story, JSON.stringify(deaths[index])).toEqual(calm);
      finished = stories.includes(null);
    }
    expect(command).toBeGreaterThan(20);
  });
});
