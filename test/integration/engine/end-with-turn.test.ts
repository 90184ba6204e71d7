/** The end of a directive as one write with the turn that reads it: an engine and a worker of one process, on a real Redis.
 *  It must not let a turn be written that has read another end than the one in the log, nor an end be lost because its turn was not. */
import { expect, test, vi } from 'vitest';
import type { EndWithTurn } from '../../../src/journal/journal.ts';
import type { RunJournal } from '../../../src/journal/run-journal.ts';
import type { EngineCore } from '../../../src/engine/transition.ts';
import { createLocalRoles } from '../../../src/queue/local-roles.ts';
import { RUN_LANE } from '../../../src/queue/run-wake.ts';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';
import { script, scriptedAgent, scriptedCore } from '../../support/scripted-strategy.ts';
import { failureOf, toolCall } from '../../support/journal.ts';

const redis = useRedis();

type Commit = RunJournal['commit'];
/** What is done about a turn that brings an end, instead of writing it. */
type Instead = (commit: () => ReturnType<Commit>, ...written: Parameters<Commit>) => ReturnType<Commit>;

interface OneProcess {
  core?: EngineCore;
  /** For the first turn that brings an end. Default: it is written. */
  instead?: Instead;
  /** What the process takes for the time of Redis when a turn was written. Default: that. */
  clock?: (now: number) => number;
}

/** Worker and engine of one process. Returns what became of the turns: of the end that each brought, and of itself. */
async function startProcess(
  engines: EngineTest,
  { core, instead = (commit) => commit(), clock = (now) => now }: OneProcess = {},
) {
  const turns: string[] = [];
  const left = [instead];
  const runsOf = (runs: RunJournal): RunJournal => ({
    ...runs,
    async commit(...written) {
      const commit = () => runs.commit(...written);
      const verdict = await (written[2] === undefined
        ? commit()
        : (left.pop() ?? commit)(commit, ...written));
      turns.push(`${verdict.ended?.[0] ?? 'no end'}, ${verdict.kind}`);
      return verdict.kind === 'committed' ? { ...verdict, now: clock(verdict.now) } : verdict;
    },
  });
  const wake: Parameters<typeof engines.startWorker>[1] = async (...known) => engine.wake(...known);
  const endWithTurn: EndWithTurn = async (...end) => engine.takeEnd(...end);
  const worker = { ...(await engines.startWorker(echo, wake, { endWithTurn })), inHand: () => 0 };
  const engine = await engines.startEngine({ worker, runsOf, ...(core === undefined ? {} : { core }) });
  return turns;
}

const TWO_STEPS = script({ tools: ['a'] }, { tools: ['b'] });

async function runOf(engines: EngineTest, query = TWO_STEPS) {
  const request_id = engines.newId();
  await engines.client.start({ request_id, agent: 'scripted', query });
  const log = await engines.ended(request_id);
  // Each once, whoever wrote it, and without a gap.
  expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, place) => place + 1));
  const answers = log.filter(({ type }) => type === 'ai.tool.result');
  expect(new Set(answers.map(({ data }) => (data as { call_id: string }).call_id)).size).toBe(answers.length);
  return { request_id, log, answers, last: log.at(-1)?.type };
}

test('each end is written with the turn that reads it, and the log is as it would be without', async () => {
  await using engines = await openEngineTest(redis.url);
  const turns = await startProcess(engines);
  const { log, last } = await runOf(engines);
  expect(turns).toEqual(['no end, committed', 'ended, committed', 'ended, committed']);
  expect(last).toBe('ai.request.completed');
  await using apart = await openEngineTest(redis.url);
  const engine = await apart.startEngine();
  await apart.startWorker(echo, engine.wake);
  const { log: plain } = await runOf(apart);
  expect(log.map(({ type }) => type)).toEqual(plain.map(({ type }) => type));
});

test('where the run has something else to read, the end is written alone, and one turn reads both', async () => {
  await using engines = await openEngineTest(redis.url);
  const turns = await startProcess(engines, {
    instead: async (commit, { requestId }) => {
      await engines.client.input(requestId, { content: 'and this' });
      return commit();
    },
  });
  const { log, answers, last } = await runOf(
    engines,
    script({ tools: ['a'] }, { inputs: 1 }, { tools: ['b'] }),
  );
  expect(turns.slice(0, 2)).toEqual(['no end, committed', 'ended, version']);
  expect(answers).toHaveLength(2);
  expect(log.filter(({ type }) => type === 'ai.request.input')).toHaveLength(1);
  expect(last).toBe('ai.request.completed');
});

test('a turn that has read another end than the one that is written is not written', async () => {
  await using engines = await openEngineTest(redis.url);
  const turns = await startProcess(engines, {
    instead: async (commit, { requestId }, _together, end) => {
      const id = String(end?.words[0]);
      const failure = failureOf(toolCall({ id, request_id: requestId }));
      await engines.wakingJournal(async () => {}).endUnclaimed(requestId, id, 'failed', [failure]);
      return commit();
    },
  });
  const { log, answers, last } = await runOf(engines);
  expect(turns.slice(0, 2)).toEqual(['no end, committed', 'already, version']);
  expect(answers).toHaveLength(2);
  expect(JSON.stringify(log)).toContain('"type":"timeout"');
  expect(last).toBe('ai.request.completed');
});

