/** A process that fires and dies at each of its steps: another one takes over, and each instant has one request and one entry.
 *  It must not wait for the clock: the instants are over before it begins. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { keySpace } from '../../../src/journal/keys.ts';
import { closeRedis, connectRedis } from '../../../src/redis/connection.ts';
import { createFiringLoop, type FiringLoopParts } from '../../../src/schedules/firing-loop.ts';
import { createScheduleStore } from '../../../src/schedules/schedule-store.ts';
import { instantName } from '../../../src/schedules/instants.ts';
import { emitToolError } from '../../../src/executors/emit-tool-error.ts';
import { createRegistry } from '../../../src/executors/registry.ts';
import { DEFAULT_REQUEST_BYTES } from '../../../src/journal/journal.ts';
import { createPreparer } from '../../../src/queue/prepare.ts';
import { createClient } from '../../../src/service/client.ts';
import { testStore } from '../../support/store.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

const SECOND = 1_000;
const INSTANTS = 3;
const ENDS = { type: 'emit_tool_error', tool_name: 'a.b', error: 'x' };

/** What a process does until it dies: at its call of this number it says nothing any more. */
function dying(at: number, moment: 'before' | 'after') {
  const dead = Promise.withResolvers<'dead'>();
  let calls = 0;
  const mortal =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      calls += 1;
      const dies = calls >= at;
      if (dies && (moment === 'before' || calls > at)) return die();
      const answer = await call(...given);
      return dies ? die() : answer;
    };
  const die = async (): Promise<never> => {
    dead.resolve('dead');
    return new Promise<never>(() => {});
  };
  return { mortal, dead: dead.promise };
}

/** A client as the firing loop of a process has it. */
function firingClient(prefix: string) {
  const connection = connectRedis(redis.url, 'submit');
  const store = testStore(connection, { prefix });
  const { executeImmediately } = createRegistry([emitToolError]);
  const { client } = createClient(store, connection, {
    preparer: createPreparer(store.catalog, executeImmediately),
    customTypes: new Map(),
    argumentsBytes: 1_000_000,
    requestBytes: DEFAULT_REQUEST_BYTES,
    maxDirectives: 10,
    maxQueuedIn: () => null,
    maxOpen: null,
    isFiring: true,
  });
  const close = async (): Promise<void> => {
    await client.close();
    await store.close();
    await closeRedis(connection);
  };
  return { client, close };
}

async function scene(overlap: 'allow' | 'skip') {
  const prefix = `test-${randomUUID()}`;
  const keys = keySpace(prefix);
  const connection = connectRedis(redis.url, 'commands');
  const { client, close: closeClient } = firingClient(prefix);
  const store = createScheduleStore(connection, keys, async () => null);
  await client.schedules.create({ id: 's', every_ms: SECOND, overlap, directives: [ENDS] });
  // Its last instants were over a while ago, and none follows.
  const last = Math.floor(Date.now() / SECOND) * SECOND;
  const first = last - (INSTANTS - 1) * SECOND;
  const [record] = keys.schedule('s');
  const spec = JSON.parse((await connection.hget(record, 'spec')) ?? '') as object;
  const ended = { ...spec, ends_at: new Date(last).toISOString(), anchor_at: first };
  await connection.hset(record, { spec: JSON.stringify(ended), next_at: first });
  const makeDue = async (): Promise<unknown> => connection.zadd(keys.schedulesDue, 'XX', first, 's');
  await makeDue();
  const parts: FiringLoopParts = {
    store,
    clientOf: () => client,
    statusOf: async (id) => (await client.request(id))?.status ?? 'none',
    forbidden: async () => null,
    spend: async () => {},
    closedMs: () => 86_400_000,
    onFiring: () => {},
    onError: (error) => {
      throw error;
    },
  };
  const close = async (): Promise<void> => {
    await closeClient();
    await closeRedis(connection);
  };
  return { client, parts, first, makeDue, [Symbol.asyncDispose]: close };
}

const DEATHS = Array.from({ length: 10 }, (_, at) => at + 1).flatMap((at) =>
  (['before', 'after'] as const).map((moment) => [moment, at] as const),
);

test.each(DEATHS)('dies %s its write number %i', async (moment, at) => {
  await using it = await scene(at % 2 === 0 ? 'allow' : 'skip');
  const { mortal, dead } = dying(at, moment);
  const { store } = it.parts;
  const mortals: FiringLoopParts = {
    ...it.parts,
    store: { ...store, change: mortal(store.change) },
    clientOf: () => ({ ...it.client, submit: mortal(it.client.submit) }),
  };
  await Promise.race([dead, createFiringLoop(mortals).fireDue()]);
  // As when the time is over for which it has taken the schedule.
  const other = createFiringLoop(it.parts);
  await it.makeDue();
  await other.fireDue();
  const { history, counts, status } = await it.client.schedules.get('s');
  const instants = Array.from({ length: INSTANTS }, (_, nth) => it.first + nth * SECOND);
  expect(status).toBe('ended');
  expect(history.map(({ scheduled_at }) => Date.parse(scheduled_at)).toReversed()).toEqual(instants);
  expect(counts).toEqual({ fired: INSTANTS, triggered: 0, skipped: 0, failed: 0, missed: 0 });
  for (const instant of instants) {
    const view = await it.client.request(`schedule.s.${instantName(instant)}`);
    expect(view?.directives).toHaveLength(1);
  }
});

test('two that look at the same instant at once fire it once', async () => {
  await using it = await scene('skip');
  const loops = Array.from({ length: 4 }, () => createFiringLoop(it.parts));
  await Promise.all(
    loops.map(async (loop) => {
      await it.makeDue();
      await loop.fireDue();
    }),
  );
  await it.makeDue();
  await createFiringLoop(it.parts).fireDue();
  const { counts, history } = await it.client.schedules.get('s');
  expect(counts).toMatchObject({ fired: INSTANTS, missed: 0, skipped: 0 });
  expect(history).toHaveLength(INSTANTS);
});

test.each([1, 2, 3, 4, 5])(
  'one that is frozen before its write number %i, and goes on when all is over, changes nothing',
  async (at) => {
    await using it = await scene('skip');
    const [frozen, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let writes = 0;
    const freezing =
      <A extends unknown[], R>(write: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> => {
        writes += 1;
        if (writes === at) {
          frozen.resolve();
          await thawed.promise;
        }
        return write(...given);
      };
    const { store } = it.parts;
    const late = createFiringLoop({
      ...it.parts,
      store: { ...store, change: freezing(store.change) },
      clientOf: () => ({ ...it.client, submit: freezing(it.client.submit) }),
    }).fireDue();
    await frozen.promise;
    await it.makeDue();
    await createFiringLoop(it.parts).fireDue();
    const before = await it.client.schedules.get('s');
    thawed.resolve();
    await late;
    expect(await it.client.schedules.get('s')).toEqual(before);
    expect(before).toMatchObject({ status: 'ended', counts: { fired: INSTANTS } });
  },
);
