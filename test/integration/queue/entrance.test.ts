/** What comes in, in steps and in one script, on a real Redis: the same is accepted, announced and enqueued.
 *  It must never need a worker. */
import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { decodeEnvelope } from '../../../src/store/request/envelope.ts';
import { type JobData, jobDataOf, jobId } from '../../../src/queue/job.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { laneScriptsOn } from '../../../src/queue/lane-scripts.ts';
import type { WithAcceptance } from '../../../src/store/request/journal.ts';
import { RUN_ENTRY, RUN_LANE, wakeJob } from '../../../src/queue/run-wake.ts';
import { newTraceparent } from '../../../src/platform/telemetry/traces/trace-context.ts';
import { acceptance, endOf, LANE, toolCall } from '../../support/journal.ts';
import { refusal } from '../../support/pipeline.ts';
import { openStore } from '../../support/store.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { submitterOn } from '../../support/submitter.ts';
import { plainTurn } from '../../support/plain-turn.ts';

const REQUEST_BYTES = 100_000;

const redis = useRedis();
const open = eachTest(() => openStore(redis.url, { requestBytes: REQUEST_BYTES }));

let base = '';
/** What left the share of its tenant. */
let left: string[] = [];
/** Whether a submission was confirmed, and what was enqueued by then. */
let confirmed: { jobs: number }[] = [];

/** As the service makes it; `confirm` looks at what is there. */
function submit(...calls: ToolExec[]) {
  return submitWith(calls, true);
}

function submitWith(calls: ToolExec[], ordered: boolean) {
  const leave = async (ids: readonly string[]): Promise<void> => void left.push(...ids);
  const confirm = async () => async (): Promise<void> =>
    void confirmed.push({ jobs: await open.connection.llen(`${base}wait`).catch(() => -1) });
  const options = { confirm, ordered, leave, requestBytes: REQUEST_BYTES };
  return submitterOn(open.store, options).submit(calls);
}

function batch(count: number, fields: Partial<ToolExec> = {}): ToolExec[] {
  const { request_id } = toolCall();
  return Array.from({ length: count }, (_, number) => toolCall({ request_id, id: `c:${number}`, ...fields }));
}

const idOf = ({ request_id, id }: ToolExec): string => jobId(request_id, id);

const jobOf = async (call: ToolExec): Promise<Record<string, string>> =>
  open.connection.hgetall(base + idOf(call));

