// The seam of metrics: what the rest of the service reports, as facts; each becomes a few measurements here.
// Must never throw, wait, or let a value that a caller chose become a label.
import type { CallVocabulary } from '../../../contract/directive/directive.ts';
import { ERROR_TYPES } from '../../../contract/error-envelope.ts';
import type { MetricName } from './metric-names.ts';
import { LABEL } from './metric.ts';
import { NEWEST_GEN_AI } from '../traces/semantic-names.ts';

type Labels = Readonly<Record<string, string>>;

/** One measurement of a counter or histogram. */
export type Measure = (metric: MetricName, value: number, labels: Labels) => void;

export interface AttemptFacts {
  readonly lane: string;
  /** Outcome of the attempt, as the kinds of `Outcome`. */
  readonly outcome: string;
  /** null: it ended well, or was given back without an error. */
  readonly errorType: string | null;
  readonly durationMs: number;
}

export interface EndFacts {
  readonly type: string;
  /** null: success. */
  readonly errorType: string | null;
  /** Whether the call may have happened although the end does not say so. */
  readonly isUnknown: boolean;
  /** From the acceptance, milliseconds; null: not known here. */
  readonly durationMs: number | null;
}

export interface ModelCallFacts {
  readonly operation: 'chat' | 'embeddings';
  /** The operation and its origin, as in the metadata of signals. */
  readonly call: CallVocabulary;
  readonly provider: string;
  readonly model: string;
  readonly errorType: string | null;
  readonly durationMs: number;
  /** null: the answer was not streamed, or did not arrive. */
  readonly firstChunkMs: number | null;
  /** null: not known. */
  readonly tokens: { readonly input: number; readonly output: number } | null;
  /** US dollars; null: the model has no price. */
  readonly cost: number | null;
}

export interface RunEndFacts {
  readonly agent: string;
  readonly status: string;
  readonly durationMs: number;
}

export interface HttpFacts {
  readonly method: string;
  /** The template of the path; null: the request matched no route. */
  readonly route: string | null;
  readonly status: number;
  readonly durationMs: number;
}

export interface Meters {
  /** A worker begins to serve the lane. */
  served(lane: string): void;
  /** `waitMs`: since the attempt could have begun. `redelivered`: its last worker was lost. */
  claimed(lane: string, waitMs: number, redelivered: boolean): void;
  attempted(facts: AttemptFacts): void;
  ended(facts: EndFacts): void;
  modelCalled(facts: ModelCallFacts): void;
  swept(what: 'enqueued' | 'ended'): void;
  archived(outcome: 'stored' | 'failed' | 'lost', count: number): void;
  scheduleFired(outcome: 'fired' | 'skipped' | 'failed' | 'missed', count: number): void;
  reconnected(server: string): void;
  runStarted(agent: string): void;
  runEnded(facts: RunEndFacts): void;
  turnTaken(durationMs: number): void;
  answered(facts: HttpFacts): void;
  refused(code: string): void;
  exportFailed(signal: 'traces' | 'metrics'): void;
  spansLost(reason: 'queue_full' | 'export_failed', count: number): void;
}

export interface KnownNames {
  readonly agents: Iterable<string>;
  /** As `provider:model`. */
  readonly models: Iterable<string>;
  /** Types of directives whose calls have an unknown outcome. */
  readonly types: Iterable<string>;
  /** Groups of conventions whose newest names are used, as in `TracingSettings`. Default: none. */
  readonly newNames?: readonly string[];
}

/** Models beside the configured ones: callers may name any. */
const MOST_OTHER_MODELS = 50;

const NONE: Labels = {};
const ERRORS: ReadonlySet<string> = new Set(ERROR_TYPES);
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Tools and modules name errors of their own. */
function errorLabel(type: string | null): Labels {
  return type === null ? NONE : { [LABEL.errorType]: ERRORS.has(type) ? type : OTHER };
}

/** Counters that alerts watch are there from the start: `increase` does not count the value that a series begins with. */
export function beginAtZero(measure: Measure, { types }: Pick<KnownNames, 'types'>): void {
  for (const type of types) measure('outcomeUnknown', 0, { [LABEL.type]: type });
  for (const metric of ['sweeperEnqueues', 'sweeperEnds'] as const) measure(metric, 0, NONE);
}

export function createMeters(measure: Measure, known: Omit<KnownNames, 'types'>): Meters {
  const agentLabel = boundedNames(known.agents, 0);
  const modelLabel = boundedNames(known.models, MOST_OTHER_MODELS);
  const isNewest = known.newNames?.includes(NEWEST_GEN_AI) ?? false;
  return {
    ...directiveMeters(measure),
    ...runMeters(measure, agentLabel),
    modelCalled: (facts) => measureModelCall(measure, facts, modelLabel, isNewest),
    reconnected: (server) => measure('mcpReconnects', 1, { [LABEL.server]: server }),
    answered({ method, route, status, durationMs }) {
      measure('httpDuration', durationMs / 1_000, {
        [LABEL.httpMethod]: METHODS.has(method) ? method : OTHER,
        [LABEL.httpRoute]: route ?? OTHER,
        [LABEL.httpStatus]: String(status),
      });
    },
    archived: (outcome, count) => measure('archived', count, { [LABEL.outcome]: outcome }),
    scheduleFired: (outcome, count) => measure('scheduleFirings', count, { [LABEL.outcome]: outcome }),
    refused: (code) => measure('refusals', 1, { [LABEL.code]: code }),
    exportFailed: (signal) => measure('exportFailures', 1, { [LABEL.signal]: signal }),
    spansLost: (reason, count) => measure('lostSpans', count, { [LABEL.reason]: reason }),
  };
}

