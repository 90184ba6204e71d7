/** Jobs that are taken with the claims of their directives, and end together with them, on a real Redis; and the same when a command is
 *  sent again, as after a lost connection. It must never make an attempt. */
import { expect, test } from 'vitest';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { prepareScripts, type ScriptReply } from '../../../src/store/scripts.ts';
import { jobId } from '../../../src/queue/job.ts';
import { laneScriptsOn } from '../../../src/queue/lane-scripts.ts';
import { askFor, foundIn, type JobFound } from '../../../src/queue/lane-take.ts';
import { acceptance, endOf, failureOf, LANE, toolCall } from '../../support/journal.ts';
import { laneBase, takenFrom } from '../../support/lane-taken.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

const idOf = ({ request_id, id }: ToolExec): string => jobId(request_id, id);

/** Accepted together with their jobs. */
async function submitted(count: number, fields: Partial<ToolExec> = {}): Promise<ToolExec[]> {
  expect(await laneScriptsOn(open.connection, open.keys.prefix).check()).toBeNull();
  const together = { rowAfterMs: null, announcements: [], laneBase: open.lanes.scriptedBase(LANE) };
  const made: ToolExec[] = [];
  for (let n = 0; n < count; n += 1) {
    const call = toolCall(fields);
    await open.journal.accept(call.request_id, [acceptance(call)], { together });
    made.push(call);
  }
  return made;
}

/** Ends the directive of a taken job together with the job, and asks for the next one; `times`: how often it is sent. */
async function end(call: ToolExec, job: JobFound, { failure = '', times = 1, fence = '1' } = {}) {
  const signal = failure === '' ? endOf(call) : failureOf(call);
  const how = {
    leaseMs: 60_000,
    keyPrefix: open.keys.prefix,
    serial: '',
    owesStart: true,
    sweep: open.keys.sweep,
    confirm: async () => null,
    mayClaim: () => true,
  };
  const ask = askFor({ lane: LANE, lockMs: 30_000, sweep: open.keys.sweep }, how);
  const status = failure === '' ? 'succeeded' : 'failed';
  const given = [
    call.id,
    fence,
    status,
    60_000,
    0,
    1_000_000,
    job.id,
    job.lock,
    failure,
    1,
    ...ask.words(''),
  ];
  const run = prepareScripts(open.connection);
  const keys = [...open.keys.request(call.request_id), laneBase(open)];
  let replies: ScriptReply[] = [];
  for (let sent = 0; sent < times; sent += 1)
    replies = (await run('job-end', keys, [...given, JSON.stringify(signal)])) as unknown as ScriptReply[];
  return foundIn(replies[1] ?? []);
}

async function waitingAndActive(): Promise<[number, number]> {
  const { waiting, active } = await open.lanes.counts(LANE);
  return [waiting, active];
}

test('some are taken at once, each with a lock and a claim of its own; a repeat is the same take', async () => {
  const calls = await submitted(12);
  const { jobs } = await takenFrom(open, { most: 3, times: 3 });
  expect(jobs.map(({ id }) => id)).toEqual(calls.slice(0, 3).map(idOf));
  expect(new Set(jobs.map(({ lock }) => lock)).size).toBe(3);
  for (const { claim } of jobs) expect(claim).toMatchObject({ kind: 'granted', fence: 1, redeliveries: 0 });
  expect(await waitingAndActive()).toEqual([9, 3]);
  for (const { id, lock } of jobs)
    expect(await open.connection.get(`${laneBase(open)}${id}:lock`)).toBe(lock);
});

test('of a few that wait, other workers have theirs', async () => {
  await submitted(3);
  expect((await takenFrom(open, { most: 3 })).jobs).toHaveLength(1);
});

