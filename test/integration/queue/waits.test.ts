/** The sweeper says why directives wait, on a real Redis: no worker, a paused lane, a full lane; never all at once.
 *  It must never judge by how long something takes. */
import { expect, test } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { untilHolds } from '../../support/eventually.ts';
import { openEngineTest } from '../../support/engine.ts';
import { call, calls, openPipeline, type Pipeline } from '../../support/pipeline.ts';
import { LANE } from '../../support/journal.ts';
import { useRedis } from '../../support/shared.ts';
import { setLeaseEnd } from '../../support/lease.ts';

const redis = useRedis();

/** A process that serves the lane, as its presence says. */
const PRESENT = {
  roles: ['worker'],
  state: 'working',
  host: 'test',
  pid: 1,
  version: '0.0.0',
  started_at: 0,
  lanes: [{ name: LANE, concurrency: 1, running: 0 }],
};

async function submitted(open: Pipeline, directives: ReturnType<typeof call>[]) {
  await open.client.submit(directives);
  const [first] = directives;
  const requestId = first?.request_id ?? '';
  await open.index.add(
    directives.map(({ id }) => ({ requestId, id })),
    0,
  );
  return requestId;
}

const waitsIn = (signals: readonly Signal[]) =>
  signals.flatMap((signal) => (signal.type === 'directive.waiting' ? [signal.data] : []));

test('a directive that nobody takes says that its lane has no worker, until one comes', async () => {
  await using open = await openPipeline(redis.url);
  const one = call({ deadline_ms: 60_000 });
  const requestId = await submitted(open, [one]);
  const sweeper = open.sweeper();
  await sweeper.sweep();
  const message = `no worker serves the lane ${LANE}`;
  const said = { reason: 'no_worker', until: null, message };
  expect(waitsIn(await open.log(requestId))).toMatchObject([{ call_id: one.id, lane: LANE, ...said }]);
  expect(await open.client.directive(requestId, one.id)).toMatchObject({
    status: 'accepted',
    waiting: said,
  });
  expect((await open.client.request(requestId))?.directives).toMatchObject([{ waiting: said }]);
  expect((await open.client.lanes()).lanes.find(({ name }) => name === LANE)).toMatchObject({ waits: said });
  await open.index.add([{ requestId, id: one.id }], 0);
  await sweeper.sweep();
  await open.startWorker(async () => ({ result: okResult('done') }));
  await open.resultOf(one);
  expect(await open.typesOf(one)).toEqual(['directive.waiting', 'ai.tool.started', 'ai.tool.result']);
  expect(await open.client.directive(requestId, one.id)).not.toHaveProperty('waiting');
});

test('a directive that no worker takes shows its reason before the sweeper notes it', async () => {
  await using open = await openPipeline(redis.url);
  const one = call({ deadline_ms: 60_000 });
  const { request_id: requestId } = await open.client.submit(one);
  const waiting = { reason: 'no_worker', message: `no worker serves the lane ${LANE}` };
  await untilHolds(async () =>
    expect(await open.client.directive(requestId, one.id)).toMatchObject({ status: 'accepted', waiting }),
  );
  expect(await open.log(requestId)).toEqual([]);
});

test('a directive whose worker is lost says so from the end of the lease on, and who is missing', async () => {
  await using open = await openPipeline(redis.url);
  const one = call({ deadline_ms: 60_000 });
  const requestId = await submitted(open, [one]);
  const digest = (await open.recordOf(one))?.digest ?? '';
  const claimed = { requestId, id: one.id, digest, leaseMs: 60_000, token: 'dead' };
  expect((await open.journal.claim(claimed)).kind).toBe('granted');
  expect(await open.client.directive(requestId, one.id)).not.toHaveProperty('waiting');
  const [state] = open.keys.request(requestId);
  const leaseEnd = 1_700_000_000_000;
  await setLeaseEnd(open.connection, state, one.id, leaseEnd);
  const since = `worker lost; waits for a worker: since ${new Date(leaseEnd).toISOString()}`;
  const said = { reason: 'worker_lost', until: null, message: `${since}, no worker serves the lane ${LANE}` };
  expect(await open.client.directive(requestId, one.id)).toMatchObject({ status: 'running', waiting: said });
  expect((await open.client.request(requestId))?.directives).toMatchObject([{ waiting: said }]);
  await open.index.add([{ requestId, id: one.id }], 0);
  await open.sweeper().sweep();
  await open.index.add([{ requestId, id: one.id }], 0);
  await open.sweeper().sweep();
  expect(waitsIn(await open.log(requestId))).toMatchObject([{ call_id: one.id, ...said }]);
  await open.store.catalog.workers.beat('w', PRESENT);
  const alone = async () => (await open.client.directive(requestId, one.id))?.waiting?.message;
  await expect.poll(alone).toBe(since);
});

