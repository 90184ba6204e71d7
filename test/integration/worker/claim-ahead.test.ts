/** What a process accepts and executes itself, claimed by the script that accepts it, on a real Redis.
 *  It must see what Redis does, not what the code says it asked for. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import type { Journal } from '../../../src/journal/journal.ts';
import type { LocalLanes, LocalPlace } from '../../../src/queue/local-roles.ts';
import { announcementsOf, createPreparer, type Prepared } from '../../../src/queue/prepare.ts';
import type { JobOutcome } from '../../../src/queue/consume.ts';
import type { AcceptVerdict } from '../../../src/journal/verdicts.ts';
import { createSemaphore } from '../../../src/bounds/semaphore.ts';
import { createRegistry } from '../../../src/executors/registry.ts';
import { newTraceparent } from '../../../src/telemetry/trace-context.ts';
import { attemptDirective } from '../../../src/worker/attempt.ts';
import { createPlacesAhead } from '../../../src/worker/claim-ahead.ts';
import type { AttemptParts } from '../../../src/worker/claimed.ts';
import { createInHand } from '../../../src/worker/in-hand.ts';
import type { Worker } from '../../../src/worker/worker.ts';
import { done, inTurn, testTool, untilResumed } from '../../support/executors.ts';
import { LANE, toolCall } from '../../support/journal.ts';
import { openPipeline, type TestWorkerOptions } from '../../support/pipeline.ts';
import { watchCommands } from '../../support/sent-commands.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { entranceOn, type SubmitterOptions, submitterOn } from '../../support/submitter.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const submitterOf = (local: LocalLanes, way: SubmitterOptions = {}) => submitterOn(open.store, local, way);

/** Every command of a script that writes the state of a request, from now on. */
async function watched() {
  const writes: string[] = [];
  const end = await watchCommands(redis.url, (line) => {
    if (/^\S+ \[\d+ lua\] "hset" /i.test(line)) writes.push(line);
  });
  const names = (line: string, field: string): boolean => line.includes(` "${field}" `);
  return {
    /** Whether acceptance and claim of the directive were one write. */
    isOne: ({ id }: ToolExec): boolean =>
      writes.some((line) => names(line, `${id}|digest`) && names(line, `${id}|first`)),
    wasClaimed: ({ id }: ToolExec): boolean =>
      writes.some((line) => names(line, `${id}|first`) || names(line, `${id}|fence`)),
    [Symbol.asyncDispose]: async () => end(),
  };
}

async function signalsOf({ request_id }: ToolExec) {
  const { signals } = await open.journal.log.read(request_id, 0, { limit: 100, bytes: 1_000_000 });
  return signals;
}

test('is one write, says that it started, and needs no job', async () => {
  await using writes = await watched();
  const { execute, ran } = inTurn(done);
  const worker = await open.startWorker(execute);
  const call = toolCall({ effect: 'once' });
  await submitterOf(worker).submit([call]);
  expect((await open.resultOf(call))?.data).toMatchObject({
    result: { ok: true },
    metadata: { attempts: 1 },
  });
  await expect.poll(() => writes.isOne(call)).toBe(true);
  const signals = await signalsOf(call);
  expect(signals.map(({ type, sequence }) => [type, sequence])).toEqual([
    ['ai.tool.started', 1],
    ['ai.tool.result', 2],
  ]);
  expect(ran).toEqual([call.id]);
  expect(await open.jobs()).toBe(0);
});

const PLAIN: [string, Partial<ToolExec>, SubmitterOptions, TestWorkerOptions][] = [
  ['its lane is paused or limited', {}, { isFree: async () => false }, {}],
  ['it has to be confirmed first', {}, { confirm: async () => async () => {} }, {}],
  ['it is to begin by an instant', { start_by_ms: 60_000 }, {}, {}],
  ['its body is large', { arguments: { text: 'x'.repeat(40_000) } }, {}, {}],
  ['a limit over all workers decides', {}, {}, { serial: true }],
];

