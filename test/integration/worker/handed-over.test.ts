/** What is handed over to a worker that waits: accepted, claimed and taken by one script, on a real Redis.
 *  It must see what Redis and BullMQ's own tools see, not what the code says it asked for. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { prepareScripts } from '../../../src/store/scripts.ts';
import { jobId } from '../../../src/queue/job.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { askFor } from '../../../src/queue/lane-take.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { done, type Execute, fails, inTurn, untilResumed } from '../../support/executors.ts';
import { eventually } from '../../support/eventually.ts';
import { jobOf, LANE } from '../../support/journal.ts';
import { call, type Call, calls, openPipeline, stillHeart } from '../../support/pipeline.ts';
import { watchCommands } from '../../support/sent-commands.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { submitScripted } from '../../support/submitter.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const read = (fields: Partial<Call> = {}): Call => call({ effect: 'read', ...fields });
const base = (): string => `${lanePrefix(open.keys.prefix, LANE)}:${LANE}:`;
const client = (): Redis => open.connection as Redis;
const offers = async (): Promise<number> => client().hlen(`${base()}offers`);

const submit = async (directives: readonly Call[]): Promise<unknown> => submitScripted(open, directives);

/** A worker that has said which of its slots are free. */
async function idleWorker(
  execute: Parameters<typeof open.startWorker>[0],
  options: Parameters<typeof open.startWorker>[1] = {},
) {
  const worker = await open.startWorker(execute, { isHanded: true, ...options });
  await eventually(async () => (await offers()) > 0).toBe(true);
  return worker;
}

/** Commands of scripts on the lane's own keys, from now on. */
async function watched() {
  const seen: string[] = [];
  const lane = base();
  const end = await watchCommands(redis.url, (line) => {
    const [, command = '', part = ''] = /lua\] "(\w+)" "\S+:([a-z]+)"/.exec(line) ?? [];
    if (line.includes(`"${lane}`)) seen.push(`${command.toLowerCase()} ${part}`);
  });
  onTestFinished(end);
  return seen;
}

/** Somebody who listens and does nothing, and offers `slots` of the lane. */
async function deafWorker(slots: number, { leaseMs = 400, owes = 1, at = Date.now() } = {}) {
  const process = 'deaf';
  const listening = connectRedis(redis.url, 'subscriber') as Redis;
  onTestFinished(async () => closeRedis(listening));
  const heard: string[] = [];
  listening.on('message', (_channel, message) => heard.push(message));
  await listening.subscribe(open.keys.handed(process));
  const fields = Array.from({ length: slots }, (_, slot) => [
    `${process} ${slot}`,
    `${leaseMs} 300 ${owes} ${at}`,
  ]);
  await client().hset(`${base()}offers`, Object.fromEntries(fields) as Record<string, string>);
  return heard;
}

test('is executed without a job that waits, and leaves nothing but the offer of its slot', async () => {
  const { execute, ran } = inTurn(done);
  await idleWorker(execute);
  const seen = await watched();
  const first = read();
  await submit([first]);
  expect((await open.resultOf(first))?.data).toMatchObject({
    result: { ok: true },
    metadata: { attempts: 1 },
  });
  expect(await open.typesOf(first)).toEqual(['ai.tool.started', 'ai.tool.result']);
  expect(ran).toEqual([first.id]);
  await eventually(async () => seen.includes('hset offers')).toBe(true);
  expect(seen.filter((each) => /^[lr]push wait|marker/.test(each))).toEqual([]);
  expect(seen).toContain('lpush active');
  await eventually(async () => open.jobs()).toBe(0);
});

test('is seen by BullMQ as any other job while it runs', async () => {
  const { execute, resume, started } = untilResumed();
  await idleWorker(execute);
  const only = read();
  await submit([only]);
  await started;
  expect(await open.lanes.counts(LANE)).toMatchObject({ waiting: 0, active: 1, delayed: 0 });
  resume();
  await open.resultOf(only);
  await eventually(async () => (await open.lanes.counts(LANE)).active === 0).toBe(true);
});

test('keeps the lock of its job while it runs, so that nobody takes it as stalled', async () => {
  const { execute, resume, started } = untilResumed();
  await idleWorker(execute, { lockMs: 1_200 });
  const only = read();
  await submit([only]);
  await started;
  const job = `${base()}${jobId(only.request_id, only.id)}`;
  const lock = await client().get(`${job}:lock`);
  expect(lock).toMatch(/\./);
  // Longer than the lock, and several checks for stalled jobs.
  await pause(1_800);
  expect(await client().get(`${job}:lock`)).toBe(lock);
  expect(await client().hget(job, 'stc')).toBeNull();
  resume();
  expect((await open.resultOf(only))?.data).toMatchObject({ result: { ok: true } });
});

