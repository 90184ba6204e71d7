/** Everything is killed while runs wait for approvals, timers and tools: after a restart all end correctly.
 *  It must keep nothing but Redis. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { RequestView } from '../../src/contract/request/request-view.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { executionsByLabel } from '../support/audit.ts';
import { untilHolds } from '../support/eventually.ts';
import { install } from '../support/installation.ts';
import type { Wait } from '../support/modules/patient-strategy.ts';
import { get, post, untilClosed } from '../support/public-api.ts';

const STRATEGY = fileURLToPath(new URL('../support/modules/patient-strategy.ts', import.meta.url));
const RUNS = 100;

const agents = {
  patient: {
    strategy: 'patient',
    tools: ['counting.*'],
    policies: { approvals: { 'counting.once': 'ask', 'counting.idempotent': 'auto' } },
  },
};

const TOOL = { tool: 'counting.idempotent', delay_ms: 2_500 };
const PLANS: readonly Wait[][] = [
  [{ tool: 'counting.once' }, { tool: 'counting.idempotent' }],
  [{ timer_ms: 4_000 }, { tool: 'counting.idempotent' }, { timer_ms: 10 }],
  [TOOL, { tool: 'counting.idempotent' }, { timer_ms: 10 }, { tool: 'counting.idempotent' }],
];

function planOf(number: number): Wait[] {
  return PLANS[number % PLANS.length] ?? [];
}

function expected(plan: readonly Wait[]): unknown[] {
  return plan.map((wait, step) => ('timer_ms' in wait ? step : `call-${step}`));
}

test('kill -9 of everything in the middle of 100 waiting runs', async () => {
  await using installation = await install({
    server: { lane: { concurrency: 50 } },
    config: { agents, strategies: [STRATEGY], worker: { lease_ms: 2_000 } },
  });
  const begin = () =>
    Promise.all([installation.start('api'), installation.start('engine'), installation.start('worker')]);
  const [api, ...others] = await begin();
  const ids = Array.from({ length: RUNS }, (_, number) => `run-${number}`);
  await Promise.all(
    ids.map(async (request_id, number) => {
      const body = { request_id, agent: 'patient', query: JSON.stringify(planOf(number)) };
      expect((await post(`${api.url}/v1/requests`, body)).status).toBe(202);
    }),
  );
  // Each has been seen waiting: on a busy machine the first ones go on before the last ones begin.
  const unseen = new Set(ids);
  await untilHolds(async () => {
    await Promise.all(
      [...unseen].map(async (id) => {
        const { run } = await view(api.url, id);
        const kinds = run?.waiting_for.map(({ kind }) => kind) ?? [];
        // A run whose first turn has not been taken has asked for no approval yet: it says that it waits for its turn.
        // One that waits for no approval may have ended before anybody looked.
        if (run?.status !== 'completed') expect(kinds.filter((kind) => kind !== 'turn')).not.toEqual([]);
        unseen.delete(id);
      }),
    );
    expect(installation.executions().length).toBeGreaterThan(10);
  });
  await Promise.all([api, ...others].map((child) => child.kill9()));

  const [{ url }] = await begin();
  for (const [number, id] of ids.entries())
    if (number % PLANS.length === 0) {
      const decided = await post(`${url}/v1/requests/${id}/approvals/call-0`, { decision: 'approve' });
      expect(decided.status).toBeLessThan(300);
    }
  await Promise.all(ids.map((id) => untilClosed(url, id)));

  const executions = executionsByLabel(installation.executions());
  for (const [number, id] of ids.entries()) {
    const { run } = await view(url, id);
    expect(run, id).toMatchObject({ status: 'completed', result: expected(planOf(number)), waiting_for: [] });
    const { body } = await get<{ signals: Signal[] }>(`${url}/v1/requests/${id}/signals?limit=1000`);
    const { signals } = body;
    expect(signals.map(({ sequence }) => sequence)).toEqual(signals.map((_, index) => index + 1));
    expect(signals.filter(({ type }) => type.startsWith('ai.request.')).map(({ type }) => type)).toEqual([
      'ai.request.started',
      'ai.request.completed',
    ]);
    if (number % PLANS.length === 0) expect(executions.get(`${id}/0`), id).toHaveLength(1);
  }
});

async function view(url: string, id: string): Promise<RequestView> {
  return (await get<RequestView>(`${url}/v1/requests/${id}`)).body;
}
