// The reports of the folders about their work: measurements, and the ends of directives. One value for all of them,
// which the work itself never needs.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { FailureLog } from './failure-log.ts';
import { type Meters, NO_METERS } from './metrics/meters.ts';

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

export interface Reports {
  readonly meters: Meters;
  /** A directive has just ended. Once for each end, wherever it ended. */
  ended(directive: EndedDirective): void;
}

export const NO_REPORTS: Reports = { meters: NO_METERS, ended: () => {} };

export function createReports(meters: Meters, failures: Pick<FailureLog, 'failed'>): Reports {
  return {
    meters,
    ended({ type, error, durationMs, ...about }) {
      const isUnknown = error?.type === 'outcome_unknown' || error?.details['outcome'] === 'unknown';
      meters.ended({ type, errorType: error?.type ?? null, isUnknown, durationMs });
      if (error !== null) failures.failed({ ...about, type, error });
    },
  };
}