test.each(PLAIN)('is claimed after its acceptance where %s', async (_why, fields, way, options) => {
  await using writes = await watched();
  const { execute, ran } = inTurn(done);
  const worker = await open.startWorker(execute, options);
  const call = toolCall({ effect: 'once', ...fields });
  await submitterOf(worker, way).submit([call]);
  expect((await open.resultOf(call))?.data).toMatchObject({ result: { ok: true } });
  await expect.poll(() => writes.wasClaimed(call)).toBe(true);
  expect(writes.isOne(call)).toBe(false);
  expect(ran).toEqual([call.id]);
});

/** While its consumer looks for a job for the first time, that has a slot: a worker of one slot would claim nothing ahead. */
async function hasRoom(worker: Pick<Worker, 'canTake'>): Promise<void> {
  await expect.poll(() => worker.canTake(LANE)).toBe(true);
}

test('that is refused gives its slot back', async () => {
  const worker = await open.startWorker(async () => done, { concurrency: 1 });
  const submitter = submitterOf(worker);
  const call = toolCall({ effect: 'read' });
  await submitter.submit([call]);
  await open.resultOf(call);
  await hasRoom(worker);
  await expect(submitter.submit([{ ...call, arguments: { other: true } }])).rejects.toThrow(/id/);
  await hasRoom(worker);
});

test('the last slot of a lane is for it, and what comes then waits in the lane', async () => {
  const { execute, resume, started } = untilResumed();
  const worker = await open.startWorker(execute, { concurrency: 1 });
  const submitter = submitterOf(worker);
  const [first, second] = [toolCall({ effect: 'read' }), toolCall({ effect: 'read' })];
  await hasRoom(worker);
  await submitter.submit([first]);
  await started;
  expect(await open.jobs()).toBe(0);
  await submitter.submit([second]);
  expect(await open.jobs()).toBe(1);
  resume();
  for (const call of [first, second])
    expect((await open.resultOf(call))?.data).toMatchObject({ result: { ok: true } });
});

test('whose acceptance is repeated after a lost answer is the same claim', async () => {
  const { execute, ran } = inTurn(done);
  const worker = await open.startWorker(execute, { concurrency: 1, leaseMs: 60_000 });
  await hasRoom(worker);
  const accept: Journal['accept'] = async (...given) => {
    await open.journal.accept(...given);
    return open.journal.accept(...given);
  };
  const call = toolCall({ effect: 'once' });
  await submitterOf(worker, { accept }).submit([call]);
  const ended = await open.resultOf(call);
  expect(ended?.data).toMatchObject({ result: { ok: true }, metadata: { attempts: 1 } });
  expect(ended?.data).not.toMatchObject({ metadata: { redeliveries: expect.any(Number) } });
  expect(ran).toEqual([call.id]);
  expect((await signalsOf(call)).map(({ type }) => type)).toEqual(['ai.tool.started', 'ai.tool.result']);
});

test('whose acceptance got no answer is executed if it was accepted, and gives its slot back if not', async () => {
  const { execute, ran } = inTurn(done);
  const worker = await open.startWorker(execute, { concurrency: 1, leaseMs: 60_000 });
  await hasRoom(worker);
  const fault = new Error('Redis did not answer');
  const lost = async (...given: Parameters<Journal['accept']>): Promise<never> => {
    await open.journal.accept(...given);
    throw fault;
  };
  const call = toolCall({ effect: 'once' });
  await expect(submitterOf(worker, { accept: lost }).submit([call])).rejects.toThrow(fault.message);
  expect((await open.resultOf(call))?.data).toMatchObject({
    result: { ok: true },
    metadata: { attempts: 1 },
  });
  expect(ran).toEqual([call.id]);
  await hasRoom(worker);
  const never = async (): Promise<never> => Promise.reject(fault);
  await expect(submitterOf(worker, { accept: never }).submit([toolCall()])).rejects.toThrow(fault.message);
  await hasRoom(worker);
});

