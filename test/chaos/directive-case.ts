/** One directive and everything known about it, as input of the rules about directives.
 *  It must never judge. */
import type { Evidence } from './evidence.ts';
import type { ToolExecution } from './executions.ts';
import type { Fault, FaultKind } from './history.ts';
import type { PlannedDirective } from './plan.ts';
import type { TaskLine } from './task-log.ts';
import type { WireDirective, WireResult, WireSignal } from './wire.ts';

export interface Case {
  readonly evidence: Evidence;
  readonly view: WireDirective;
  readonly planned: PlannedDirective;
  readonly signals: readonly WireSignal[];
  readonly terminal: WireSignal;
  /** null: an end without a result, `ai.request.error`. */
  readonly result: WireResult | null;
  readonly executions: readonly ToolExecution[];
  /** What the task server has written of it. */
  readonly tasks: readonly TaskLine[];
}

export const MAX_REDELIVERIES = 3;
/** A fault has effects for a while: work in flight is found when leases, locks and connections have timed out. */
const AFTERMATH_MS = 60_000;

export const ENDS_AN_ATTEMPT: readonly FaultKind[] = [
  'worker killed',
  'worker in a crash loop',
  'worker stopped for a while',
  'worker cut off',
  'worker told to stop',
  'redis killed',
];
export const TOOL_FAULTS: readonly FaultKind[] = [
  'stdio server killed',
  'http server killed',
  ...ENDS_AN_ATTEMPT,
];

export function errorType(result: WireResult | null): string | null {
  return result === null || result.ok ? null : result.error.type;
}

/** Faults of these kinds that may have affected the directive. */
export function during({ evidence, view, terminal }: Case, kinds: readonly FaultKind[]): Fault[] {
  const from = Date.parse(view.accepted_at) - AFTERMATH_MS;
  const to = Date.parse(terminal.time);
  return evidence.faults.filter(({ kind, at }) => kinds.includes(kind) && at >= from && at <= to);
}

const WORKER_FAULTS: readonly FaultKind[] = [
  'worker killed',
  'worker in a crash loop',
  'worker stopped for a while',
  'worker cut off',
];
/** Two workers, and the process of all roles. */
const WORKERS = 3;
const STEP_MS = 100;

/** How long between two instants some worker was running with all that it needs, milliseconds. */
export function servedMs(faults: readonly Fault[], from: number, to: number): number {
  const lasting = faults.filter(({ at, overAt }) => at < to && (overAt ?? Infinity) > from);
  const counts = (kinds: readonly FaultKind[], now: number): number =>
    lasting.filter(({ kind, at, overAt }) => kinds.includes(kind) && at <= now && (overAt ?? Infinity) > now)
      .length;
  let served = 0;
  for (let now = from; now < to; now += STEP_MS) {
    const away = counts(['redis killed', 'http server killed'], now) > 0;
    if (!away && counts(WORKER_FAULTS, now) < WORKERS) served += STEP_MS;
  }
  return served;
}

/** Workers that were stopped while the directive was open: their unfinished work goes to another worker. */
export function stopsDuring(all: Case): number {
  return during(all, ['worker told to stop']).filter(
    ({ at }) => at >= Date.parse(all.view.accepted_at) - 10_000,
  ).length;
}
