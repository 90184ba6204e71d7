/** The promises about keys: one directive in a window, one open at a time, whoever submits and whatever dies.
 *  It must never look at what the service says of the key: only at what there is. */
import type { ToolExecution } from './executions.ts';
import type { FiredRequest } from './schedule-rules.ts';

export type OnceKind = 'dedupe' | 'singleton';

export interface OnceEvidence {
  readonly kind: OnceKind;
  readonly windowMs: number;
  /** Those that answers have named, by id. */
  readonly requests: ReadonlyMap<string, FiredRequest>;
  /** Answers that were lost may have begun others. */
  readonly lost: number;
  readonly executions: readonly ToolExecution[];
}

/** Instants of one clock, each rounded to a millisecond. */
const ROUNDING_MS = 2;

export function onceViolationsOf({ kind, windowMs, requests, lost, executions }: OnceEvidence): string[] {
  const inOrder = [...requests].toSorted(([, left], [, right]) => left.acceptedAt - right.acceptedAt);
  const found = inOrder.slice(1).flatMap(([id, { acceptedAt }], index) => {
    const [before, { acceptedAt: beganAt, closedAt }] = inOrder[index] as [string, FiredRequest];
    const earliest = kind === 'dedupe' ? beganAt + windowMs : closedAt;
    const earlyMs = earliest - acceptedAt;
    return earlyMs > ROUNDING_MS
      ? [`${kind}: ${id} was accepted ${earlyMs} ms too early after ${before}`]
      : [];
  });
  const keys = new Set(executions.map(({ key }) => key)).size;
  if (keys > requests.size + lost)
    found.push(`${kind}: ${keys} were executed, ${requests.size} were accepted`);
  return found;
}
