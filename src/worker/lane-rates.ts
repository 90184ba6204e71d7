// How many attempts of each lane ended here in the last minute, and how many of them failed.
// Must never keep more than a minute, nor cost an attempt more than a few additions.
import type { Meters } from '../platform/telemetry/metrics/meters.ts';
import type { Reports } from '../platform/telemetry/reports.ts';

const SPAN_MS = 10_000;
const SPANS = 6;

export interface LaneRate {
  readonly attempts: number;
  readonly failed: number;
}

interface Span {
  /** Which span since the clock began. */
  nth: number;
  attempts: number;
  failed: number;
}

export interface LaneRates {
  note(lane: string, isFailed: boolean): void;
  of(lane: string): LaneRate;
}

/** `now`: milliseconds of a clock that never goes back. */
export function createLaneRates(now: () => number = () => performance.now()): LaneRates {
  const lanes = new Map<string, Span[]>();
  return {
    note(lane, isFailed) {
      const nth = Math.floor(now() / SPAN_MS);
      const spans =
        lanes.get(lane) ?? Array.from({ length: SPANS }, () => ({ nth: -1, attempts: 0, failed: 0 }));
      lanes.set(lane, spans);
      const span = spans[nth % SPANS] as Span;
      if (span.nth !== nth) Object.assign(span, { nth, attempts: 0, failed: 0 });
      span.attempts += 1;
      if (isFailed) span.failed += 1;
    },
    of(lane) {
      const oldest = Math.floor(now() / SPAN_MS) - SPANS;
      const shown = (lanes.get(lane) ?? []).filter(({ nth }) => nth > oldest);
      return {
        attempts: shown.reduce((sum, { attempts }) => sum + attempts, 0),
        failed: shown.reduce((sum, { failed }) => sum + failed, 0),
      };
    },
  };
}

/** The outcomes that failed by themselves, and not by a cancellation or a stop. */
const FAILED: ReadonlySet<string> = new Set(['end', 'retry', 'fallback']);

/** Given back without an outcome, as the journal counts them: a storm of pauses is no storm of attempts. */
const NOT_ATTEMPTS: ReadonlySet<string> = new Set(['pause', 'release', 'ask']);

/** The same reports, with each attempt counted in the rates. */
export function countingAttempts(reports: Reports, rates: Pick<LaneRates, 'note'>): Reports {
  const attempted: Meters['attempted'] = (facts) => {
    const { lane, outcome, errorType } = facts;
    if (!NOT_ATTEMPTS.has(outcome))
      rates.note(lane, errorType !== null && errorType !== 'cancelled' && FAILED.has(outcome));
    reports.meters.attempted(facts);
  };
  return { ...reports, meters: { ...reports.meters, attempted } };
}
