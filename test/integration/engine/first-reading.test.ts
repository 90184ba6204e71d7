/** What the first turn of a run reads comes with its job: an engine and what it takes from the lane of runs, on a real Redis.
 *  It must not let a turn be taken by what is no longer so. */
import { expect, test } from 'vitest';
import { type RunJournal, runReading } from '../../../src/journal/run-journal.ts';
import { NO_SIGNALS, TURN_SIZE } from '../../../src/engine/run-store.ts';
import { createRunTurns } from '../../../src/engine/run-turns.ts';
import { prepareScripts } from '../../../src/journal/scripts.ts';
import { jobId } from '../../../src/queue/job.ts';
import { createLaneClaims, readingWords } from '../../../src/queue/lane-claims.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { createKnownEmpty } from '../../../src/queue/known-empty.ts';
import { createLaneTaker } from '../../../src/queue/lane-taker.ts';
import { RUN_LANE } from '../../../src/queue/run-wake.ts';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { script } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

const STEP = script({ tools: ['a'] });

/** The lane of runs as an engine takes it, each script twice: the second answer is the one that arrives. */
function takerOn({ connection, keys }: EngineTest) {
  const once = prepareScripts(connection);
  const slots = { free: 4 };
  const claims = createLaneClaims({
    words: readingWords(keys.prefix),
    sweep: keys.sweep,
    confirm: async () => null,
    reserve: () => slots.free > 0 && (slots.free -= 1) >= 0,
    mayGoOn: () => true,
    release: () => void (slots.free += 1),
  });
  const run: typeof once = async (...given) => {
    await once(...given);
    return once(...given);
  };
  const base = `${lanePrefix(keys.prefix, RUN_LANE)}:${RUN_LANE}:`;
  const taker = createLaneTaker({ base, run, lockMs: 30_000, known: createKnownEmpty(), claims });
  const readingOf = (requestId: string) => {
    const held = claims.heldJob(jobId(requestId, '@run/0'));
    return held?.reply ? runReading(requestId, held.reply) : null;
  };
  return { take: async () => taker.take('lock:1'), readingOf, slots };
}

async function started(engines: EngineTest, query = STEP): Promise<string> {
  const request_id = engines.newId();
  await engines.client.start({ request_id, agent: 'scripted', query });
  return request_id;
}

test('it is what a read would have answered, for each of the runs that are taken at once', async () => {
  await using engines = await openEngineTest(redis.url);
  const taker = takerOn(engines);
  const ids = [];
  for (let nth = 0; nth < 8; nth += 1) ids.push(await started(engines));
  expect((await taker.take())[0]).toBe('job');
  const taken = ids.filter((_, nth) => nth < 2);
  expect(taker.slots.free).toBe(2);
  for (const id of taken) {
    const read = await engines.runs.read(id, { held: null, ...TURN_SIZE });
    expect({ ...taker.readingOf(id), now: 0 }).toEqual({ ...read, now: 0 });
    expect(read?.version).toBe(0);
  }
});

test('a run that has something to read, has begun, or has a long spec is read by its engine', async () => {
  await using engines = await openEngineTest(redis.url);
  const taker = takerOn(engines);
  const told = await started(engines);
  await engines.client.input(told, { content: 'and this' });
  const long = await started(engines, script({ tools: ['a'] }, { say: 'x'.repeat(70_000) } as never));
  const begun = await started(engines);
  await engines.connection.hset(engines.keys.request(begun)[0], '@run|version', '1');
  const cancelled = await started(engines);
  await engines.client.cancel(cancelled, 'no longer needed');
  for (const id of [told, long, begun, cancelled]) {
    expect((await taker.take())[0]).toBe('job');
    expect(taker.readingOf(id)).toBeNull();
    expect(taker.slots.free).toBe(4);
  }
});

test('a job that names no directive brings no reading: it is dropped, and would keep the slot', async () => {
  await using engines = await openEngineTest(redis.url);
  const taker = takerOn(engines);
  for (const end of ['}', ',"id":"@run/0"}', ',"id":"@run/0","digest":""']) {
    const id = await started(engines);
    const job = `${lanePrefix(engines.keys.prefix, RUN_LANE)}:${RUN_LANE}:${jobId(id, '@run/0')}`;
    await expect.poll(() => engines.connection.exists(job)).toBe(1);
    await engines.connection.hset(job, 'data', `{"request_id":"${id}"${end}`);
    expect(await taker.take()).toContain(jobId(id, '@run/0'));
    expect(taker.slots.free).toBe(4);
  }
});

test('an engine takes the first turn without another look, and the run ends as ever', async () => {
  await using engines = await openEngineTest(redis.url);
  const looks: (number | null)[] = [];
  const runsOf = (runs: RunJournal): RunJournal => ({
    ...runs,
    async read(...asked) {
      const found = await runs.read(...asked);
      looks.push(found && found.version);
      return found;
    },
  });
  const engine = await engines.startEngine({ runsOf });
  await engines.startWorker(echo, engine.wake);
  // More than it has places for.
  const ids = [];
  for (let nth = 0; nth < 25; nth += 1) ids.push(await started(engines));
  for (const id of ids) expect((await engines.ended(id)).at(-1)?.type).toBe('ai.request.completed');
  expect(looks).not.toContain(0);
});

test('a turn that another engine has taken meanwhile is not taken by what was read before', async () => {
  await using engines = await openEngineTest(redis.url);
  let isFirst = true;
  const runsOf = (runs: RunJournal): RunJournal => ({
    ...runs,
    async commit(turn, ...more) {
      if (isFirst) {
        isFirst = false;
        expect((await runs.commit({ ...turn, token: 'another', directives: [] }))?.kind).toBe('committed');
      }
      return runs.commit(turn, ...more);
    },
  });
  const engine = await engines.startEngine({ runsOf });
  await engines.startWorker(echo, engine.wake);
  const id = await started(engines);
  await expect
    .poll(async () => (await engines.runs.read(id, { held: null, ...NO_SIGNALS }))?.version)
    .toBe(1);
  expect((await engines.requests.request(id))?.directives).toEqual([]);
});

/** Turns of runs that `opened` and `read` find; no later turn follows. */
function turnsOn(store: { opened(requestId: string): Promise<void>; read?(): void }) {
  const turn = {
    store: {
      read: async () => (store.read?.(), null),
      opened: async (requestId: string) => (await store.opened(requestId), { later: true }),
    },
    index: { forget: () => {} },
    waker: { wakeAt: async () => {} },
  };
  return createRunTurns({
    turn: turn as never,
    concurrency: 3,
    isStopping: () => false,
    report: () => {},
  });
}

const reading = {} as never;

test('what has waited for its turn for longer than a second is read again', async () => {
  const done: string[] = [];
  const turns = turnsOn({
    opened: async () => void done.push('opened'),
    read: () => void done.push('read'),
  });
  await turns.attend('r', { reading, readAt: performance.now() });
  await turns.attend('r', { reading, readAt: performance.now() - 2_000 });
  expect(done).toEqual(['opened', 'read']);
});

test('the work of runs that were read together is not one piece', async () => {
  const done: string[] = [];
  const turns = turnsOn({
    async opened(requestId) {
      done.push(`${requestId} begins`);
      for (let step = 0; step < 200; step += 1) await Promise.resolve();
      done.push(`${requestId} waits`);
    },
  });
  await Promise.all(['a', 'b', 'c'].map((id) => turns.attend(id, { reading, readAt: performance.now() })));
  expect(done).toEqual(['a begins', 'a waits', 'b begins', 'b waits', 'c begins', 'c waits']);
});
