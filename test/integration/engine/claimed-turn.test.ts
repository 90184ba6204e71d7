/** Turns whose directive is claimed by the script that writes them: an engine and a worker of one process, on a real Redis.
 *  It must not let anybody but that worker execute what the engine has claimed for it. */
import { expect, test } from 'vitest';
import type { RunCommit, RunJournal } from '../../../src/journal/run-journal.ts';
import { inTurn, done } from '../../support/executors.ts';
import { openEngineTest } from '../../support/engine.ts';
import { useRedis } from '../../support/shared.ts';
import { script } from '../../support/scripted-strategy.ts';

const redis = useRedis();

/** As another engine writes the turn after it, which asks for nothing. */
function nextTurn(turn: RunCommit): RunCommit {
  const nothing = { directives: [], signals: [], inboxBytes: 0, inputsConsumed: 0 };
  return { ...turn, ...nothing, version: turn.version + 1, token: 'another' };
}

/** The answer to the first turn that claims is lost, and another engine writes before it is repeated. */
function overtaken(runs: RunJournal, verdicts: string[]): RunJournal {
  return {
    ...runs,
    async commit(turn, together) {
      const verdict = await runs.commit(turn, together);
      if (together?.claim === undefined || verdicts.length > 0) return verdict;
      const another = await runs.commit(nextTurn(turn));
      const repeated = await runs.commit(turn, together);
      verdicts.push(verdict.kind, another.kind, repeated.kind);
      return repeated;
    },
  };
}

test('a call whose turn was overtaken before its answer was repeated is made, once', async () => {
  await using engines = await openEngineTest(redis.url);
  const { execute, ran } = inTurn(done);
  const worker = { ...(await engines.startWorker(execute)), inHand: () => 0 };
  const verdicts: string[] = [];
  await engines.startEngine({ worker, runsOf: (runs) => overtaken(runs, verdicts) });
  await engines.client.start({ request_id: 'overtaken', agent: 'scripted', query: script({ tools: ['a'] }) });
  expect((await engines.ended('overtaken')).at(-1)?.type).toBe('ai.request.completed');
  expect(verdicts).toEqual(['committed', 'committed', 'version']);
  expect(ran).toHaveLength(1);
});
