/** The promises about a request, checked against its whole log through the public API.
 *  It must never wait: what it checks must be over. */
import { expect } from 'vitest';
import type { RequestView } from '../../src/contract/request/request-view.ts';
import { type Signal, signalSchema } from '../../src/contract/signal/signal.ts';
import type { SignalPage } from '../../src/contract/signal/signal-page.ts';
import type { ToolExecution } from './installation.ts';
import { get } from './public-api.ts';

export type ToolResult = Extract<Signal, { type: 'ai.tool.result' }>;

/** Every accepted directive ended exactly once, the sequence is dense from 1, and nothing is open. Returns the results by id. */
export async function auditRequest(
  url: string,
  requestId: string,
  ids: readonly string[],
): Promise<Map<string, ToolResult>> {
  const { body: view } = await get<RequestView>(`${url}/v1/requests/${requestId}`);
  expect(view).toMatchObject({ request_id: requestId, status: 'closed', open: 0 });
  expect(view.directives.map(({ id }) => id).toSorted()).toEqual([...ids].toSorted());
  const signals = await wholeLog(url, requestId);
  expect(signals.map(({ sequence }) => sequence)).toEqual(signals.map((_, index) => index + 1));
  expect(signals.length).toBe(view.sequence);
  for (const signal of signals) signalSchema.parse(signal);
  expect(new Set(signals.map(({ id }) => id)).size, 'signals with an id of their own').toBe(signals.length);
  const started = signals
    .filter(({ type }) => type === 'ai.tool.started')
    .map(({ causationid }) => causationid);
  expect(new Set(started).size, 'directives that started once').toBe(started.length);
  const results = signals.filter((signal) => signal.type === 'ai.tool.result');
  expect(results.map(({ data }) => data.call_id).toSorted()).toEqual([...ids].toSorted());
  const byId = new Map(results.map((signal) => [signal.data.call_id, signal]));
  // A directive ends by the attempt that was allowed last, not by one that was taken over.
  for (const { id, attempts } of view.directives)
    expect(byId.get(id)?.attempt ?? attempts, id).toBe(attempts);
  return byId;
}

async function wholeLog(url: string, requestId: string): Promise<Signal[]> {
  const signals: Signal[] = [];
  for (;;) {
    const path = `/v1/requests/${requestId}/signals?limit=1000&after=${signals.length}`;
    const { body } = await get<SignalPage>(url + path);
    signals.push(...body.signals);
    if (body.signals.length === 0) return signals;
  }
}

/** 'ok', or the type of the error. */
export function outcome(signal: ToolResult | undefined): string {
  if (signal === undefined) return 'missing';
  return signal.data.result.ok ? 'ok' : signal.data.result.error.type;
}

/** The count of each outcome. */
export function outcomes(results: Iterable<ToolResult>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const signal of results) counts[outcome(signal)] = (counts[outcome(signal)] ?? 0) + 1;
  return counts;
}

/** Executions by label; checks that all of a label share one idempotency key, which no other label has. */
export function executionsByLabel(executions: readonly ToolExecution[]): Map<string, ToolExecution[]> {
  const byLabel = Map.groupBy(executions, ({ label }) => label);
  const keys = [...byLabel.values()].map((group) => new Set(group.map(({ key }) => key)));
  expect(
    keys.every((group) => group.size === 1),
    'one key for each directive',
  ).toBe(true);
  expect(new Set(keys.flatMap((group) => [...group])).size, 'keys of their own').toBe(byLabel.size);
  return byLabel;
}
