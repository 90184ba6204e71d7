// The report of a directive that has just ended, wherever it ended: what is counted, and the line about a failure.
// Must never be called twice for one end, nor wait.
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import type { FailureLog } from './failure-log.ts';
import type { Meters } from './meters.ts';

export interface EndedDirective {
  readonly requestId: string;
  readonly id: string;
  readonly type: string;
  readonly lane: string | null;
  readonly traceparent: string;
  /** null: it succeeded. */
  readonly error: ErrorEnvelope | null;
  /** From its acceptance, milliseconds; null: not known here. */
  readonly durationMs: number | null;
}

export type ReportEnd = (ended: EndedDirective) => void;

export const NO_REPORT: ReportEnd = () => {};

export function reportEnds(meters: Pick<Meters, 'ended'>, failures: Pick<FailureLog, 'failed'>): ReportEnd {
  return ({ type, error, durationMs, ...about }) => {
    const isUnknown = error?.type === 'outcome_unknown' || error?.details['outcome'] === 'unknown';
    meters.ended({ type, errorType: error?.type ?? null, isUnknown, durationMs });
    if (error !== null) failures.failed({ ...about, type, error });
  };
}
