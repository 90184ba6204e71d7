/** Work of remote directive types in Redis, when messages come late, leases pass and Redis is slow.
 *  Public rule: docs/python.md, "Directive types": `once` work begins at most once, and nothing that has ended begins. */
import { expect, test } from 'vitest';
import type { Directive } from '../../../../src/contract/directive/directive.ts';
import { remoteDefinition } from '../../../../src/features/remote-types/remote-definition.ts';
import {
  createWorkStore,
  type ParkedWork,
  type WorkStore,
} from '../../../../src/features/remote-types/work-store.ts';
import { createSubscriptions } from '../../../../src/store/log/subscriptions.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import type { Execution, ExecutionContext } from '../../../../src/worker/executors/definition.ts';
import { keySpace } from '../../../../src/store/keys.ts';
import { prepareScripts } from '../../../../src/store/scripts.ts';
import { eachTest, useRedis } from '../../../support/shared.ts';
import { uniquePrefix } from '../../../support/journal.ts';

const HOUR_MS = 3_600_000;
const redis = useRedis();
const opened = eachTest(async () => {
  const keys = keySpace(uniquePrefix());
  const connection = connectRedis(redis.url, 'commands');
  const listening = connectRedis(redis.url, 'subscriber');
  const changes = createSubscriptions({ listening, publishing: connection });
  const store = createWorkStore(connection, keys, changes, (error) => {
    throw error;
  });
  return {
    connection,
    store,
    keyOf: (name: string) => `${keys.remoteType('pay')}${name}`,
    [Symbol.asyncDispose]: async () => {
      changes.close();
      await Promise.all([closeRedis(connection), closeRedis(listening)]);
    },
  };
});

const inHours = (hours: number): number => Date.now() + hours * HOUR_MS;
const work = (more: Partial<ParkedWork> = {}): ParkedWork => ({
  effect: 'once',
  leaseMs: 60_000,
  deadlineAt: inHours(1),
  attempt: 1,
  body: {},
  ...more,
});

async function begin(id: string, more: Partial<ParkedWork> = {}): Promise<string> {
  const { store } = opened;
  await store.park('pay', id, work(more));
  const taken = await store.take('pay');
  expect(taken?.workId).toBe(id);
  const token = taken?.token ?? '';
  expect(await store.hold('pay', id, token)).toBe('held');
  return token;
}

test('a park that comes late revives no work', async () => {
  const { store } = opened;
  // A directive that has ended without its work, an attempt that has decided from its absence, and a withdrawal between two sendings.
  expect(await store.withdraw('pay', 'unparked', HOUR_MS)).toBe(true);
  expect(await store.read('pay', 'decided', inHours(1))).toMatchObject({ state: 'absent' });
  await store.park('pay', 'sent-twice', work());
  expect(await store.withdraw('pay', 'sent-twice', HOUR_MS)).toBe(false);
  const late = await Promise.all(
    ['unparked', 'decided', 'sent-twice'].map((id) => store.park('pay', id, work())),
  );
  expect(late.map(({ state }) => state)).toEqual(['absent', 'absent', 'cancelled']);
  expect(await store.park('pay', 'overdue', work({ deadlineAt: Date.now() - 1 }))).toMatchObject({
    state: 'cancelled',
  });
  expect(await store.take('pay')).toBeNull();
});

test('a take examines at most 256 works, and the next one goes on with the others', async () => {
  const { store, connection, keyOf } = opened;
  const run = prepareScripts(connection);
  const gone = Array.from({ length: 600 }, (_, at) => `overdue-${at}`);
  await connection.rpush(keyOf('queue'), ...gone);
  await store.park('pay', 'due', work());
  const take = async () => run('remote-take', [keyOf('')], ['token', 10_000]);
  expect(await take()).toEqual(['more', 1]);
  expect(await connection.llen(keyOf('queue'))).toBe(601 - 256);
  expect(await store.take('pay')).toMatchObject({ workId: 'due' });
  expect(await store.take('pay')).toBeNull();
});

