/** What comes in, in steps and in one script, on a real Redis: the same is accepted, announced and enqueued.
 *  It must never need a worker. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import { createEntrance } from '../../../src/queue/entrance.ts';
import { jobId } from '../../../src/queue/job.ts';
import { laneScriptsOn } from '../../../src/queue/lane-scripts.ts';
import { NO_LOCAL_LANES } from '../../../src/queue/local-roles.ts';
import { createPreparer } from '../../../src/queue/prepare.ts';
import { createSubmitter } from '../../../src/queue/submit.ts';
import { NO_REPORTS } from '../../../src/telemetry/reports.ts';
import { endOf, LANE, toolCall } from '../../support/journal.ts';
import { refusal } from '../../support/pipeline.ts';
import { openStore } from '../../support/store.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const REQUEST_BYTES = 100_000;

const redis = useRedis();
const open = eachTest(() => openStore(redis.url, { requestBytes: REQUEST_BYTES }));

let base = '';
/** Whether a submission was confirmed, and what was enqueued by then. */
let confirmed: { jobs: number }[] = [];

/** As the service makes it; `confirm` looks at what is there. */
function submit(...calls: ToolExec[]) {
  const { store, journal, index, lanes } = open;
  const confirm = async () => async (): Promise<void> =>
    void confirmed.push({ jobs: await open.connection.llen(`${base}wait`).catch(() => -1) });
  const submitter = createSubmitter({
    journal,
    entrance: createEntrance({ index, lanes, local: NO_LOCAL_LANES, confirm, ordered: true }),
    preparer: createPreparer(store.catalog, () => null),
    capacity: { reserve: async () => {}, requireMemory: async () => {} },
    argumentsBytes: 1_000_000,
    requestBytes: REQUEST_BYTES,
    reports: NO_REPORTS,
  });
  return submitter.submit(calls);
}

function batch(count: number, fields: Partial<ToolExec> = {}): ToolExec[] {
  const { request_id } = toolCall();
  return Array.from({ length: count }, (_, number) => toolCall({ request_id, id: `c:${number}`, ...fields }));
}

const idOf = ({ request_id, id }: ToolExec): string => jobId(request_id, id);

const jobOf = async (call: ToolExec): Promise<Record<string, string>> =>
  open.connection.hgetall(base + idOf(call));

const dataOf = async (call: ToolExec): Promise<unknown> => JSON.parse((await jobOf(call))['data'] ?? 'null');

/** Of the lane, the next one first. */
const waiting = async (): Promise<string[]> =>
  (await open.connection.lrange(`${base}wait`, '0', '-1')).toReversed();

const announced = (): Promise<string[]> => open.connection.zrange(open.keys.sweep, '0', '-1');

const WAYS = ['in steps', 'in one script'];