test('goes on with the next job of its lane, and is retried, as any other', async () => {
  const { execute, ran } = inTurn(
    {
      result: {
        ok: false,
        error: { type: 'provider_error', message: 'gone', details: {}, retryable: true },
        effects: [],
      },
    },
    done,
  );
  await idleWorker(execute, { concurrency: 1 });
  const many = calls(5, { effect: 'read', max_retries: 2, retry_backoff_ms: 200 });
  await submit(many);
  for (const each of many) expect((await open.resultOf(each))?.data).toMatchObject({ result: { ok: true } });
  expect(ran.length).toBe(6);
  await eventually(async () => open.jobs()).toBe(0);
});

test('of a submission of many each goes to an offered slot, and the rest wait', async () => {
  const { execute, resume } = untilResumed();
  await idleWorker(execute, { concurrency: 3 });
  await eventually(async () => (await offers()) === 3).toBe(true);
  const many = calls(5, { effect: 'read' });
  await submit(many);
  // What waits may be taken before it is heard which slots are used: what is one too many goes back at once.
  await eventually(async () => open.lanes.counts(LANE)).toMatchObject({ waiting: 2, active: 3 });
  expect(await offers()).toBe(0);
  resume();
  for (const each of many) expect((await open.resultOf(each))?.data).toMatchObject({ result: { ok: true } });
  await eventually(async () => (await offers()) === 3).toBe(true);
});

test.each([1, 2, 4])(
  '%i slots are never used twice, however much is handed over and taken at once',
  async (concurrency) => {
    let [now, most] = [0, 0];
    const execute = async () => {
      most = Math.max(most, (now += 1));
      await pause(3);
      now -= 1;
      return done;
    };
    await idleWorker(execute, { concurrency });
    const waves = Array.from({ length: 30 }, async (_, wave) => {
      await pause(wave * 5);
      const some = calls(1 + (wave % 4), { effect: 'read' });
      await submit(some);
      await Promise.all(some.map(open.resultOf));
    });
    await Promise.all(waves);
    expect(most).toBeLessThanOrEqual(concurrency);
    // None is lost either: all of them are offered again.
    await eventually(async () => (await offers()) === concurrency).toBe(true);
  },
);

test.each([1, 2, 5])(
  'with %i slots all ends, whatever comes by itself, late, or large',
  async (concurrency) => {
    const failed = new Set<string>();
    const execute: Execute = async ({ request_id, id }) => {
      const name = `${request_id}/${id}`;
      if (id.endsWith('0') || failed.has(name)) return done;
      failed.add(name);
      return fails('provider_error');
    };
    await idleWorker(execute, { concurrency });
    const more = { effect: 'read', max_retries: 3, retry_backoff_ms: 120 } as const;
    const large = { arguments: { text: 'x'.repeat(40_000) } };
    const waves = Array.from({ length: 40 }, async (_, wave) => {
      await pause(wave * 12);
      const some = calls(1 + (wave % 3), { ...more, ...(wave % 4 === 3 ? large : {}) });
      await submit(some);
      for (const each of some)
        expect((await open.resultOf(each))?.data).toMatchObject({ result: { ok: true } });
    });
    await Promise.all(waves);
    await eventually(async () => open.jobs()).toBe(0);
  },
);

const WAITS: [string, () => Promise<unknown>, Partial<Call>][] = [
  ['the lane is paused', () => client().hset(`${base()}meta`, 'paused', 1), {}],
  ['so many may be under way in the lane', () => client().hset(`${base()}meta`, 'concurrency', 5), {}],
  ['the lane has a rate', () => client().hset(`${base()}meta`, 'max', 5), {}],
  ['another waits', () => client().lpush(`${base()}wait`, 'other'), {}],
  ['the lane is serial', () => client().set(open.keys.serial(LANE), '1'), {}],
  ['its body is large', async () => {}, { arguments: { text: 'x'.repeat(40_000) } }],
  ['it is to begin by an instant', async () => {}, { start_by_ms: 60_000 }],
];

test.each(WAITS)('waits in its lane where %s', async (_why, prepare, fields) => {
  const heard = await deafWorker(1);
  await prepare();
  await submit([read(fields)]);
  expect((await open.lanes.counts(LANE)).active).toBe(0);
  expect(heard).toEqual([]);
  expect(await offers()).toBe(1);
});

test('waits in its lane where nobody listens any more, or offered long ago, and forgets the offer', async () => {
  await client().hset(`${base()}offers`, 'dead 1', `5000 300 1 ${Date.now()}`);
  await submit([read()]);
  expect(await offers()).toBe(0);
  const heard = await deafWorker(1, { at: Date.now() - 13_000 });
  await client().del(`${base()}wait`);
  await submit([read()]);
  expect(heard).toEqual([]);
  expect(await offers()).toBe(0);
  expect(await open.lanes.counts(LANE)).toMatchObject({ waiting: 1, active: 0 });
});