/** As whoever reads the job with BullMQ sees them, Bull Board too. */
async function shownOptions(id: string, lane = LANE) {
  const options = { connection: open.connection, prefix: lanePrefix(open.keys.prefix, lane) };
  const queue = new Queue(lane, { ...options, skipVersionCheck: true, skipMetasUpdate: true });
  const job = await queue.getJob(id);
  await queue.close();
  return job?.opts;
}

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
    left = [];
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

  // Issue 14: an error of the script that enqueues with the acceptance was hidden, and left a job in no list.
  test.runIf(way === 'in one script')(
    'is accepted also where Redis refuses its job, logs the error, and leaves the job to the sweeper',
    async () => {
      await open.connection.set(`${base}wait`, 'of another program');
      const [call = toolCall()] = batch(1);
      expect((await submit(call)).directives).toMatchObject([{ status: 'accepted', lane: LANE }]);
      await redis.waitForLine(new RegExp(`the request ${call.request_id} .*WRONGTYPE`));
      expect(await announced()).toEqual([`${call.request_id}/${call.id}`]);
      expect(await jobOf(call)).toEqual({});
    },
  );

  test('is not announced where it only joins another one, which has its job', async () => {
    const singleton = { key: 'k', when_open: 'join' as const };
    const underKey = (): ToolExec => {
      const { request_id: _request, id: _id, ...call } = toolCall({ singleton });
      return call as ToolExec;
    };
    const { request_id, directives } = await submit(underKey());
    const joined = await submit(underKey());
    expect(joined).toMatchObject({ request_id, directives: [{ once: { outcome: 'joined' } }] });
    expect(await announced()).toEqual([`${request_id}/${directives[0]?.id}`]);
    expect(await waiting()).toHaveLength(1);
  });

  test('has a job as BullMQ keeps it, with the facts of its directive, and no body', async () => {
    const [call] = batch(1, { arguments: { text: 'ü"\\ \u2028' }, max_retries: 2, retry_backoff_ms: 50 }) as [
      ToolExec,
    ];
    const { directives } = await submit(call);
    const { data, timestamp, opts: _opts, ...others } = await jobOf(call);
    expect(others).toEqual({ name: 'directive', delay: '0', priority: '0' });
    const backoff = { type: 'fixed', delay: 50, jitter: 0 };
    expect(await shownOptions(idOf(call))).toMatchObject({ attempts: 3, backoff });
    expect(Number(timestamp)).toBeGreaterThan(1_700_000_000_000);
    const { request_id, id } = call;
    const record = await open.journal.directive(request_id, id);
    const envelope = decodeEnvelope((await open.journal.envelope(request_id, id)) ?? '');
    const state = { digest: directives[0]?.digest ?? '', lane: LANE };
    const { deadline_at, ...rest } = JSON.parse(data ?? '') as JobData;
    const directive = { ...envelope.directive, request_id, id };
    expect(rest).toEqual(jobDataOf({ ...envelope, directive }, state));
    expect(deadline_at).toBe(record?.deadlineAt);
  });

  test('has a job without its body where that is large', async () => {
    const [call] = batch(1, { arguments: { text: 'x'.repeat(40_000) } }) as [ToolExec];
    const { directives } = await submit(call);
    const { request_id, id } = call;
    expect(await dataOf(call)).toMatchObject({ request_id, id, digest: directives[0]?.digest });
  });

  test('again has one job, and a lost one comes back without the body of the repeat', async () => {
    const calls = batch(2);
    await submit(...calls);
    const before = await Promise.all(calls.map(jobOf));
    const { directives } = await submit(...calls);
    expect(directives.map(({ status }) => status)).toEqual(['existing', 'existing']);
    expect(left).toEqual(calls.map(({ id }) => id));
    expect([await waiting(), await Promise.all(calls.map(jobOf))]).toEqual([calls.map(idOf), before]);
    const [first] = calls as [ToolExec];
    const { request_id, id } = first;
    await open.lanes.removeJob(LANE, request_id, id);
    await submit(...calls);
    expect(await dataOf(first)).toMatchObject({ request_id, id, digest: directives[0]?.digest });
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

test.each(WAYS)('a repeat %s of what has ended adds no job', async (way) => {
  const { request_id, ids } = await repeatedAfterItsEnd(way);
  expect(await waiting()).toEqual([]);
  // Where a lane goes by BullMQ's own scripts there may be one: the sweeper looks once more.
  const known = ids.map((id) => `${request_id}/${id}`);
  expect(await announced()).toEqual(way === 'in steps' ? known : []);
});

/** The sweeper has removed the job of each, and forgets it while the repeat is under way. */
async function repeatedAfterItsEnd(way: string): Promise<{ request_id: string; ids: string[] }> {
  const { connection, keys, lanes, journal } = open;
  expect(await laneScriptsOn(connection, keys.prefix).check()).toBeNull();
  base = lanes.scriptedBase(LANE) ?? '';
  const calls = batch(2);
  await submit(...calls);
  for (const call of calls) {
    await journal.endUnclaimed(call.request_id, call.id, 'succeeded', [endOf(call)]);
    await lanes.removeJob(LANE, call.request_id, call.id);
  }
  if (way === 'in steps') vi.spyOn(lanes, 'scriptedBase').mockReturnValue(null);
  const accept = journal.accept.bind(journal);
  const acceptAndForget = async (...args: Parameters<typeof accept>) => {
    const verdict = await accept(...args);
    await connection.zrem(keys.sweep, ...calls.map(({ request_id, id }) => `${request_id}/${id}`));
    return verdict;
  };
  vi.spyOn(journal, 'accept').mockImplementation(acceptAndForget as typeof accept);
  const { directives } = await submit(...calls);
  expect(directives.map(({ status }) => status)).toEqual(['existing', 'existing']);
  return { request_id: calls[0]?.request_id ?? '', ids: calls.map(({ id }) => id) };
}

test('a repeat in one script of what has gone to another lane adds no job', async () => {
  expect(await laneScriptsOn(open.connection, open.keys.prefix).check()).toBeNull();
  base = open.lanes.scriptedBase(LANE) ?? '';
  const [moved] = batch(1) as [ToolExec];
  await submit(moved);
  await open.connection.hset(open.keys.request(moved.request_id)[0], `${moved.id}|lane`, 'llm.other');
  await open.lanes.removeJob(LANE, moved.request_id, moved.id);
  await submit(moved);
  expect(await waiting()).toEqual([]);
});

describe('a run in one script', () => {
  /** Looks at the run after 5 s, and at `ids` too. */
  function togetherIn(lane: string, ...ids: string[]): WithAcceptance {
    base = open.lanes.scriptedBase(lane) ?? '';
    const announcements = [RUN_ENTRY, ...ids].map((id) => ({ id, afterMs: 5_000 }));
    return { rowAfterMs: null, announcements, laneBase: base };
  }

  const runOf = (requestId: string) => {
    const run = { requestId, digest: 'd', agent: 'a', spec: '{}', traceparent: newTraceparent() };
    return { run, job: wakeJob(requestId, 0), key: jobId(requestId, wakeJob(requestId, 0).id) };
  };

  function turnOf(requestId: string, version: number, directives: ToolExec[]) {
    const accepted = directives.map((each) => acceptance(each));
    return { ...plainTurn(requestId), version, token: randomUUID(), directives: accepted };
  }

  beforeEach(async () => {
    expect(await laneScriptsOn(open.connection, open.keys.prefix).check()).toBeNull();
  });

  test('starts with its entry and the job of its first turn, and a repeat brings back what was lost', async () => {
    const { run, job, key } = runOf('r:1');
    const together = togetherIn(RUN_LANE);
    for (const kind of ['started', 'existing', 'existing']) {
      expect(await open.runs.start(run, together)).toMatchObject({ kind });
      expect([await waiting(), await announced()]).toEqual([[key], [`r:1/${RUN_ENTRY}`]]);
      const { data, ...others } = await open.connection.hgetall(base + key);
      expect(JSON.parse(data ?? '')).toEqual({ ...job, agent: 'a' });
      expect(await shownOptions(key, RUN_LANE)).toMatchObject({ attempts: 0 });
      expect(others).toMatchObject({ name: 'directive', delay: '0', priority: '0' });
      await open.lanes.removeJob(RUN_LANE, job.request_id, job.id);
    }
    expect(await open.runs.start({ ...run, digest: 'other' }, together)).toMatchObject({ kind: 'conflict' });
    await open.runs.commit(turnOf('r:1', 0, []));
    expect(await open.runs.start(run, together)).toMatchObject({ kind: 'existing', status: 'running' });
    expect(await waiting()).toEqual([]);
  });

  test('takes its turn with the jobs of what it asks for; neither a repeat nor a late turn adds another', async () => {
    const { run } = runOf('r:2');
    await open.runs.start(run);
    const calls = ['c:1', 'c:2'].map((id) => toolCall({ request_id: 'r:2', id })) as [ToolExec, ToolExec];
    const together = togetherIn(LANE, ...calls.map(({ id }) => id));
    const turn = turnOf('r:2', 0, calls);
    expect(await open.runs.commit(turn, together)).toMatchObject({ kind: 'committed', version: 1 });
    expect(await waiting()).toEqual(calls.map(idOf));
    expect(await announced()).toEqual([RUN_ENTRY, 'c:1', 'c:2'].map((id) => `r:2/${id}`));
    expect(await dataOf(calls[0])).toMatchObject({ id: 'c:1', tool: 'test.echo' });
    for (const { request_id, id } of calls) await open.lanes.removeJob(LANE, request_id, id);
    expect(await open.runs.commit(turn, together)).toMatchObject({ kind: 'committed', version: 1 });
    const late = turnOf('r:2', 0, [toolCall({ request_id: 'r:2', id: 'c:3' })]);
    expect(await open.runs.commit(late, together)).toEqual({ kind: 'version' });
    expect([await waiting(), (await announced()).length]).toEqual([[], 3]);
  });

  test('refused, it leaves nothing behind', async () => {
    const { run } = runOf('r:3');
    const large = { ...run, spec: 'x'.repeat(REQUEST_BYTES) };
    expect(await open.runs.start(large, togetherIn(RUN_LANE))).toMatchObject({ kind: 'no_room' });
    await open.runs.start(run);
    const calls = batch(2).map((each) => ({ ...each, request_id: 'r:3' }));
    const refused = { ...turnOf('r:3', 0, calls), maxOpen: 1 };
    expect(await open.runs.commit(refused, togetherIn(LANE, 'c:0'))).toMatchObject({ kind: 'overflow' });
    expect([await waiting(), await announced()]).toEqual([[], []]);
  });
});

describe('what begins later, submitted where nothing keeps the order of commands', () => {
  const YEAR_MS = 365 * 86_400_000;
  const submitInSteps = (...calls: ToolExec[]) => submitWith(calls, false);
  const later = () => open.store.records.later;

  test('waits there alone, and a repeat moves nothing of what has begun', async () => {
    const calls = batch(2, { delay_ms: YEAR_MS });
    await submitInSteps(...calls);
    expect([await later().size(), await announced()]).toEqual([2, []]);
    for (const { request_id, id } of calls) {
      const entry = `${request_id}/${id}|${LANE}`;
      await open.connection.zadd(open.keys.later[0], 1, entry);
    }
    expect((await later().take(10)).entries).toHaveLength(2);
    const { directives } = await submitInSteps(...calls);
    expect(directives.map(({ status }) => status)).toEqual(['existing', 'existing']);
    expect([await later().size(), (await announced()).length]).toEqual([0, 2]);
  });

  test('refused, it is left to the sweeper, which forgets it', async () => {
    const [taken, ...others] = batch(4, { delay_ms: YEAR_MS }) as [ToolExec, ...ToolExec[]];
    await submitInSteps(taken);
    const refused = await refusal(submitInSteps(...others, { ...taken, delay_ms: 5 }));
    expect(refused).toMatchObject({ code: 'id_conflict' });
    expect([await later().size(), (await announced()).length]).toEqual([1, 4]);
  });

  test('cancelled before it is moved, it does not come back', async () => {
    const { request_id: requestId, id } = toolCall();
    const score = await open.index.announce([{ requestId, id }], 5_000);
    await later().drop({ requestId, id }, LANE, 10_000);
    await later().add(requestId, [{ id, lane: LANE, when: `d${YEAR_MS}` }], score);
    expect([await later().size(), await announced()]).toEqual([0, [`${requestId}/${id}`]]);
  });
});
