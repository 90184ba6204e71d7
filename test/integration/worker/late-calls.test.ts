/** What becomes of a directive between the claim that came with its job and its call: on a real Redis, with real workers.
 *  It must see what readers of the log see. */
import { expect, test } from 'vitest';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult } from '../../../src/contract/result.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import type { SignalOrigin } from '../../../src/store/log/signal-draft.ts';
import { terminalSignal } from '../../../src/store/log/terminal-signal.ts';
import { attemptDirective } from '../../../src/worker/attempt/attempt.ts';
import { type Execute, gate, done, inTurn, untilResumed } from '../../support/executors.ts';
import { eventually } from '../../support/eventually.ts';
import { LANE } from '../../support/journal.ts';
import { setLeaseEnd } from '../../support/lease.ts';
import { takenJob } from '../../support/lane-taken.ts';
import { call, type Call, calls, errorOf, openPipeline } from '../../support/pipeline.ts';
import { submitScripted } from '../../support/submitter.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const submit = async (directives: readonly Call[]): Promise<ToolExec[]> => submitScripted(open, directives);

async function submitted(fields: Partial<Call> = {}): Promise<ToolExec> {
  const [made] = await submit([call(fields)]);
  return made as ToolExec;
}

const stateOf = ({ request_id }: ToolExec): string => open.keys.request(request_id)[0];

function origin({ request_id: requestId, id: causationId }: ToolExec): SignalOrigin {
  return { requestId, causationId, traceparent: TRACEPARENT, attempt: 1 };
}

async function endIt(made: ToolExec): Promise<void> {
  const end = terminalSignal(made, errorResult(errorEnvelope('internal_error', 'it ended')), origin(made));
  await open.journal.endUnclaimed(made.request_id, made.id, 'failed', [end]);
}

test('a follower hears the start before the call ends', async () => {
  const { execute, resume, started } = untilResumed();
  await open.startWorker(execute);
  const made = await submitted();
  const types: string[] = [];
  const following = (async () => {
    for await (const { type } of open.client.signals(made.request_id)) types.push(type);
  })();
  await started;
  await eventually(() => types).toEqual(['ai.tool.started']);
  resume();
  await following;
  expect(types).toEqual(['ai.tool.started', 'ai.tool.result']);
});

test('what a busy worker gives back begins once, with one start', async () => {
  const passed = gate();
  const first: Execute = async () => {
    await passed.passed;
    return done;
  };
  await open.startWorker(first, { concurrency: 1 });
  await submitted();
  const made = await submit(calls(3, { effect: 'once' }));
  passed.open();
  for (const each of made) expect((await open.resultOf(each))?.data).toMatchObject({ result: { ok: true } });
  const log = await open.log(made[0]?.request_id ?? '');
  expect(log.filter(({ type }) => type === 'ai.tool.started')).toHaveLength(3);
});

/** An attempt that begins after `meanwhile`, with the claim that came with its job. */
async function attemptedAfter(made: ToolExec, meanwhile: () => Promise<unknown>) {
  const [job, held] = await takenJob(open);
  expect(job.id).toBe(made.id);
  await meanwhile();
  const { execute, ran } = inTurn(done);
  const outcome = await attemptDirective(open.attemptParts(execute), job, LANE, held);
  return { outcome, ran };
}

test('what is cancelled between its claim and a call that comes late does not begin, and was no attempt', async () => {
  const made = await submitted();
  const { outcome, ran } = await attemptedAfter(made, async () => {
    await open.client.cancel(made.request_id, made.id);
  });
  expect(outcome).toMatchObject({ kind: 'done', errorType: 'cancelled' });
  expect(ran).toEqual([]);
  expect(errorOf(await open.resultOf(made)).details).not.toHaveProperty('outcome');
  expect(await open.typesOf(made)).toEqual(['ai.tool.result']);
});

test.each([
  ['has ended', async (made: ToolExec) => endIt(made)],
  ['has lost its lease', async (made: ToolExec) => setLeaseEnd(open.connection, stateOf(made), made.id, 1)],
])('what %s between its claim and a call that comes late does not begin', async (_, become) => {
  const made = await submitted();
  const { outcome, ran } = await attemptedAfter(made, async () => {
    await become(made);
  });
  expect(outcome).toEqual({ kind: 'done' });
  expect(ran).toEqual([]);
});

test('what comes late and has not changed begins, with one start', async () => {
  const made = await submitted();
  const { ran } = await attemptedAfter(made, async () => {});
  expect(ran).toEqual([made.id]);
  expect(await open.typesOf(made)).toEqual(['ai.tool.started', 'ai.tool.result']);
});
