/** Engines that are killed at every command of a run: another engine takes over, and the log is as without a crash.
 *  It must kill for real, and leave nothing to the dead engines.
 *  Many engines live in one process, each for a run of its own: each stops for good at its command, and when all have, the process dies by
 *  SIGKILL. What Redis sees is what it sees of a process for each command, but node and the engine are loaded once for all of them. */
import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { fileURLToPath } from 'node:url';
import type { PayloadCodec } from '../../../src/contract/encrypted/encrypted.ts';
import { encodedMessages, historyPlace } from '../../../src/contract/encrypted/encrypted-run.ts';
import { okResult } from '../../../src/contract/result.ts';
import { DEFAULT_TENANT, scopedId } from '../../../src/contract/access/tenant.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { RUN_LANE } from '../../../src/queue/run-wake.ts';
import { decryptSignal } from '../../../src/platform/encryption/decrypted-signal.ts';
import { encryptRun } from '../../../src/platform/encryption/encrypted-run.ts';
import { decryptValue } from '../../../src/platform/encryption/payload-value.ts';
import type { Doom } from '../../support/doomed-engines.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { TAKEN_OF, takenPoints } from '../../support/kill-points.ts';
import { TEST_KEYS } from '../../support/pipeline.ts';
import { spawnNode } from '../../support/process.ts';
import { programOf } from '../../support/program.ts';
import { useRedis } from '../../support/shared.ts';
import { script } from '../../support/scripted-strategy.ts';
import { timePassesUntil } from '../../support/time-passes.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../support/doomed-engines.ts', import.meta.url)));

const RUN = 'r-00000000';
const CHILD = `${RUN}.c2`;
const QUERY = script(
  { tools: ['a', 'later'] },
  { tool_errors: ['x'] },
  { timer_ms: 20 },
  { child: { agent: 'scripted', script: [{ tools: ['inner'] }] } },
  { emit: 'shop.sold' },
);

const redis = useRedis();

/** More commands than an engine sends. */
const UNDISTURBED = { at: 1_000_000, moment: 'before' } as const;

/** Commands in one wave; more of them keep two cores so busy that BullMQ takes living workers for dead. */
const AT_ONCE = 9;

/** Before each command; sometimes also after its answer, which differs where several are sent together. */
function deathsAt(command: number): Omit<Doom, 'prefix'>[] {
  const before = { at: command, moment: 'before' as const };
  return command % 3 === 0 ? [before, { at: command, moment: 'after' }] : [before];
}

interface Story {
  run: string[];
  child: string[];
  conversation: unknown;
}

/** Whether these are there depends on how long what follows took. */
const UNTOLD = new Set<string>(['ai.tool.started', 'directive.waiting']);

/** What happened, without ids and times; two calls may begin in either order. */
function told(log: readonly Signal[]): string[] {
  expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
  const rest = log.filter(({ type }) => !UNTOLD.has(type));
  return rest.map(({ type, data }) => {
    const name = 'call_id' in data ? data.call_id : 'tag' in data ? data.tag : '';
    const result = type === 'ai.request.completed' ? JSON.stringify(data) : '';
    return `${type} ${name} ${result}`.trim();
  });
}

/** A worker, and the calls that it gets. */
async function serveTools(engines: EngineTest, tenant: string): Promise<string[]> {
  const calls: string[] = [];
  await engines.startWorker(async ({ tool_name, request_id }) => {
    calls.push(`${request_id}/${tool_name}`);
    // So that both calls of one turn always end in the same order.
    const first = async () => (await engines.journal.directive(scopedId(tenant, request_id), 's0.a'))?.status;
    if (tool_name === 'later') await eventually(first).toBe('succeeded');
    return { result: okResult(`secret of ${tool_name}`) };
  });
  return calls;
}

const codec = TEST_KEYS.codec as PayloadCodec;

/** Whose the run is, and whether it is encrypted. */
interface Case {
  readonly tenant?: string;
  readonly isEncrypted?: boolean;
}

async function start({ client }: EngineTest, { tenant, isEncrypted }: Case): Promise<void> {
  const run = { request_id: RUN, agent: 'scripted', query: QUERY, conversation_id: 'talk' };
  await client.start(isEncrypted === true ? await encryptRun(codec, run) : run, {}, tenant);
}