test('a once call of which nobody heard is made after its lease, as the first attempt', async () => {
  const heard = await deafWorker(1);
  const only = call({ effect: 'once' });
  await submit([only]);
  await eventually(async () => heard.length === 1).toBe(true);
  // Somebody looks at the end of its lease, not after the 5 s of what waits in its lane.
  const looked = await client().zscore(open.keys.sweep, `${only.request_id}/${only.id}`);
  expect(Number(looked)).toBeLessThan(Date.now() + 2_000);
  // Its start is not kept for whoever claims it: it has a claim.
  expect(await client().hkeys(open.keys.request(only.request_id)[1])).toEqual([only.id]);
  expect(await open.typesOf(only)).toEqual([]);
  const { execute, ran } = inTurn(done);
  await open.startWorker(execute);
  const sweeper = open.sweeper();
  await sweeper.start();
  const result = await open.client.result(only.request_id, only.id, { timeoutMs: 90_000 });
  expect(result?.data).toMatchObject({ result: { ok: true } });
  expect(ran).toEqual([only.id]);
  expect(await open.typesOf(only)).toEqual(['ai.tool.started', 'ai.tool.result']);
});

test('is handed over once, however often the submission is sent', async () => {
  const heard = await deafWorker(4);
  const only = read();
  await submit([only]);
  await submit([only]);
  await submit([only]);
  await eventually(async () => heard.length > 0).toBe(true);
  expect(heard.length).toBe(1);
  expect(await offers()).toBe(3);
  expect(await open.lanes.counts(LANE)).toMatchObject({ waiting: 0, active: 1 });
});

test('what is heard after its lease has run out is claimed anew, and begins once', async () => {
  const { execute, ran } = inTurn(done);
  const leaseMs = 300;
  await idleWorker(execute, { leaseMs, heartbeat: stillHeart });
  // The worker stands still while it is handed over.
  const only = call({ effect: 'once' });
  const submitted = submit([only]);
  await submitted;
  const until = performance.now() + 2 * leaseMs;
  while (performance.now() < until);
  expect((await open.resultOf(only))?.data).toMatchObject({ result: { ok: true } });
  expect(ran).toEqual([only.id]);
});

test('a worker that stops takes its offers back first', async () => {
  const { execute, ran } = inTurn(done);
  const worker = await idleWorker(execute);
  await worker.stop();
  expect(await offers()).toBe(0);
  const only = read();
  await submit([only]);
  expect(await open.lanes.counts(LANE)).toMatchObject({ waiting: 1, active: 0 });
  expect(ran).toEqual([]);
});

test('a lane whose server is down is offered nothing until it goes on', async () => {
  const { execute, ran } = inTurn(done);
  const worker = await idleWorker(execute);
  worker.pauseLane(LANE, Infinity);
  await eventually(async () => (await offers()) === 0).toBe(true);
  const only = read();
  const seen = await watched();
  await submit([only]);
  expect(seen).not.toContain('lpush active');
  expect(await offers()).toBe(0);
  worker.pauseLane(LANE, null);
  expect((await open.resultOf(only))?.data).toMatchObject({ result: { ok: true } });
  expect(ran).toEqual([only.id]);
  await eventually(async () => (await offers()) > 0).toBe(true);
});

test('a job that is added by itself takes a slot of the offers, and what is handed over goes beside it', async () => {
  const { execute, ran } = inTurn(done);
  await idleWorker(execute, { concurrency: 2 });
  await eventually(async () => (await offers()) === 2).toBe(true);
  const added = await open.accepted({ effect: 'read' });
  const [job, handed] = [jobOf(added), read()];
  await open.lanes.enqueueAll(LANE, [job]);
  await submit([handed]);
  for (const each of [added, handed])
    expect((await open.resultOf(each))?.data).toMatchObject({ result: { ok: true } });
  expect(ran.toSorted()).toEqual([added.id, handed.id].toSorted());
  await eventually(async () => (await offers()) === 2).toBe(true);
});

test('an offer that Redis has lost is made again, and its slot is not lost', async () => {
  const { execute, ran } = inTurn(done);
  await idleWorker(execute, { concurrency: 1 });
  await client().del(`${base()}offers`);
  await eventually(async () => (await offers()) === 1).toBe(true);
  const only = read();
  await submit([only]);
  await open.resultOf(only);
  expect(ran).toEqual([only.id]);
});

/** An offer of the worker as it stands now, to be said once more when its slot is used. */
async function saidOnceMore(): Promise<() => Promise<unknown>> {
  const [[name, words] = ['', '']] = Object.entries(await client().hgetall(`${base()}offers`));
  return async () => client().hset(`${base()}offers`, name, words);
}