function directiveMeters(measure: Measure) {
  return {
    served: (lane: string): void => measure('redeliveries', 0, { [LABEL.lane]: lane }),
    claimed(lane: string, waitMs: number, redelivered: boolean): void {
      measure('laneWait', Math.max(0, waitMs) / 1_000, { [LABEL.lane]: lane });
      if (redelivered) measure('redeliveries', 1, { [LABEL.lane]: lane });
    },
    attempted({ lane, outcome, errorType, durationMs }: AttemptFacts): void {
      const labels = { [LABEL.lane]: lane, [LABEL.outcome]: outcome };
      measure('attempts', 1, { ...labels, ...errorLabel(errorType) });
      measure('attemptDuration', durationMs / 1_000, labels);
    },
    ended({ type, errorType, isUnknown, durationMs }: EndFacts): void {
      const labels = { [LABEL.type]: type, [LABEL.outcome]: endOutcome(errorType) };
      measure('results', 1, { ...labels, ...errorLabel(errorType) });
      if (durationMs !== null) measure('directiveDuration', Math.max(0, durationMs) / 1_000, labels);
      if (isUnknown) measure('outcomeUnknown', 1, { [LABEL.type]: type });
    },
    swept: (what: 'enqueued' | 'ended'): void =>
      measure(what === 'ended' ? 'sweeperEnds' : 'sweeperEnqueues', 1, NONE),
  };
}

function endOutcome(errorType: string | null): 'succeeded' | 'cancelled' | 'failed' {
  if (errorType === null) return 'succeeded';
  return errorType === 'cancelled' ? 'cancelled' : 'failed';
}

function runMeters(measure: Measure, agentLabel: (name: string) => string) {
  return {
    runStarted: (agent: string): void => measure('runsStarted', 1, { [LABEL.agent]: agentLabel(agent) }),
    runEnded({ agent, status, durationMs }: RunEndFacts): void {
      const labels = { [LABEL.agent]: agentLabel(agent), [LABEL.status]: status };
      measure('runsEnded', 1, labels);
      measure('runDuration', Math.max(0, durationMs) / 1_000, labels);
    },
    turnTaken: (durationMs: number): void => measure('turnDuration', durationMs / 1_000, NONE),
  };
}

function measureModelCall(
  measure: Measure,
  facts: ModelCallFacts,
  modelLabel: (name: string) => string,
  isNewest: boolean,
): void {
  const { operation, call, provider, errorType, durationMs, firstChunkMs, tokens, cost } = facts;
  const named = modelLabel(`${provider}:${facts.model}`);
  const model = named === OTHER ? OTHER : facts.model;
  const whose = { [LABEL.provider]: provider, [LABEL.model]: model };
  const asked = { [LABEL.callOperation]: call.operation ?? OTHER, [LABEL.origin]: call.origin };
  const labels = { [LABEL.operation]: operation, ...asked, ...whose };
  // The newest names are those of inference: embeddings keep theirs.
  const isInference = isNewest && operation === 'chat';
  const duration = isInference ? 'inferenceDuration' : 'modelDuration';
  measure(duration, durationMs / 1_000, { ...labels, ...errorLabel(errorType) });
  if (firstChunkMs !== null)
    measure(isInference ? 'inferenceFirstChunk' : 'firstChunk', firstChunkMs / 1_000, labels);
  if (tokens !== null) (isInference ? countTokens : distributeTokens)(measure, tokens, labels);
  if (cost !== null && cost > 0) measure('cost', cost, whose);
}

type Tokens = NonNullable<ModelCallFacts['tokens']>;

function countTokens(measure: Measure, { input, output }: Tokens, labels: Labels): void {
  measure('inferenceInputTokens', input, labels);
  if (output > 0) measure('inferenceOutputTokens', output, labels);
}

function distributeTokens(measure: Measure, { input, output }: Tokens, labels: Labels): void {
  measure('tokenUsage', input, { ...labels, [LABEL.tokenType]: 'input' });
  if (output > 0) measure('tokenUsage', output, { ...labels, [LABEL.tokenType]: 'output' });
}

/** Nothing is measured. */
export const NO_METERS: Meters = createMeters(() => {}, { agents: [], models: [] });

/** OpenTelemetry's name of a value outside the known ones. */
const OTHER = '_OTHER';

/** `most` others beside the known ones. */
function boundedNames(known: Iterable<string>, most: number): (name: string) => string {
  const names = new Set(known);
  const limit = names.size + most;
  return (name) => {
    if (names.has(name)) return name;
    if (names.size >= limit) return OTHER;
    names.add(name);
    return name;
  };
}
