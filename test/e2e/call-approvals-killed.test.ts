/** Calls that wait for approval while every process of the service is killed: each is made at most once, and only when it is approved.
 *  It must judge by what the tool has written down. */
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { countingCall, countingCalls } from '../support/calls.ts';
import { eventually } from '../support/eventually.ts';
import { install } from '../support/installation.ts';

/** Issue 35, point 9: the decision is bound to one call, through kill -9 at any time. */
test('kill -9 of API and worker before and after decisions: nothing runs unapproved, no `once` call twice', async () => {
  await using installation = await install({
    server: { approve: ['*'] },
    config: { worker: { lease_ms: 1_000 } },
  });
  const begin = async () => Promise.all([installation.start('api'), installation.start('worker')]);
  let [api, worker] = await begin();
  const calls = countingCalls(['once', 'idempotent'], 8, { requestId: 'killed', delayMs: 50 });
  const client = (): DirectiveClient => createHttpClient({ baseUrl: api.url });
  await client().submit({ directives: calls } as never);
  const waiting = async () => (await client().approvals()).approvals.map(({ call_id }) => call_id);
  await eventually(async () => (await waiting()).length).toBeGreaterThan(0);
  // Some ask already, some do not yet.
  await Promise.all([worker.kill9(), api.kill9()]);
  [api, worker] = await begin();
  const denied = new Set(calls.flatMap(({ id }, at) => (at % 4 < 2 ? [id] : [])));
  expect(installation.executions()).toEqual([]);
  let kills = 0;
  /** The list may be a little behind: what is decided already is refused. */
  async function decideAll(): Promise<void> {
    const { approvals } = await client().approvals();
    for (const decision of ['approve', 'deny'] as const) {
      const named = approvals.filter(({ call_id }) => denied.has(call_id) === (decision === 'deny'));
      const decided = named.map(({ request_id, call_id }) => ({ request_id, call_id }));
      if (decided.length > 0) await client().runs.decideAll({ decision, calls: decided });
    }
  }
  const outcome = async () => {
    await decideAll();
    if (kills < 3 && installation.executions().length > kills) {
      kills += 1;
      await worker.kill9();
      worker = await installation.start('worker');
    }
    const { directives = [] } = (await client().request('killed')) ?? {};
    return directives.filter(({ status }) => status !== 'succeeded' && status !== 'failed');
  };
  await expect.poll(outcome, { interval: 100 }).toEqual([]);
  const labels = installation.executions().map(({ label }) => label);
  expect(labels.filter((label) => denied.has(label))).toEqual([]);
  const once = labels.filter((label) => label.startsWith('once-'));
  expect(once.length).toBe(new Set(once).size);
});

/** Issue 38, point 4: reservations of calls in flight outlive their worker, and a question of a rule outlives the API. */
test('kill -9 of API and worker under rules: a limit holds over calls in flight, and an asked call waits for its person', async () => {
  const isOnce = "tool == 'counting.once'";
  await using installation = await install({
    config: {
      worker: { lease_ms: 1_000 },
      policy: {
        counters: { made: { of: isOnce } },
        rules: [
          { name: 'most', when: isOnce, decision: 'limit', counter: 'made', at_most: 4 },
          { name: 'person', when: "tool == 'counting.idempotent'", decision: 'ask' },
        ],
      },
    },
  });
  const begin = async () => Promise.all([installation.start('api'), installation.start('worker')]);
  let [api, worker] = await begin();
  const calls = countingCalls(['once', 'idempotent'], 8, { requestId: 'ruled', delayMs: 300 });
  const client = (): DirectiveClient => createHttpClient({ baseUrl: api.url });
  await client().submit({ directives: calls } as never);
  const waiting = async () => (await client().approvals()).approvals;
  await installation.untilExecuted((counted) => counted.length > 0);
  await Promise.all([worker.kill9(), api.kill9()]);
  [api, worker] = await begin();
  await eventually(async () => (await waiting()).length).toBe(8);
  await api.kill9();
  api = await installation.start('api');
  const later = Array.from({ length: 8 }, (_, at) => countingCall('once', 8 + at, { requestId: 'ruled' }));
  await client().submit({ directives: later } as never);
  const asked = (await waiting()).map(({ request_id, call_id }) => ({ request_id, call_id }));
  await client().runs.decideAll({ decision: 'approve', calls: asked });
  const open = async () =>
    ((await client().request('ruled'))?.directives ?? []).filter(({ ended_at: at }) => at === null);
  await eventually(open).toEqual([]);
  const endOf = async (id: string): Promise<unknown> =>
    Object((await client().result('ruled', id))?.data).result.error?.type ?? 'made';
  const ends = await Promise.all([...calls, ...later].map(async ({ id }) => [id, await endOf(id)] as const));
  const denied = ends.flatMap(([id, end]) => (end === 'policy_denied' ? [id] : []));
  const labels = installation.executions().map(({ label }) => label);
  const once = labels.filter((label) => label.startsWith('once-'));
  expect([once.length, once.filter((label) => denied.includes(label))]).toEqual([new Set(once).size, []]);
  // Those that died between their claim and their decision are not known, and not counted.
  expect(once.length).toBeLessThanOrEqual(4);
  expect(denied.length).toBeGreaterThanOrEqual(4);
  expect(new Set(labels.filter((label) => !label.startsWith('once-'))).size).toBe(8);
});