describe.each(WAYS)('what is submitted %s', (way) => {
  beforeEach(async () => {
    const { connection, keys, lanes } = open;
    expect(await laneScriptsOn(connection, keys.prefix).check()).toBeNull();
    base = lanes.scriptedBase(LANE) ?? '';
    confirmed = [];
    if (way === 'in steps') vi.spyOn(lanes, 'scriptedBase').mockReturnValue(null);
    else for (const name of ['enqueue', 'enqueueAll'] as const) vi.spyOn(lanes, name).mockRejectedValue(name);
  });

  test('is announced, has its jobs in order, and is confirmed once they are there', async () => {
    const calls = batch(3);
    const lost = toolCall({ request_id: calls[0]?.request_id ?? '', id: 'x', tool_name: 'nowhere.tool' });
    const { directives } = await submit(...calls, lost);
    expect(directives.map(({ status, lane }) => [status, lane])).toEqual([
      ...calls.map(() => ['accepted', LANE]),
      ['accepted', null],
    ]);
    expect(await waiting()).toEqual(calls.map(idOf));
    expect(await announced()).toEqual(calls.map(({ request_id, id }) => `${request_id}/${id}`));
    expect(await open.connection.exists(`${base}marker`)).toBe(1);
    expect(confirmed).toEqual([{ jobs: 3 }]);
  });

  test('has a job as BullMQ keeps it, with its body', async () => {
    const [call] = batch(1, { arguments: { text: 'ü"\\ \u2028' } }) as [ToolExec];
    const { directives } = await submit(call);
    const { data, opts, timestamp, ...others } = await jobOf(call);
    expect(others).toEqual({ name: 'directive', delay: '0', priority: '0' });
    expect(JSON.parse(opts ?? '')).toEqual({ attempts: 0, jobId: idOf(call) });
    expect(Number(timestamp)).toBeGreaterThan(1_700_000_000_000);
    const { request_id, id } = call;
    const envelope = JSON.parse((await open.journal.envelope(request_id, id)) ?? '') as object;
    expect(JSON.parse(data ?? '')).toEqual({ request_id, id, digest: directives[0]?.digest, envelope });
  });

  test('has a job without its body where that is large', async () => {
    const [call] = batch(1, { arguments: { text: 'x'.repeat(40_000) } }) as [ToolExec];
    const { directives } = await submit(call);
    const { request_id, id } = call;
    expect(await dataOf(call)).toEqual({ request_id, id, digest: directives[0]?.digest });
  });

  test('again has one job, and a lost one comes back without the body of the repeat', async () => {
    const calls = batch(2);
    await submit(...calls);
    const before = await Promise.all(calls.map(jobOf));
    const { directives } = await submit(...calls);
    expect(directives.map(({ status }) => status)).toEqual(['existing', 'existing']);
    expect([await waiting(), await Promise.all(calls.map(jobOf))]).toEqual([calls.map(idOf), before]);
    const [first] = calls as [ToolExec];
    const { request_id, id } = first;
    await open.lanes.removeJob(LANE, request_id, id);
    await submit(...calls);
    expect(await dataOf(first)).toEqual({ request_id, id, digest: directives[0]?.digest });
  });

  test.each([
    ['its id is taken', 'id_conflict', (taken: ToolExec) => [toolCall({ ...taken, arguments: { x: 1 } })]],
    ['its request is full', 'request_full', () => batch(20)],
  ])('and refused, since %s, leaves no job', async (_why, code, refused) => {
    const [taken] = batch(1) as [ToolExec];
    await submit(taken);
    // What is announced in steps and then refused, the sweeper forgets.
    const left = async () => [
      await waiting(),
      await jobOf(taken),
      way === 'in steps' ? [] : await announced(),
    ];
    const before = await left();
    expect(await refusal(submit(...refused(taken)))).toMatchObject({ code });
    expect(await left()).toEqual(before);
    expect(confirmed).toHaveLength(1);
  });

  test('into a paused lane wakes nobody', async () => {
    await open.connection.hset(`${base}meta`, 'paused', 1);
    await submit(...batch(2));
    expect([(await waiting()).length, await open.connection.exists(`${base}marker`)]).toEqual([2, 0]);
  });

  test('into a lane that is damaged is accepted, and found by the sweeper', async () => {
    const [call] = batch(1) as [ToolExec];
    await open.connection.set(`${base}wait`, 'no list');
    expect((await submit(call)).directives).toMatchObject([{ status: 'accepted' }]);
    expect(await open.journal.directive(call.request_id, call.id)).toMatchObject({ status: 'accepted' });
    expect(await announced()).toHaveLength(1);
  });
});

test('a repeat in one script of what has ended, or has gone to another lane, adds no job', async () => {
  expect(await laneScriptsOn(open.connection, open.keys.prefix).check()).toBeNull();
  base = open.lanes.scriptedBase(LANE) ?? '';
  const [ended, moved] = batch(2) as [ToolExec, ToolExec];
  await submit(ended, moved);
  await open.journal.endUnclaimed(ended.request_id, ended.id, 'succeeded', [endOf(ended)]);
  await open.connection.hset(open.keys.request(moved.request_id)[0], `${moved.id}|lane`, 'llm.other');
  for (const { request_id, id } of [ended, moved]) await open.lanes.removeJob(LANE, request_id, id);
  const { directives } = await submit(ended, moved);
  expect(directives.map(({ status }) => status)).toEqual(['existing', 'existing']);
  expect(await waiting()).toEqual([]);
});