test('the body comes with the claim, and is not in the job that Redis keeps', async () => {
  const [call] = (await submitted(1, { arguments: { text: 'ü"\\ ' } })) as [ToolExec];
  const { jobs } = await takenFrom(open);
  const stored = await open.connection.hget(`${laneBase(open)}${idOf(call)}`, 'data');
  const { envelope, ...facts } = JSON.parse(jobs[0]?.data ?? '') as Record<string, unknown>;
  expect(JSON.parse(stored ?? '')).toEqual(facts);
  expect(envelope).toMatchObject({ directive: { arguments: { text: 'ü"\\ ' } } });
});

test.each([
  ['a large body', { arguments: { text: 'x'.repeat(40_000) } }],
  ['a lane that runs one call at a time', {}],
])('%s comes without its claim: the worker asks for it', async (name, fields) => {
  await submitted(1, fields);
  if (name.startsWith('a lane')) await open.connection.set(open.keys.serial(LANE), '1');
  const { jobs } = await takenFrom(open, { serial: open.keys.serial(LANE) });
  expect(jobs).toMatchObject([{ claim: null }]);
});

test('a job ends with its directive, and the next one comes with its claim; a repeat takes no second one', async () => {
  const [call, next] = (await submitted(3)) as [ToolExec, ToolExec];
  const { jobs } = await takenFrom(open);
  const found = await end(call, jobs[0] as JobFound, { times: 3 });
  expect(found).toMatchObject({ kind: 'jobs', jobs: [{ id: idOf(next), claim: { kind: 'granted' } }] });
  expect(await waitingAndActive()).toEqual([1, 1]);
  expect(await open.journal.directive(call.request_id, call.id)).toMatchObject({ status: 'succeeded' });
  expect(await open.connection.exists(`${laneBase(open)}${idOf(call)}`)).toBe(0);
});

test('a job whose directive ends in an error is kept as failed, and no more than 1,000 of a lane', async () => {
  const [call] = (await submitted(1)) as [ToolExec];
  const { jobs } = await takenFrom(open);
  const failed = `${laneBase(open)}failed`;
  const old = Array.from({ length: 1_003 }, (_, n) => [Date.now() - 1_000 + n / 10, `old${n}`]).flat();
  await open.connection.zadd(failed, ...(old as string[]));
  expect(await end(call, jobs[0] as JobFound, { failure: 'timeout: too slow', times: 2 })).toMatchObject({
    kind: 'done',
  });
  expect(await open.connection.hgetall(`${laneBase(open)}${idOf(call)}`)).toMatchObject({
    failedReason: 'timeout: too slow',
    atm: '1',
  });
  expect(await open.connection.zcard(failed)).toBe(1_000);
  expect(await waitingAndActive()).toEqual([0, 0]);
});

test('an end that is not written leaves the job with its worker', async () => {
  const [call] = (await submitted(2)) as [ToolExec];
  const { jobs } = await takenFrom(open);
  expect(await end(call, jobs[0] as JobFound, { fence: '7' })).toEqual({ kind: 'kept' });
  expect(await waitingAndActive()).toEqual([1, 1]);
});

test('a job whose lock another worker has by now stays with that worker', async () => {
  const [call] = (await submitted(2)) as [ToolExec];
  const { jobs } = await takenFrom(open);
  await open.connection.set(`${laneBase(open)}${idOf(call)}:lock`, 'another');
  expect(await end(call, jobs[0] as JobFound)).toEqual({ kind: 'lost' });
  expect(await waitingAndActive()).toEqual([1, 1]);
});

test('an id whose failed job is kept gets a new job', async () => {
  const [call] = (await submitted(1)) as [ToolExec];
  const { jobs } = await takenFrom(open);
  await end(call, jobs[0] as JobFound, { failure: 'timeout: too slow' });
  await open.connection.del(...open.keys.request(call.request_id));
  const together = { rowAfterMs: null, announcements: [], laneBase: open.lanes.scriptedBase(LANE) };
  await open.journal.accept(call.request_id, [acceptance(call)], { together });
  expect((await takenFrom(open)).jobs).toMatchObject([{ id: idOf(call), claim: { kind: 'granted' } }]);
  expect(await open.connection.zcard(`${laneBase(open)}failed`)).toBe(0);
});