test('a turn whose answer was lost with that of its end is not taken again', async () => {
  await using engines = await openEngineTest(redis.url);
  const turns = await startProcess(engines, {
    instead: async (commit) => {
      await commit();
      return commit();
    },
  });
  const { answers, last } = await runOf(engines);
  expect(turns).toEqual(['no end, committed', 'already, committed', 'ended, committed']);
  expect(answers).toHaveLength(2);
  expect(last).toBe('ai.request.completed');
});

test('a process that stood still takes the turn by the clock of Redis, so that nothing is over that has just begun', async () => {
  // What is past its deadline does not begin, however late its process hears of its claim.
  const tool_call = { deadline_ms: 7_200_000 };
  await using engines = await openEngineTest(redis.url, { agents: [scriptedAgent({ tool_call })] });
  const begun = Date.now();
  // As if it had slept for an hour since its turn.
  const turns = await startProcess(engines, { clock: (now) => now - 3_600_000 });
  const { log, last } = await runOf(engines);
  expect(turns.filter((turn) => turn.startsWith('ended'))).toEqual(['ended, version', 'ended, version']);
  expect(Math.min(...log.map(({ time }) => Date.parse(time)))).toBeGreaterThanOrEqual(begun - 60_000);
  expect(last).toBe('ai.request.completed');
});

test('for a claim that is over neither is written', async () => {
  await using engines = await openEngineTest(redis.url);
  const stale: string[] = [];
  await startProcess(engines, {
    instead: async (_commit, turn, together, end) => {
      if (end === undefined) throw new Error('it brings no end');
      const [id = '', , ...words] = end.words;
      const over = { ...end, words: [id, 99, ...words] };
      const verdict = await engines.runs.commit(turn, together, over);
      stale.push(`${verdict.ended?.[0]}, ${verdict.kind}`);
      return verdict;
    },
  });
  const request_id = engines.newId();
  await engines.client.start({ request_id, agent: 'scripted', query: TWO_STEPS });
  await eventually(() => stale).toEqual(['stale, version']);
  const stored = await engines.journal.request(request_id);
  expect(stored?.directives.map(({ status }) => status)).toEqual(['running']);
  expect((await engines.runs.head(request_id))?.version).toBe(1);
});

test('a turn that cannot be written leaves its end written, and the run ends as it would', async () => {
  const limits = { max_pending: 1 };
  await using engines = await openEngineTest(redis.url, { agents: [scriptedAgent({ limits })] });
  const turns = await startProcess(engines, {
    instead: async (commit, { requestId }) => {
      await engines.accepted({ request_id: requestId });
      return commit();
    },
  });
  const { log, last } = await runOf(engines);
  expect(turns.slice(0, 2)).toEqual(['no end, committed', 'ended, overflow']);
  expect(last).toBe('ai.request.failed');
  expect(JSON.stringify(log.at(-1))).toContain('queue_overflow');
});

test('no end waits for the turns of a run that are slow to compute', async () => {
  await using engines = await openEngineTest(redis.url);
  const core = scriptedCore();
  let stands = true;
  const slow: EngineCore = {
    ...core,
    advance(...turn) {
      if (stands) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
      stands = false;
      return core.advance(...turn);
    },
  };
  const turns = await startProcess(engines, { core: slow });
  await runOf(engines);
  expect(turns).toEqual(['no end, committed', 'ended, committed', 'no end, committed']);
  await runOf(engines);
  expect(turns.slice(3)).toEqual(['no end, committed', 'ended, committed', 'ended, committed']);
});

test('a turn that fails before it is sent keeps no end from being written', async () => {
  await using engines = await openEngineTest(redis.url);
  const core = scriptedCore();
  let failures = 1;
  const failing: EngineCore = {
    ...core,
    advance(...turn) {
      const after = core.advance(...turn);
      if (after.directives.length === 0 || failures === 0) return after;
      failures -= 1;
      // No JSON: neither its digest nor its envelope can be made.
      return { ...after, directives: after.directives.map((each) => ({ ...each, arguments: { n: 1n } })) };
    },
  };
  const turns = await startProcess(engines, { core: failing });
  const { answers, last } = await runOf(engines);
  expect(failures).toBe(0);
  expect(turns).toEqual(['no end, committed', 'no end, committed', 'ended, committed']);
  expect(answers).toHaveLength(2);
  expect(last).toBe('ai.request.completed');
});

test.each([
  { of: 'a run at hand', holds: true, durability: 'memory', isLimited: false, asked: 1 },
  { of: 'no run at hand', holds: false, durability: 'memory', isLimited: false, asked: 0 },
  {
    of: 'a run at hand while turns are limited over all engines',
    holds: true,
    durability: 'memory',
    isLimited: true,
    asked: 0,
  },
  {
    of: 'a run at hand where each end is confirmed',
    holds: true,
    durability: 'fsync',
    isLimited: false,
    asked: 0,
  },
] as const)('for $of the engine is asked $asked times', async ({ holds, durability, isLimited, asked }) => {
  const local = createLocalRoles();
  await using store = await openStore(redis.url, { local, durability });
  const takeEnd = vi.fn(async () => null);
  local.join({ engine: { wake: async () => {}, busyRuns: () => 0, takeEnd, holds: () => holds } });
  if (isLimited) await store.lanes.setGlobalConcurrency(RUN_LANE, 1);
  const call = await store.accepted();
  const claim = await store.claimed(call);
  expect(await store.journal.finish(claim, 'failed', [failureOf(call)])).toMatchObject({ kind: 'ended' });
  expect(takeEnd).toHaveBeenCalledTimes(asked);
});