test('a type is served while a program holds its work, and no longer than it asks after the end of that', async () => {
  const { store, connection, keyOf } = opened;
  const servedMs = async () => connection.pttl(keyOf('served'));
  const [one, other] = [
    await begin('one', { leaseMs: 2 * HOUR_MS }),
    await begin('other', { leaseMs: HOUR_MS }),
  ];
  expect(await servedMs()).toBeGreaterThan(HOUR_MS);
  await store.end('pay', 'one', one, '{"result":{}}');
  expect(await servedMs()).toBeLessThanOrEqual(HOUR_MS);
  expect(await servedMs()).toBeGreaterThan(HOUR_MS / 2);
  await store.end('pay', 'other', other, '{"result":{}}');
  expect(await servedMs()).toBeLessThanOrEqual(30_000);
  await store.park('pay', 'third', work());
  expect(await store.read('pay', 'third', inHours(1))).toMatchObject({ state: 'waiting', isServed: true });
  await connection.del(keyOf('served'));
  expect(await store.read('pay', 'third', inHours(1))).toMatchObject({ isServed: false });
});

test('work that waits again is kept in the queue beside work with a nearer deadline', async () => {
  const { store, connection, keyOf } = opened;
  await store.park('pay', 'far', work({ deadlineAt: inHours(10), leaseMs: 1 }));
  await store.take('pay');
  await expect
    .poll(async () => (await store.read('pay', 'far', inHours(10))).state, { timeout: 60_000 })
    .toBe('waiting');
  await store.park('pay', 'near', work());
  expect(await connection.pttl(keyOf('queue'))).toBeGreaterThan(9 * HOUR_MS);
});

test('an end that was read is kept, and withdrawn with its text', async () => {
  const { store, connection, keyOf } = opened;
  const token = await begin('ended');
  await store.end('pay', 'ended', token, '{"result":{}}');
  expect(await store.read('pay', 'ended', inHours(1))).toMatchObject({ state: 'ended', begun: 1 });
  expect(await connection.pttl(keyOf('work:ended'))).toBeGreaterThan(HOUR_MS);
  await store.withdraw('pay', 'ended', HOUR_MS);
  expect(await connection.hget(keyOf('work:ended'), 'finish')).toBeNull();
});

test('work whose program died counts as begun, and lost work keeps no body', async () => {
  const { store, connection, keyOf } = opened;
  await begin('repeatable', { effect: 'idempotent' });
  await begin('lost');
  for (const id of ['repeatable', 'lost']) await connection.hset(keyOf(`work:${id}`), 'until', 1);
  expect(await store.withdraw('pay', 'repeatable', HOUR_MS)).toBe(true);
  expect(await store.read('pay', 'lost', inHours(1))).toMatchObject({ state: 'lost' });
  expect(await connection.hget(keyOf('work:lost'), 'body')).toBeNull();
});

test('a program gets the time that is left when it takes work', async () => {
  const { store, connection } = opened;
  const deadlineAt = inHours(1);
  await store.park('pay', 'timed', work({ deadlineAt }));
  const [seconds] = await connection.time();
  const { body } = (await store.take('pay')) ?? {};
  expect(body?.['remaining_ms']).toBeGreaterThan(0);
  expect(body?.['remaining_ms']).toBeLessThanOrEqual(deadlineAt - Number(seconds) * 1_000);
});

/** Executes an attempt that is stopped at its first call of the store. `task`: of an earlier attempt. */
async function executeStopped(
  store: WorkStore,
  { task, goesOn }: { task: string | null; goesOn: boolean },
): Promise<Execution> {
  const stop = new AbortController();
  const definition = remoteDefinition(
    { type: 'pay', schema: {} as never, effect: 'once', leaseMs: 60_000 },
    {
      ...store,
      read: async (...args) => (stop.abort(), store.read(...args)),
      park: async (...args) => (stop.abort(), store.park(...args)),
    },
  );
  const context = {
    signal: stop.signal,
    tasks: {
      task,
      keep: async () => true,
      goesOn: () => goesOn,
      draining: new AbortController().signal,
      clock: () => ({ now: Date.now(), remainingMs: HOUR_MS }),
    },
  } as unknown as ExecutionContext;
  return definition.execute({ type: 'pay', deadline_ms: HOUR_MS } as unknown as Directive, context);
}