/** The run and its child have ended, and nothing is left to do for them. */
async function over(engines: EngineTest, tenant: string): Promise<true> {
  await engines.ended(scopedId(tenant, RUN));
  await engines.ended(scopedId(tenant, CHILD));
  await eventually(() => engines.index.size()).toBe(0);
  return true;
}

async function storyOf(engines: EngineTest, tenant: string): Promise<Story> {
  const [active, waiting, history] = engines.keys.conversation(scopedId(tenant, 'talk'));
  expect(await engines.connection.exists(active, waiting)).toBe(0);
  const log = async (id: string) =>
    Promise.all((await engines.log(scopedId(tenant, id))).map((signal) => decryptSignal(codec, signal)));
  const messages = JSON.parse((await engines.connection.get(history)) ?? '[]') as object[];
  const encoded = encodedMessages(messages);
  return {
    run: told(await log(RUN)),
    child: told(await log(CHILD)),
    conversation: encoded === null ? messages : await decryptValue(codec, encoded, historyPlace('talk')),
  };
}

async function undisturbed(): Promise<Story> {
  await using engines = await openEngineTest(redis.url);
  await serveTools(engines, DEFAULT_TENANT);
  await engines.startEngine();
  await start(engines, {});
  await over(engines, DEFAULT_TENANT);
  return await storyOf(engines, DEFAULT_TENANT);
}

/** The stories of runs whose engines died so; null: the run had fewer commands. */
async function disturbed(
  deaths: readonly Omit<Doom, 'prefix'>[],
  { tenant = DEFAULT_TENANT, isEncrypted = false }: Case = {},
): Promise<(Story | null)[]> {
  await using all = new AsyncDisposableStack();
  const scenes: EngineTest[] = [];
  for (const _ of deaths) scenes.push(all.use(await openEngineTest(redis.url)));
  const dooms = deaths.map((death, index): Doom => ({ prefix: scenes[index]?.prefix ?? '', ...death }));
  const calls = await Promise.all(scenes.map(async (engines) => serveTools(engines, tenant)));
  const child = spawnNode([DOOMED, redis.url, JSON.stringify(dooms)]);
  await child.waitForLine(/^ready$/);
  await Promise.all(scenes.map(async (engines) => start(engines, { tenant, isEncrypted })));
  const stopped = ({ prefix }: Doom) => child.waitForLine(new RegExp(`^stopped ${prefix}$`));
  const survived = await Promise.all(
    scenes.map((engines, index) =>
      Promise.race([stopped(dooms[index] as Doom).then(() => false), over(engines, tenant)]),
    ),
  );
  expect(await child.kill9()).toMatchObject({ signal: 'SIGKILL' });
  const stories = scenes.map(async (engines, index) => (survived[index] ? null : takeOver(engines, tenant)));
  const told = await Promise.all(stories);
  for (const made of calls) expect(made.length).toBe(new Set(made).size);
  if (isEncrypted)
    for (const { connection, prefix } of scenes)
      for (const secret of SECRETS) expect(await foundIn(connection, prefix, secret)).toEqual([]);
  return told;
}

async function takeOver(engines: EngineTest, tenant: string): Promise<Story> {
  await engines.startEngine();
  await engines.sweeper().start();
  await timePassesUntil(engines, over(engines, tenant));
  return storyOf(engines, tenant);
}

