/** A rolling restart of every role while work flows: each process is replaced by another one, and told to stop.
 *  It must not look at the clock: a stop that takes longer than its drain is killed, and has no exit code. */
import { expect, test } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestView } from '../../src/contract/request/request-view.ts';
import { auditRequest, executionsByLabel, outcomes } from '../support/audit.ts';
import { countingCall } from '../support/calls.ts';
import { type AdjutantProcess, install, type Installation } from '../support/installation.ts';
import { get, untilClosed } from '../support/public-api.ts';

type Role = 'api' | 'engine' | 'worker';

const DRAIN_MS = 20_000;
/** What a stop may take beyond its drain: closing connections and servers. */
const CLOSING_MS = 10_000;
const BETWEEN_MS = 30;

const CONFIG = {
  worker: { drain_ms: DRAIN_MS },
  engine: { drain_ms: DRAIN_MS },
  providers: { scripted: { type: 'scripted' } },
  models: { fast: ['scripted:demo'] },
  agents: { helper: { model_alias: 'fast' } },
};

/** Submits one directive or run after the other until it is told to stop, to whichever API is there. */
function startLoad(apiUrl: () => string) {
  const calls: string[] = [];
  const runs: string[] = [];
  let stopped = false;

  /** The same body until it is accepted: an answer that was cut off may have been one. */
  async function submit(path: string, body: object): Promise<void> {
    for (;;) {
      const answer = await fetch(`${apiUrl()}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).catch(() => null);
      if (answer?.status === 202) return;
      if (answer !== null && answer.status !== 503) throw new Error(await answer.text());
      await delay(BETWEEN_MS);
    }
  }

  async function flow(): Promise<void> {
    for (let number = 0; !stopped; number += 1) {
      const call = countingCall(number % 2 === 0 ? 'read' : 'once', number, {
        requestId: 'rolling',
        delayMs: 150,
      });
      calls.push(call.id);
      await submit('/v1/directives', call);
      if (number % 4 === 0) {
        runs.push(`run-${number}`);
        await submit('/v1/requests', { request_id: `run-${number}`, agent: 'helper', query: 'hello' });
      }
      await delay(BETWEEN_MS);
    }
  }

  const flowing = flow();
  return {
    calls,
    runs,
    async stop(): Promise<void> {
      stopped = true;
      await flowing;
    },
  };
}

async function replace(
  installation: Installation,
  place: { role: Role; now: AdjutantProcess },
): Promise<void> {
  const old = place.now;
  place.now = await installation.start(place.role);
  expect(await old.stop(DRAIN_MS + CLOSING_MS), place.role).toEqual({ code: 0, signal: null });
}

test('every process of every role is replaced under load: nothing is lost, nothing is repeated', async () => {
  await using installation = await install({ server: { lane: { concurrency: 10 } }, config: CONFIG });
  const roles: Role[] = ['api', 'engine', 'worker', 'worker'];
  const places = await Promise.all(
    roles.map(async (role) => ({ role, now: await installation.start(role) })),
  );
  const apiUrl = (): string => places.find(({ role }) => role === 'api')?.now.url ?? '';
  const load = startLoad(apiUrl);
  await installation.untilExecuted(({ length }) => length >= 20);
  for (const place of places) {
    await replace(installation, place);
    const before = installation.executions().length;
    await installation.untilExecuted(({ length }) => length >= before + 10);
  }
  await load.stop();
  await untilClosed(apiUrl(), 'rolling');
  for (const run of load.runs) await untilClosed(apiUrl(), run);

  const results = await auditRequest(apiUrl(), 'rolling', load.calls);
  expect(outcomes(results.values())).toEqual({ ok: load.calls.length });
  const executions = executionsByLabel(installation.executions());
  const repeated = load.calls.filter((id) => executions.get(id)?.length !== 1);
  expect(repeated, 'calls that were not made exactly once').toEqual([]);
  const views = await Promise.all(
    load.runs.map(async (run) => (await get<RequestView>(`${apiUrl()}/v1/requests/${run}`)).body),
  );
  expect(views.map(({ run }) => run?.status)).toEqual(load.runs.map(() => 'completed'));
  expect(installation.serverPids().length, 'MCP servers of old and new workers').toBeGreaterThan(2);
});
