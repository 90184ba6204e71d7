/** The promises about directives that begin later: none before its instant, none after it had to begin.
 *  It must never trust the instant that the service shows: it computes its own from the acceptance and the plan. */
import type { Case } from './directive-case.ts';
import type { PlannedDirective } from './plan.ts';
import type { WireDirective } from './wire.ts';

/** What waits before it begins. */
export interface PlannedWait {
  readonly delayMs: number;
  /** null: it may begin whenever. */
  readonly startByMs: number | null;
}

/** Instants of one clock, each rounded to a millisecond. */
const ROUNDING_MS = 2;
/** A start that its claim has not written yet is written within the claim's lease. */
const STARTED_WITHIN_MS = 6_000;
/** Redis may have been away, and a sweeper must take over. */
const LATE_MS = 30_000;

/** When its first attempt may begin, and from when on its deadline counts. */
function beginsAt(view: WireDirective, { wait }: Pick<PlannedDirective, 'wait'>): number {
  return Date.parse(view.accepted_at) + (wait?.delayMs ?? 0);
}

export function deadlineAt(
  view: WireDirective,
  planned: Pick<PlannedDirective, 'wait' | 'deadlineMs'>,
): number {
  return beginsAt(view, planned) + planned.deadlineMs;
}

export function checkLater(all: Case): string[] {
  const { view, planned, signals, executions } = all;
  if (planned.wait === undefined) return [];
  const begins = beginsAt(view, planned);
  const early = executions.filter(({ at }) => at < begins - ROUNDING_MS);
  const found = early.map(({ at }) => `executed ${begins - at} ms before it might begin`);
  const started = signals.find(({ type }) => type === 'ai.tool.started');
  const startedAt = started === undefined ? null : Date.parse(started.time);
  if (startedAt !== null && startedAt < begins - ROUNDING_MS)
    found.push(`said to have started ${begins - startedAt} ms before it might begin`);
  return [...found, ...checkStartBy(all, begins, startedAt)];
}

function checkStartBy(
  { planned, terminal, result, executions }: Case,
  begins: number,
  startedAt: number | null,
) {
  const type = result === null || result.ok ? null : result.error.type;
  const by = planned.wait?.startByMs ?? null;
  if (by === null) return [];
  const startBy = begins + by;
  const endedAt = Date.parse(terminal.time);
  const found: string[] = [];
  if (startedAt !== null && startedAt > startBy + STARTED_WITHIN_MS)
    found.push(`began ${startedAt - startBy} ms after it had to`);
  if (type === 'expired' && (executions.length > 0 || startedAt !== null))
    found.push('ended as expired, and had begun');
  if (type === 'expired' && endedAt < startBy - ROUNDING_MS)
    found.push(`ended as expired, ${startBy - endedAt} ms too early`);
  if (startedAt === null && endedAt > startBy + LATE_MS)
    found.push(`had to begin, never did, and ended ${endedAt - startBy} ms later as ${type}`);
  return found;
}