describe('an engine that is killed', () => {
  test('at any command leaves a run that ends as if nothing had happened', { timeout: 300_000 }, async () => {
    const calm = await undisturbed();
    expect(calm.run.at(-1)).toContain('ai.request.completed');
    const commands = AT_ONCE * TAKEN_OF;
    let lastDeath = 0;
    for (let command = 1, finished = false; !finished; command += commands) {
      const deaths = takenPoints(
        Array.from({ length: commands }, (_, index) => command + index).flatMap(deathsAt),
      );
      const stories = await disturbed(deaths);
      for (const [index, story] of stories.entries()) {
        if (story === null) continue;
        expect(story, JSON.stringify(deaths[index])).toEqual(calm);
        lastDeath = deaths[index]?.at ?? 0;
      }
      finished = stories.includes(null);
    }
    expect(lastDeath).toBeGreaterThan(15);
  });

  // Rule of docs/guarantees.md: a run goes on whichever process dies; the pushed job is that of a dead engine.
  test('loses no turn that was pushed to it, nor calls what the turn reads once more', async () => {
    await using engines = await openEngineTest(redis.url);
    const base = `${lanePrefix(engines.prefix, RUN_LANE)}:${RUN_LANE}:`;
    const client = engines.connection as Redis;
    const offers = () => client.hlen(`${base}offers`);
    const called: PromiseWithResolvers<ReturnType<typeof okResult>>[] = [];
    await engines.startWorker(async () => {
      const answer = Promise.withResolvers<ReturnType<typeof okResult>>();
      called.push(answer);
      return { result: await answer.promise };
    });
    const child = spawnNode([
      DOOMED,
      redis.url,
      JSON.stringify([{ ...UNDISTURBED, prefix: engines.prefix }]),
    ]);
    await child.waitForLine(/^ready$/);
    await engines.client.start({ request_id: RUN, agent: 'scripted', query: script({ tools: ['a'] }) });
    await eventually(() => called.length).toBe(1);
    await eventually(async () => (await offers()) > 0 && (await engines.jobs(RUN_LANE)) === 0).toBe(true);
    // Its connections stay open: Redis takes it for a listener.
    process.kill(child.pid, 'SIGSTOP');
    called[0]?.resolve(okResult('once'));
    await eventually(() => client.lrange(`${base}active`, 0, -1)).toHaveLength(1);
    expect(await client.llen(`${base}wait`)).toBe(0);
    expect(await child.kill9()).toMatchObject({ signal: 'SIGKILL' });
    await engines.startEngine();
    expect(told(await engines.ended(RUN)).at(-1)).toContain('ai.request.completed');
    expect(called).toHaveLength(1);
    await eventually(() => engines.jobs(RUN_LANE)).toBe(0);
  });

  test('leaves the run of another tenant with the ids that all know it by, and its child and conversation', async () => {
    const deaths = [3, 9, 15].map((at) => ({ at, moment: 'before' as const }));
    const [calm, ...stories] = [await undisturbed(), ...(await disturbed(deaths, { tenant: 'acme' }))];
    expect(stories).toEqual(deaths.map(() => calm));
  });

  test('leaves an encrypted run that ends as one in clear, and no word of it in Redis', async () => {
    const deaths = takenPoints([2, 5, 8, 11, 14, 17, 20]).map((at) => ({ at, moment: 'before' as const }));
    const [calm, ...stories] = [await undisturbed(), ...(await disturbed(deaths, { isEncrypted: true }))];
    for (const story of stories) if (story !== null) expect(story).toEqual(calm);
    expect(stories[0]).not.toBeNull();
  });
});

/** What only the key reads: of the query, of a tool's answer, of what the strategy says. Short words with their quote, as ciphertext may spell them. */
const SECRETS = [/timer_ms/, /secret of/, /done\\*"/, /heard\\*"/];

/** The keys of a prefix that hold the text. */
async function foundIn(
  connection: EngineTest['connection'],
  prefix: string,
  text: RegExp,
): Promise<string[]> {
  const keys = await connection.keys(`*${prefix}*`);
  expect(keys.length).toBeGreaterThan(5);
  const held = await Promise.all(keys.map(async (key) => [key, await contentOf(connection, key)] as const));
  return held.filter(([, content]) => text.test(content)).map(([key, content]) => `${key}: ${content}`);
}

async function contentOf(connection: EngineTest['connection'], key: string): Promise<string> {
  switch (await connection.type(key)) {
    case 'hash':
      return JSON.stringify(await connection.hgetall(key));
    case 'list':
      return JSON.stringify(await connection.lrange(key, 0, -1));
    case 'stream':
      return JSON.stringify(await connection.xrange(key, '-', '+'));
    case 'zset':
      return JSON.stringify(await connection.zrange(key, '0', '-1'));
    case 'set':
      return JSON.stringify(await connection.smembers(key));
    case 'string':
      return (await connection.get(key)) ?? '';
    // It is gone since it was listed; what comes under its name now may be of another type.
    default:
      return '';
  }
}