test('of a server that is down it is said why and how often it was tried, also by the end at the deadline', async () => {
  await using open = await openPipeline(redis.url);
  const { workers, published } = open.store.catalog;
  await workers.beat('w', PRESENT);
  const down = { sinceAt: Date.now() - 10_000, tries: 7 };
  const status = 'unavailable' as const;
  const seen = { server: 'test', status, tools: [], updatedAt: 1, error: 'exited with code 1\u001B[2J' };
  await published.tools.publish({ ...seen, blockedUntil: Date.now() + 60_000, down });
  const message = expect.stringMatching(
    /^the MCP server 'test' is down: exited with code 1\[2J \(tried 7 times in \d+ s\)$/,
  );
  const said = { reason: 'server_down', until: expect.any(String), message };
  const [late, waits] = [call({ deadline_ms: 1 }), call({ deadline_ms: 60_000 })];
  await submitted(open, [late]);
  const requestId = await submitted(open, [waits]);
  await open.sweeper().sweep();
  expect(waitsIn(await open.log(requestId))).toMatchObject([{ call_id: waits.id, ...said }]);
  expect(await open.client.directive(requestId, waits.id)).toMatchObject({ attempts: 0, waiting: said });
  expect(await open.resultOf(late)).toMatchObject({
    data: {
      result: {
        error: {
          type: 'deadline_exceeded',
          message: expect.stringMatching(
            /^no terminal result by the deadline: the MCP server 'test' is down: exited/,
          ),
          details: { attempts: 0 },
        },
      },
    },
  });
});

test('a pause of the lane and a lane that is full are said as what they are', async () => {
  await using open = await openPipeline(redis.url);
  await open.store.catalog.workers.beat('w', PRESENT);
  const one = call();
  const requestId = await submitted(open, [one]);
  await open.lanes.pauseFor(LANE, 60_000);
  await open.sweeper().sweep();
  expect(waitsIn(await open.log(requestId))).toMatchObject([
    { reason: 'rate_limited', until: expect.any(String) },
  ]);

  await using other = await openPipeline(redis.url);
  await other.store.catalog.workers.beat('w', PRESENT);
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  await other.startWorker(
    async () => {
      await goOn;
      return { result: okResult('done') };
    },
    { concurrency: 1 },
  );
  const [first, second] = calls(2);
  if (!first || !second) throw new Error('two calls');
  await submitted(other, [first]);
  await expect.poll(async () => (await other.recordOf(first))?.status).toBe('running');
  await submitted(other, [second]);
  await other.sweeper().sweep();
  resolve();
  expect(waitsIn(await other.log(first.request_id))).toMatchObject([
    { call_id: second.id, reason: 'concurrency', until: null },
  ]);
  await other.resultOf(second);
});

test('of a long lane a few directives are told at once and the others later, and what has no job gets one at once', async () => {
  await using open = await openPipeline(redis.url);
  const directives = calls(100);
  const requestId = await submitted(open, directives);
  const last = directives.at(-1)?.id ?? '';
  await open.lanes.removeJob(LANE, requestId, last);
  expect(await open.jobs()).toBe(99);
  const sweeper = open.sweeper();
  const [seconds] = await open.connection.time();
  expect(await sweeper.sweep()).toBe(false);
  const told = waitsIn(await open.log(requestId)).map((wait) => wait.call_id);
  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThanOrEqual(40);
  expect(await open.jobs()).toBe(100);
  const looks = await open.connection.zrange(open.keys.sweep, '0', '-1', 'WITHSCORES');
  expect(looks).toHaveLength(200);
  for (const at of looks.filter((_, index) => index % 2 === 1))
    expect(Number(at)).toBeGreaterThanOrEqual((Number(seconds) + 5) * 1_000);
  await open.index.add(
    directives.map(({ id }) => ({ requestId, id })),
    0,
  );
  await open.sweeper().sweep();
  expect(waitsIn(await open.log(requestId)).length).toBeGreaterThan(told.length);
});

test('of a long lane of which some were looked at just now, one is looked at', async () => {
  await using open = await openPipeline(redis.url);
  await submitted(open, calls(100));
  const rule = { mostSeen: 120, mostGiven: 20, shortestLookMs: 5_000, longestLookMs: 60_000 };
  expect((await open.index.take(200, { ...rule, alreadyGiven: 19 })).entries).toHaveLength(1);
});

test('a run that no engine takes a turn of says so once, and not where an engine is there', async () => {
  await using open = await openEngineTest(redis.url);
  const { request_id: requestId } = await open.client.start({ agent: 'scripted', query: 'go' });
  const look = async (): Promise<void> => {
    await open.index.add([{ requestId, id: '@run' }], 0);
    await open.sweeper().sweep();
  };
  const engine = { ...PRESENT, roles: ['engine'], lanes: [{ name: 'run', concurrency: 1, running: 0 }] };
  await open.store.catalog.workers.beat('e', engine);
  await look();
  expect(waitsIn(await open.log(requestId))).toEqual([]);
  await open.store.catalog.workers.leave('e');
  const said = [{ call_id: requestId, lane: 'run', reason: 'no_worker', message: 'no engine works' }];
  // Who asks within a tenth of a second shares the answer.
  const afterLook = async () => {
    await look();
    return waitsIn(await open.log(requestId));
  };
  await expect.poll(afterLook).toMatchObject(said);
  expect(await afterLook()).toMatchObject(said);
});
