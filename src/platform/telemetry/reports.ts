// What the folders report of their work: measurements, and the ends of directives. One value for all of them.
// Must never be needed for the work itself: with NO_REPORTS everything goes on.
import { tagsOf } from '../../contract/directive/tags.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { FailureLog } from './failure-log.ts';
import { type Meters, NO_METERS } from './metrics/meters.ts';

/** Kinds of names by which statistics count; '': everything. */
export type CountedGroup = '' | 'agent' | 'model' | 'tool' | 'tag' | 'score';

/** Counts of one thing that began or ended. */
export interface FactCounts {
  readonly started?: boolean;
  /** `errorType` null: it succeeded. `durationMs` null: unknown. */
  readonly ended?: { readonly errorType: string | null; readonly durationMs: number | null };
  readonly waitedMs?: number;
  readonly tokens?: { readonly input: number; readonly output: number } | null;
  /** US dollars; null: the model has no price. */
  readonly cost?: number | null;
  readonly toolCalls?: number;
  readonly modelCalls?: number;
  readonly score?: { readonly value: number; readonly passed: boolean | undefined };
}

/** What is counted, and in which series. */
export interface CountedFact extends FactCounts {
  readonly series: readonly (readonly [group: CountedGroup, name: string])[];
}

/** Counts in the statistics of the request's tenant. */
export type CountFact = (requestId: string, fact: CountedFact) => void;

/** The series of everything. */
export const EVERYTHING: CountedFact['series'][number] = ['', ''];

export interface EndedDirective {
  readonly requestId: string;
  readonly id: string;
  readonly type: string;
  /** Its caller's and its run's; only names are read. */
  readonly metadata: unknown;
  readonly lane: string | null;
  readonly traceparent: string;
  /** null: it succeeded. */
  readonly error: ErrorEnvelope | null;
  /** From its acceptance, milliseconds; null: not known here. */
  readonly durationMs: number | null;
}

export interface Reports {
  readonly meters: Meters;
  /** Called where something begins or ends, at most once for each. */
  readonly count: CountFact;
  /** A directive has just ended. Once for each end, wherever it ended. */
  ended(directive: EndedDirective): void;
}

export const NO_REPORTS: Reports = { meters: NO_METERS, count: () => {}, ended: () => {} };

export function createReports(
  meters: Meters,
  failures: Pick<FailureLog, 'failed'>,
  count: CountFact,
): Reports {
  return {
    meters,
    count,
    ended({ type, error, durationMs, metadata, ...about }) {
      const series = seriesAlone(metadata);
      if (series !== null)
        count(about.requestId, { series, ended: { errorType: error?.type ?? null, durationMs } });
      const isUnknown = error?.type === 'outcome_unknown' || error?.details['outcome'] === 'unknown';
      meters.ended({ type, errorType: error?.type ?? null, isUnknown, durationMs });
      if (error !== null) failures.failed({ ...about, type, error });
    },
  };
}

/** Series of a directive without a run, beside those of its tool or model; null: its run is counted in its place. */
export function seriesAlone(metadata: unknown): CountedFact['series'] | null {
  if (isObject(metadata) && typeof metadata['run_id'] === 'string') return null;
  return [EVERYTHING, ...tagsOf(metadata).map((tag) => ['tag', tag] as const)];
}
