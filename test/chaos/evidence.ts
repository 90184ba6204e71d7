/** Everything visible of one request from outside: the public API, the counter files, the driver's history.
 *  It must never look into the service's own records. */
import { isDeepStrictEqual } from 'node:util';
import { executionsOf, type ToolExecution } from './executions.ts';
import { acceptedIds, plannedById, possibleIds, type Fault, type RequestHistory } from './history.ts';
import type { PlannedDirective } from './plan.ts';
import { type TaskLine, taskLines } from './task-log.ts';
import { read } from './transport.ts';
import type { WireRequest, WireSignal, WireSignalPage } from './wire.ts';

export interface Evidence {
  readonly history: RequestHistory;
  /** null: the service has no such request. */
  readonly view: WireRequest | null;
  readonly signals: readonly WireSignal[];
  readonly executions: ReadonlyMap<string, readonly ToolExecution[]>;
  /** What the task server has written of calls. */
  readonly tasks: ReadonlyMap<string, readonly TaskLine[]>;
  readonly faults: readonly Fault[];
  readonly planned: ReadonlyMap<string, PlannedDirective>;
  /** Directives that must exist, and those that may. */
  readonly accepted: ReadonlySet<string>;
  readonly possible: ReadonlySet<string>;
  /** One directive as its own resource shows it; null: there is none. */
  readonly single: { readonly id: string; readonly resultId: string | null } | null;
}

const PAGE = 1_000;
const MOST_READS = 20;

/** null: the service did not answer. */
export async function readRequest(
  apis: readonly string[],
  requestId: string,
): Promise<{ view: WireRequest | null } | null> {
  const answer = await read<WireRequest>(apis, `/v1/requests/${requestId}`);
  return answer === null ? null : { view: answer.status === 200 ? answer.body : null };
}

/** The request and its log as they were at one instant: what is still open may change between two reads. null: no such answer. */
export async function readSnapshot(
  apis: readonly string[],
  requestId: string,
): Promise<{ view: WireRequest | null; signals: readonly WireSignal[] } | null> {
  for (let read = 0; read < MOST_READS; read += 1) {
    const known = await readRequest(apis, requestId);
    const signals = known?.view ? await wholeLog(apis, requestId) : [];
    if (known === null || signals === null) return null;
    if (known.view?.status !== 'open') return { view: known.view, signals };
    const after = await readRequest(apis, requestId);
    if (isDeepStrictEqual(after?.view, known.view)) return { view: known.view, signals };
  }
  return null;
}

export async function gather(
  history: RequestHistory,
  { apis, folder, faults }: { apis: readonly string[]; folder: string; faults: readonly Fault[] },
): Promise<Evidence | null> {
  const known = await readSnapshot(apis, history.requestId);
  const single = await readSingle(apis, history.requestId, known?.view?.directives.at(-1)?.id);
  if (known === null) return null;
  const { signals } = known;
  const planned = plannedById(history);
  const calls = [...planned.values()].filter(({ label }) => label !== '');
  const executions = new Map(calls.map(({ id, label }) => [id, executionsOf(folder, label)]));
  const tasks = new Map(calls.map(({ id, label }) => [id, taskLines(folder, label)]));
  const accepted = acceptedIds(history);
  const possible = possibleIds(history);
  return {
    history,
    view: known.view,
    signals,
    executions,
    tasks,
    faults,
    planned,
    accepted,
    possible,
    single,
  };
}

async function readSingle(
  apis: readonly string[],
  requestId: string,
  id: string | undefined,
): Promise<Evidence['single']> {
  if (id === undefined) return null;
  const answer = await read<{ result: WireSignal | null }>(
    apis,
    `/v1/requests/${requestId}/directives/${id}`,
  );
  // Its request may have expired since it was read.
  const isGone = answer?.status === 404 && ((await readRequest(apis, requestId))?.view ?? null) === null;
  return answer === null || isGone ? null : { id, resultId: answer.body.result?.id ?? null };
}

async function wholeLog(apis: readonly string[], requestId: string): Promise<WireSignal[] | null> {
  const signals: WireSignal[] = [];
  for (;;) {
    const path = `/v1/requests/${requestId}/signals?limit=${PAGE}&after=${signals.at(-1)?.sequence ?? 0}`;
    const page = await read<WireSignalPage>(apis, path);
    if (page === null) return null;
    if (page.status !== 200 || page.body.signals.length === 0) return signals;
    signals.push(...page.body.signals);
  }
}
