/** Runs under a key, while the process of the engines dies alone, or Redis alone, at their steps.
 *  It must kill for real, and help nobody: time passes, and that is all. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { StartedRun } from '../../../src/contract/run/run.ts';
import type { Doom } from '../../support/doomed-engines.ts';
import { type EngineTest, makeEngine, openEngineTest } from '../../support/engine.ts';
import { eventually, untilHolds } from '../../support/eventually.ts';
import { holdAt, type Step } from '../../support/held-commands.ts';
import { takenPoints } from '../../support/kill-points.ts';
import { spawnNode } from '../../support/process.ts';
import { programOf } from '../../support/program.ts';
import { script } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';
import { timePassesUntil } from '../../support/time-passes.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../support/doomed-engines.ts', import.meta.url)));
/** In what names the request of a run under a key. */
const UNDER_KEY = 'once.';
const HOUR_MS = 3_600_000;
/** Commands until all is over, about; beyond that nobody dies. */
const COMMANDS_OF_ENGINE = 24;
const COMMANDS_OF_ALL = 36;
/** More of them keep two cores so busy that BullMQ takes living workers for dead. */
const AT_ONCE = 12;

const redis = useRedis({ appendonly: true, appendfsync: 'always' });

/** Ends at once, unless it is to wait for inputs. */
const ENDS = script({ inputs: 0 });
const HOLDS = script({ inputs: 1 });

const singleton = (when_open: 'refuse' | 'replace') => ({ singleton: { key: 'k', when_open } });
const debounce = (quiet_ms: number) => ({ debounce: { key: 'k', quiet_ms } });
const DEDUPE = { dedupe: { key: 'k', window_ms: 60_000 } };

interface Started {
  readonly open: StartedRun;
  readonly next: StartedRun;
  readonly quiet: readonly StartedRun[];
  readonly same: readonly StartedRun[];
}

/** `canGoOn`: an engine is there. */
async function startAll(engines: EngineTest, canGoOn: () => boolean): Promise<Started> {
  const start = async (fields: object, query: string) =>
    engines.client.start({ agent: 'scripted', query, ...fields });
  const open = await start(singleton('refuse'), HOLDS);
  const begun = async () => (await engines.runs.head(open.request_id))?.status;
  const isReached = async (): Promise<void> => expect(!canGoOn() || (await begun()) === 'waiting').toBe(true);
  await untilHolds(isReached);
  const next = await start(singleton('replace'), ENDS);
  const quiet = [await start(debounce(HOUR_MS), HOLDS), await start(debounce(100), ENDS)];
  const same = [await start(DEDUPE, ENDS), await start(DEDUPE, HOLDS)];
  return { open, next, quiet, same };
}

/** All have ended, and nothing is left to do for them. */
async function over(engines: EngineTest, { open, next, quiet, same }: Started): Promise<void> {
  for (const { request_id: id } of [open, next, ...quiet, ...same]) await engines.ended(id);
  await eventually(() => engines.index.size()).toBe(0);
}

async function judge(engines: EngineTest, { open, next, quiet, same }: Started): Promise<void> {
  const outcomes = [open, next, ...quiet, ...same].map(({ once }) => once?.outcome);
  expect(outcomes).toEqual(['began', 'replaced', 'began', 'debounced', 'began', 'deduplicated']);
  const [[debounced], [first]] = [quiet, same] as [[StartedRun], [StartedRun]];
  expect(new Set(quiet.map(({ request_id }) => request_id)).size).toBe(1);
  expect(new Set(same.map(({ request_id }) => request_id)).size).toBe(1);
  expect(await endOf(engines, open)).toBe('cancelled');
  for (const each of [next, debounced, first]) {
    expect(await endOf(engines, each)).toBe('completed');
    const types = await loggedTypes(engines, each);
    for (const once of ['ai.request.started', 'ai.request.completed'])
      expect(types.filter((type) => type === once)).toHaveLength(1);
  }
  const [state] = engines.keys.request(next.request_id);
  const begunAt = Number((await engines.connection.hget(state, '@run|turn1'))?.split(' ')[0]);
  const [before] = engines.keys.request(open.request_id);
  expect(begunAt).toBeGreaterThanOrEqual(Number(await engines.connection.hget(before, 'closed_at')));
  const again = await engines.client.start({ agent: 'scripted', query: ENDS, ...singleton('refuse') });
  expect(again.once?.outcome).toBe('began');
}

