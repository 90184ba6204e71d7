/** What a resume writes at once, while no engine takes a turn and no sweeper looks.
 *  It must never start a sweeper: that would hide a resume that does not enqueue the run's turn. */
import { expect, test } from 'vitest';
import { noticeRef } from '../../../src/directives/sweep/notice.ts';
import { RUN_ENTRY } from '../../../src/queue/run-wake.ts';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/pipeline.ts';
import { script } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';

const RUN = 'r-00000000';
const redis = useRedis();

const isIndexed = ({ index }: EngineTest) => index.has({ requestId: RUN, id: RUN_ENTRY });

/** Its end is forgotten, and its engine has stopped. */
async function ended(engines: EngineTest, query: string, isCancelled: boolean): Promise<void> {
  const engine = await engines.startEngine();
  await engines.client.start({ request_id: RUN, agent: 'scripted', query });
  if (isCancelled) {
    await eventually(async () => (await engines.journal.directive(RUN, 's0.a'))?.status).toBe('accepted');
    await engines.client.cancel(RUN, null);
  }
  await engines.ended(RUN);
  await eventually(async () => (await engines.journal.head(RUN))?.status).toBe('closed');
  await eventually(() => isIndexed(engines)).toBe(false);
  await engine.stop();
}

const cancelled = (engines: EngineTest) => ended(engines, script({ tools: ['a'] }), true);

test('a run that is resumed goes on by the job of its turn, without the sweeper', async () => {
  await using engines = await openEngineTest(redis.url);
  await cancelled(engines);
  await engines.client.resume(RUN);
  await engines.startWorker(echo);
  await engines.startEngine();
  await eventually(async () => (await engines.log(RUN)).at(-1)?.type).toBe('ai.request.completed');
});

test('a run that is resumed is in the sweep index from then on', async () => {
  await using engines = await openEngineTest(redis.url);
  await cancelled(engines);
  await engines.client.resume(RUN);
  expect(await isIndexed(engines)).toBe(true);
});

test('an end that is forgotten only after the resume takes neither the run nor its notice out of the sweep index', async () => {
  await using engines = await openEngineTest(redis.url);
  await cancelled(engines);
  await engines.client.resume(RUN);
  const own = { requestId: RUN, id: RUN_ENTRY };
  const notice = noticeRef(RUN, RUN_ENTRY);
  const other = { requestId: RUN, id: 'ended' };
  await engines.index.announce([notice, other], 60_000);
  for (const entry of [own, notice, other]) engines.index.forget(entry);
  engines.index.flush();
  await eventually(() => engines.index.has(other)).toBe(false);
  expect([await engines.index.has(own), await engines.index.has(notice)]).toEqual([true, true]);
  await engines.startWorker(echo);
  await engines.startEngine();
  await eventually(() => isIndexed(engines)).toBe(false);
});

test('of two resumes before the turn of the first, the second is refused', async () => {
  await using engines = await openEngineTest(redis.url);
  await cancelled(engines);
  await engines.client.resume(RUN);
  expect((await refusal(engines.client.resume(RUN))).code).toBe('not_resumable');
});

test('a run with its final answer is not resumed', async () => {
  await using engines = await openEngineTest(redis.url);
  await ended(engines, script(), false);
  expect((await refusal(engines.client.resume(RUN))).code).toBe('not_resumable');
});