test('the stop of an attempt waits for no Redis that is silent', async () => {
  const silent = async (): Promise<never> => new Promise<never>(() => {});
  const store = { ...opened.store, read: silent, withdraw: silent };
  expect(await executeStopped(store, { task: 'parked', goesOn: true })).toMatchObject({ resumable: true });
  expect(await executeStopped(store, { task: 'parked', goesOn: false })).toMatchObject({ unwithdrawn: true });
});

test('the deadline of work that no program has taken says so', async () => {
  await opened.store.park('pay', 'unserved', work());
  const stop = new AbortController();
  const definition = remoteDefinition(
    { type: 'pay', schema: {} as never, effect: 'once', leaseMs: 60_000 },
    opened.store,
  );
  const tasks = {
    task: 'unserved',
    goesOn: () => false,
    draining: stop.signal,
    clock: () => ({ now: Date.now(), remainingMs: HOUR_MS }),
  };
  const context = { signal: stop.signal, lane: 'custom.pay', attempt: 1, tasks, report: () => stop.abort() };
  const directive = { type: 'pay', id: 'work', deadline_ms: HOUR_MS } as unknown as Directive;
  const execution = await definition.execute(directive, context as unknown as ExecutionContext);
  expect(execution).toMatchObject({
    ambiguous: false,
    notBegun: 'no program asks for the directives of the lane custom.pay',
  });
});

// A stop waited its whole drain for a program that did not come.
test('a worker that stops leaves work that no program has begun, and waits for work that one has', async () => {
  const { store } = opened;
  const drain = new AbortController();
  const definition = remoteDefinition(
    { type: 'pay', schema: {} as never, effect: 'once', leaseMs: 60_000 },
    {
      ...store,
      // The stop begins while it waits for a change.
      read: async (...args) => {
        const state = await store.read(...args);
        setImmediate(() => drain.abort());
        return state;
      },
    },
  );
  const executed = async (task: string): Promise<Execution> => {
    const clock = () => ({ now: Date.now(), remainingMs: HOUR_MS });
    const tasks = { task, goesOn: () => false, draining: drain.signal, clock };
    const { signal } = new AbortController();
    const context = { signal, lane: 'custom.pay', attempt: 1, tasks, report: () => {} };
    const directive = { type: 'pay', id: task, deadline_ms: HOUR_MS } as unknown as Directive;
    return definition.execute(directive, context as unknown as ExecutionContext);
  };
  const token = await begin('begun');
  await store.park('pay', 'unbegun', work());
  const begun = executed('begun');
  expect(await executed('unbegun')).toMatchObject({ resumable: true, ambiguous: false });
  const result = { ok: true, payload: 'paid', effects: [] };
  await store.end('pay', 'begun', token, JSON.stringify({ result }));
  expect(await begun).toMatchObject({ result });
  // It stays parked, and the next attempt waits for it.
  expect(await store.take('pay')).toMatchObject({ workId: 'unbegun' });
});

test('work that is parked after the stop of its attempt is withdrawn, and made anew', async () => {
  const { store } = opened;
  const late = Promise.withResolvers<void>();
  let parked = '';
  const slow: WorkStore = {
    ...store,
    park: async (type, id, more) => {
      parked = id;
      await late.promise;
      return store.park(type, id, more);
    },
  };
  expect(await executeStopped(slow, { task: null, goesOn: true })).toMatchObject({ resumable: true });
  late.resolve();
  const stateOf = async () => opened.connection.hget(opened.keyOf(`work:${parked}`), 'state');
  await expect.poll(stateOf, { timeout: 60_000 }).toBe('cancelled');
  const definition = remoteDefinition(
    { type: 'pay', schema: {} as never, effect: 'once', leaseMs: 1 },
    store,
  );
  const tasks = {
    task: parked,
    draining: new AbortController().signal,
    clock: () => ({ now: Date.now(), remainingMs: HOUR_MS }),
  };
  const context = { signal: new AbortController().signal, tasks } as unknown as ExecutionContext;
  const again = await definition.execute({ type: 'pay' } as unknown as Directive, context);
  expect(again).toMatchObject({ ambiguous: false, unmade: true });
});