const endOf = async ({ runs }: EngineTest, { request_id: id }: StartedRun) => (await runs.head(id))?.status;

async function loggedTypes(engines: EngineTest, { request_id: id }: StartedRun): Promise<string[]> {
  const log = await engines.log(id);
  expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
  return log.map(({ type }) => type);
}

/** Spread over all commands, in waves. */
function stepsOf(commands: number, waves: number): Step[][] {
  const count = AT_ONCE * waves;
  const steps = Array.from({ length: count }, (_, n): Step => {
    const at = 1 + Math.floor((n * commands) / count);
    return { at, moment: n % 2 ? 'before' : 'after' };
  });
  return Array.from({ length: waves }, (_, n) => takenPoints(steps.slice(n * AT_ONCE, (n + 1) * AT_ONCE)));
}

test.each(stepsOf(COMMANDS_OF_ENGINE, 1))(
  'the process of the engines is killed at its commands: one at a time, the last content, once',
  async (...steps) => {
    await using all = new AsyncDisposableStack();
    const scenes: EngineTest[] = [];
    for (const _ of steps) scenes.push(all.use(await openEngineTest(redis.url)));
    const dooms = steps.map((step, index): Doom => ({ prefix: scenes[index]?.prefix ?? '', ...step }));
    const child = spawnNode([DOOMED, redis.url, JSON.stringify(dooms)]);
    await child.waitForLine(/^ready$/);
    const stories = scenes.map(async (engines, index) => {
      let stopped = false;
      const stop = child.waitForLine(new RegExp(`^stopped ${dooms[index]?.prefix}$`)).then(() => {
        stopped = true;
      });
      const started = await startAll(engines, () => !stopped);
      await engines.sweeper().start();
      await timePassesUntil(engines, Promise.race([stop, over(engines, started)]));
      return started;
    });
    const started = await Promise.all(stories);
    expect(await child.kill9()).toMatchObject({ signal: 'SIGKILL' });
    await Promise.all(
      scenes.map(async (engines, index) => {
        await engines.startEngine();
        const begun = started[index] as Started;
        await timePassesUntil(engines, over(engines, begun));
        await judge(engines, begun);
      }),
    );
  },
);

test.each(stepsOf(COMMANDS_OF_ALL, 2))(
  'Redis is killed at the commands about runs under a key: one at a time, the last content, once',
  async (...steps) => {
    await using all = new AsyncDisposableStack();
    const scenes = await Promise.all(
      steps.map(async (step) => {
        const engines = all.use(await openEngineTest(redis.url));
        const { connection, parts } = makeEngine(redis.url, engines.prefix);
        const held = holdAt([engines.connection, connection], UNDER_KEY, step);
        for (const part of parts) await part.start();
        all.defer(async () => {
          for (const part of parts.toReversed()) await part.stop();
          await connection.quit();
        });
        all.defer(() => held.goOn());
        return { engines, held };
      }),
    );
    const stories = scenes.map(async ({ engines }) => {
      await engines.sweeper().start();
      const started = await startAll(engines, () => true);
      await over(engines, started);
      await judge(engines, started);
    });
    await Promise.all(scenes.map(async ({ held }, index) => Promise.race([held.held, stories[index]])));
    await redis.kill9();
    await redis.restart();
    for (const { held } of scenes) held.goOn();
    await Promise.all(
      scenes.map(({ engines }, index) => timePassesUntil(engines, stories[index] ?? Promise.resolve())),
    );
  },
);