test('whose process stands still until the lease is old is asked for again, and begins once', async () => {
  const { execute, ran } = inTurn(done);
  const leaseMs = 1_500;
  const worker = await open.startWorker(execute, { leaseMs });
  const accept: Journal['accept'] = async (...given) => {
    const verdict = await open.journal.accept(...given);
    await pause(leaseMs / 2);
    return verdict;
  };
  const call = toolCall({ effect: 'once' });
  await submitterOf(worker, { accept }).submit([call]);
  expect((await open.resultOf(call))?.data).toMatchObject({
    result: { ok: true },
    metadata: { attempts: 1 },
  });
  expect(ran).toEqual([call.id]);
});

test('in a lane that another worker has made serial begins alone', async () => {
  const two = [untilResumed(), untilResumed()] as const;
  const ran: string[] = [];
  const worker = await open.startWorker(async (directive, context) =>
    (ran.push(directive.id) === 1 ? two[0] : two[1]).execute(directive, context),
  );
  await open.serial.declare(LANE);
  const submitter = submitterOf(worker);
  const calls = [toolCall({ effect: 'read' }), toolCall({ effect: 'read' })];
  for (const call of calls) await submitter.submit([call]);
  await two[0].started;
  // The other one has asked for the place and was refused: its job waits.
  await expect.poll(async () => open.jobs()).toBe(1);
  expect(ran).toHaveLength(1);
  two[0].resume();
  two[1].resume();
  for (const call of calls) expect((await open.resultOf(call))?.data).toMatchObject({ result: { ok: true } });
});

test('whose process dies is looked at when its lease ends', async () => {
  const leaseMs = 400;
  const { execute, ran } = inTurn(done);
  const worker = await open.startWorker(execute, { leaseMs });
  const call = toolCall({ effect: 'read' });
  const begin = vi.fn();
  let place: LocalPlace | null = null;
  const dying: LocalLanes = {
    canTake: () => true,
    take: () => true,
    reserve: (lane, job) => {
      place = worker.reserve(lane, job);
      return place && { ...place, begin };
    },
  };
  await submitterOf(dying).submit([call]);
  expect(begin).toHaveBeenCalledWith({ at: expect.any(Number), deadlineMs: expect.any(Number) });
  const score = Number(await open.connection.zscore(open.keys.sweep, `${call.request_id}/${call.id}`));
  const [acceptedAt] = begin.mock.calls.map(([{ at }]) => at as number);
  expect(score - (acceptedAt ?? 0)).toBe(leaseMs);
  await open.sweeper().start();
  const ended = await open.client.result(call.request_id, call.id, { timeoutMs: 20_000 });
  expect(ended?.data).toMatchObject({ result: { ok: true }, metadata: { redeliveries: 1 } });
  expect(ran).toEqual([call.id]);
  (place as LocalPlace | null)?.release();
});

/** One place of a worker of the test's own; what it has made of each is in `outcomes`. */
function placesOf(attempt: AttemptParts) {
  const slot = createSemaphore(1);
  const inHand = createInHand();
  const outcomes: JobOutcome[] = [];
  const reserve = createPlacesAhead({
    attempt,
    slots: new Map([[LANE, slot]]),
    canTake: slot.hasRoom,
    inHand,
    async make(job, lane, held) {
      outcomes.push(await attemptDirective(attempt, job, lane, held));
      slot.release();
    },
    onError: (error) => expect.unreachable(error.message),
  });
  return { slot, inHand, outcomes, local: { canTake: slot.hasRoom, take: () => false, reserve } };
}