test('what is handed over to a worker without a free slot is given back, and begins elsewhere', async () => {
  const first = untilResumed();
  await idleWorker(first.execute, { concurrency: 1 });
  const again = await saidOnceMore();
  await submit([read()]);
  await first.started;
  await again();
  const only = call({ effect: 'once' });
  await submit([only]);
  await eventually(async () => (await open.lanes.counts(LANE)).waiting).toBe(1);
  const { status, lane } = (await open.recordOf(only)) ?? {};
  expect([status, lane]).toEqual(['accepted', LANE]);
  // As if nobody had ever had a claim of it.
  expect(await client().hexists(open.keys.request(only.request_id)[0], `${only.id}|claimant`)).toBe(0);
  const other = inTurn(done);
  await open.startWorker(other.execute, { isHanded: true });
  expect((await open.resultOf(only))?.data).toMatchObject({
    result: { ok: true },
    metadata: { attempts: 1 },
  });
  expect(other.ran).toEqual([only.id]);
  expect(await open.typesOf(only)).toEqual(['ai.tool.started', 'ai.tool.result']);
  first.resume();
});

test('what is given back to its only worker begins when that has a slot', async () => {
  const { execute, resume, ran, started } = untilResumed();
  await idleWorker(execute, { concurrency: 1 });
  const again = await saidOnceMore();
  const [first, second] = [read(), read()];
  await submit([first]);
  await started;
  await again();
  await submit([second]);
  await eventually(async () => (await open.lanes.counts(LANE)).waiting).toBe(1);
  expect(ran).toEqual([first.id]);
  resume();
  for (const each of [first, second])
    expect((await open.resultOf(each))?.data).toMatchObject({ result: { ok: true } });
  expect(ran.toSorted()).toEqual([first.id, second.id].toSorted());
});

test('what is handed over to a worker that stops is given back', async () => {
  const { execute, resume, ran, started } = untilResumed();
  const worker = await idleWorker(execute, { concurrency: 2 });
  await eventually(async () => offers()).toBe(2);
  const again = await saidOnceMore();
  const first = read();
  await submit([first]);
  await started;
  const stopped = worker.stop();
  await eventually(async () => offers()).toBe(0);
  await again();
  const second = read();
  await submit([second]);
  await eventually(async () => (await open.lanes.counts(LANE)).waiting).toBe(1);
  resume();
  await stopped;
  expect(ran).toEqual([first.id]);
  const other = inTurn(done);
  await open.startWorker(other.execute);
  expect((await open.resultOf(second))?.data).toMatchObject({ result: { ok: true } });
});

test('a cancellation that comes as something is given back ends it', async () => {
  const first = untilResumed();
  await idleWorker(first.execute, { concurrency: 1 });
  const again = await saidOnceMore();
  await submit([read()]);
  await first.started;
  await again();
  const only = read();
  await submit([only]);
  await open.client.cancel(only.request_id, only.id);
  expect((await open.resultOf(only))?.data).toMatchObject({
    result: { ok: false, error: { type: 'cancelled' } },
  });
  first.resume();
  expect(first.ran.length).toBe(1);
});

test('the marker that a full worker has seen is put back for another', async () => {
  const first = untilResumed();
  await idleWorker(first.execute, { concurrency: 1 });
  const held = read();
  await submit([held]);
  await first.started;
  const second = inTurn(done);
  await open.startWorker(second.execute, { isHanded: true, concurrency: 1 });
  // As BullMQ's own scripts add it: nobody is handed it.
  await eventually(async () => (await offers()) === 1).toBe(true);
  await client().del(`${base()}offers`);
  for (let turn = 0; turn < 5; turn += 1) {
    const next = read();
    await submit([next]);
    const result = await open.client.result(next.request_id, next.id, { timeoutMs: 4_500 });
    expect(result?.data).toMatchObject({ result: { ok: true } });
    await client().del(`${base()}offers`);
  }
  first.resume();
  await open.resultOf(held);
  expect(second.ran.length).toBe(5);
});

test('offers that dead processes leave are bounded', async () => {
  const run = prepareScripts(open.connection);
  const text = (life: number): string =>
    ['5000 300 1', ...Array.from({ length: 100 }, (_, slot) => `life${life} ${slot}`)].join('\n');
  const asked = { lane: LANE, lockMs: 300, sweep: '' };
  for (let life = 0; life < 40; life += 1)
    await run('job-take', [base()], [...askFor(asked, null).words(text(life)), `place${life}`, 1]);
  expect(await offers()).toBeLessThanOrEqual(1_024);
  expect(await client().pttl(`${base()}offers`)).toBeGreaterThan(0);
});
