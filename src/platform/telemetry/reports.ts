// The reports of the folders about their work: measurements, and the ends of directives. One value for all of them,
// which the work itself never needs.
import { tagsOf } from '../../contract/directive/tags.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { WEBHOOK_TYPE } from '../../contract/signal/webhook.ts';
import { toolNameIn } from '../../contract/tool/tool-pattern.ts';
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

/** Counts, and the series that they belong to. */
export interface CountedFact extends FactCounts {
  readonly series: readonly (readonly [group: CountedGroup, name: string])[];
}

/** Counts in the statistics of the request's tenant. */
export type CountFact = (requestId: string, fact: CountedFact) => void;

/** Directive as far as it is counted. */
export interface CountedDirective {
  readonly type: string;
  readonly tool_name?: unknown;
  readonly metadata?: unknown;
}

/** The series of everything. */
export const EVERYTHING: CountedFact['series'][number] = ['', ''];

export interface EndedDirective {
  readonly requestId: string;
  readonly id: string;
  /** Only its type and its names are read. */
  readonly directive: CountedDirective;
  readonly lane: string | null;
  readonly traceparent: string;
  /** null: it succeeded. */
  readonly error: ErrorEnvelope | null;
  /** From its acceptance, milliseconds; null: not known here. */
  readonly durationMs: number | null;
  /** From its last claim, milliseconds. Absent: it was not claimed, or elsewhere. */
  readonly attemptMs?: number | undefined;
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
    ended({ directive, error, durationMs, attemptMs = null, ...about }) {
      const { type } = directive;
      countEnd(count, about, directive, { errorType: error?.type ?? null, durationMs, attemptMs });
      const isUnknown = error?.type === 'outcome_unknown' || error?.details['outcome'] === 'unknown';
      meters.ended({ type, errorType: error?.type ?? null, isUnknown, durationMs });
      if (error !== null) failures.failed({ ...about, type, error });
    },
  };
}

interface CountedEnd {
  readonly errorType: string | null;
  readonly durationMs: number | null;
  readonly attemptMs: number | null;
}

function countEnd(
  count: CountFact,
  { requestId, lane }: Pick<EndedDirective, 'requestId' | 'lane'>,
  directive: CountedDirective,
  { errorType, durationMs, attemptMs }: CountedEnd,
): void {
  const alone = seriesAlone(directive);
  if (alone.length > 0) count(requestId, { series: alone, ended: { errorType, durationMs } });
  const tool = toolSeries(directive, lane);
  if (tool.length === 0) return;
  count(requestId, { series: tool, ended: { errorType, durationMs: attemptMs }, toolCalls: 1 });
  count(requestId, { series: alone.length > 0 ? alone : [EVERYTHING], toolCalls: 1 });
}

/** Series of a directive that counts as a request: none where its run does, and none of a delivery. */
export function seriesAlone({ type, metadata }: CountedDirective): CountedFact['series'] {
  const isOfRun = isObject(metadata) && typeof metadata['run_id'] === 'string';
  if (isOfRun || type === WEBHOOK_TYPE) return [];
  return [EVERYTHING, ...tagsOf(metadata).map((tag) => ['tag', tag] as const)];
}

/** Series of the tool that a directive calls; none where it calls none. */
export function toolSeries(
  { type, tool_name: name }: CountedDirective,
  lane: string | null,
): CountedFact['series'] {
  return type === 'tool_exec' && typeof name === 'string' ? [['tool', toolNameIn(lane, name)]] : [];
}