test('whose acceptance is repeated while its worker stops gives the claim back, so that a once call is still made', async () => {
  const stopping = open.attemptParts(async () => expect.unreachable('it is stopped'), { leaseMs: 60_000 });
  const { local, inHand, slot, outcomes } = placesOf(stopping);
  const accept: Journal['accept'] = async (...given) => {
    await open.journal.accept(...given);
    stopping.running.stopAll('shutdown');
    return open.journal.accept(...given);
  };
  const call = toolCall({ effect: 'once' });
  await submitterOf(local, { accept }).submit([call]);
  await inHand.none();
  expect(slot.hasRoom()).toBe(true);
  expect(outcomes).toMatchObject([{ kind: 'later' }]);
  expect(await open.recordOf(call)).toMatchObject({ status: 'waiting', fence: 1, released: 1 });
});

test('whose answer was lost, and then overtaken by what another process wrote, is executed', async () => {
  const { execute, ran } = inTurn(done);
  const { local, inHand, slot } = placesOf(open.attemptParts(execute, { leaseMs: 60_000 }));
  const call = toolCall({ effect: 'once' });
  const [prepared] = await createPreparer(open.store.catalog, () => null).prepare([call], newTraceparent());
  const { acceptance, job } = prepared as Prepared;
  const refused = await entranceOn(open.store, local).enter<AcceptVerdict | null>({
    requestId: call.request_id,
    announcements: announcementsOf([prepared as Prepared]),
    async accept(together) {
      await open.journal.accept(call.request_id, [acceptance], { together });
      return null;
    },
    jobsOf: () => null,
    only: { lane: LANE, data: job },
    claimed: () => null,
    onlyLane: LANE,
    mayBeThere: () => true,
  });
  expect(refused).toBeNull();
  await inHand.none();
  expect(slot.hasRoom()).toBe(true);
  expect(ran).toEqual([call.id]);
  expect((await open.resultOf(call))?.data).toMatchObject({ result: { ok: true } });
});

test('that was there before is attempted as it was accepted then, in the trace of then', async () => {
  const traces: string[] = [];
  const worker = await open.startWorker(async (_directive, { traceparent }) => {
    traces.push(traceparent);
    return done;
  });
  const [first, second] = [newTraceparent(), newTraceparent()];
  const nobody: LocalLanes = { canTake: () => true, take: () => true };
  const call = toolCall({ effect: 'once' });
  await submitterOf(nobody).submit([call], { traceparent: first });
  await submitterOf(worker).submit([call], { traceparent: second });
  expect((await open.resultOf(call))?.data).toMatchObject({ result: { ok: true } });
  expect(traces.map((trace) => trace.split('-')[1])).toEqual([first.split('-')[1]]);
});

test('that another worker has begun is left to it', async () => {
  const one = untilResumed();
  const worker = await open.startWorker(one.execute);
  const call = toolCall({ effect: 'once' });
  await submitterOf(worker).submit([call]);
  await one.started;
  const other = inTurn(done);
  const { local, inHand, slot } = placesOf(open.attemptParts(other.execute));
  await submitterOf(local).submit([call]);
  await inHand.none();
  expect([slot.hasRoom(), other.ran]).toEqual([true, []]);
  one.resume();
  expect((await open.resultOf(call))?.data).toMatchObject({ result: { ok: true } });
});

test('whose start cannot be written takes no slot', () => {
  const attempt = open.attemptParts();
  const fault = new Error('its start cannot be written');
  const failing = { ...testTool(async () => done), started: () => expect.unreachable(fault.message) };
  const { local, slot, inHand } = placesOf({ ...attempt, registry: createRegistry([failing]) });
  const { request_id, id, ...rest } = toolCall();
  const directive = { ...rest, request_id, id } as ToolExec;
  const envelope = { directive, lane: LANE, traceparent: newTraceparent() };
  expect(() => local.reserve(LANE, { request_id, id, digest: 'd', envelope })).toThrow(fault.message);
  expect([slot.hasRoom(), inHand.total()]).toEqual([true, 0]);
});
