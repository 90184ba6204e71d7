/** A schedule whose instants are over, and processes that die while they fire it.
 *  It must not wait for the clock. */
import { randomUUID } from 'node:crypto';
import { keySpace } from '../../src/store/keys.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis/connection.ts';
import { createFiringLoop, type FiringLoopParts } from '../../src/features/schedules/firing-loop.ts';
import { createScheduleStore } from '../../src/features/schedules/schedule-store.ts';
import { createRegistry } from '../../src/worker/executors/registry.ts';
import { createPreparer } from '../../src/directives/prepare.ts';
import { bareClient } from './bare-client.ts';
import { testStore } from './store.ts';
import { emitToolError } from '../../src/worker/executors/emit.ts';

export const SECOND = 1_000;
export const INSTANTS = 3;
export const ENDS = { type: 'emit_tool_error', tool_name: 'a.b', error: 'x' };

/** What a process does until it dies: at its call of this number it says nothing any more. */
export function dying(at: number, moment: 'before' | 'after') {
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

/** A process that fires, and stands still before its write of this number. `thaw`: it goes on; resolves when it has done all. */
export async function frozenFiring(
  { parts, client }: Awaited<ReturnType<typeof overdueSchedule>>,
  at: number,
) {
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
  const { store } = parts;
  const late = createFiringLoop({
    ...parts,
    store: { ...store, change: freezing(store.change) },
    clientOf: () => ({ ...client, submit: freezing(client.submit) }),
  }).fireDue();
  await frozen.promise;
  return {
    async thaw(): Promise<void> {
      thawed.resolve();
      await late;
    },
  };
}

/** A client as the firing loop of a process has it. */
function firingClient(redisUrl: string, prefix: string) {
  const connection = connectRedis(redisUrl, 'submit');
  const store = testStore(connection, { prefix });
  const { executeImmediately } = createRegistry([emitToolError]);
  const { client } = bareClient(store, connection, {
    preparer: createPreparer(store.catalog, executeImmediately),
    isFiring: true,
  });
  const close = async (): Promise<void> => {
    await client.close();
    await store.close();
    await closeRedis(connection);
  };
  return { client, close };
}

/** A schedule of three instants that are over, and what fires it. */
export async function overdueSchedule(redisUrl: string, overlap: 'allow' | 'skip') {
  const prefix = `test-${randomUUID()}`;
  const keys = keySpace(prefix);
  const connection = connectRedis(redisUrl, 'commands');
  const { client, close: closeClient } = firingClient(redisUrl, prefix);
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
  const firingAt = async (): Promise<number> => Number((await connection.hget(record, 'firing')) || 0);
  /** Its instants follow each other for ever. */
  const goOn = async (): Promise<unknown> =>
    connection.hset(record, { spec: JSON.stringify({ ...ended, ends_at: null }) });
  return { client, parts, first, makeDue, firingAt, goOn, [Symbol.asyncDispose]: close };
}
