// The outcome of a model call for callers: result, usage, metadata.
// Must never report the usage of a failed call like that of a success.
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';
import { type ModelRef, parseModelName } from '../../contract/model/model-name.ts';
import { errorResult, okResult } from '../../contract/result.ts';
import type { Usage } from '../../contract/model/usage.ts';
import type { ModelFailure } from '../../models/answers/model-failure.ts';
import { costUsd } from '../../models/pricing.ts';
import type { ModelProviders } from '../../models/providers.ts';
import type { SpentTokens } from '../../models/answers/spent-tokens.ts';
import type { Execution, ExecutionContext } from './definition.ts';
import { pauseScope } from './llm-reservation.ts';
import { usageAttributes } from './model-attributes.ts';

type Metadata = Record<string, unknown>;

interface ModelDirective {
  id: string;
  model?: string | undefined;
  model_alias?: string | undefined;
}

/** The current model; an error when the directive was accepted without a reachable one. */
export function modelOf(context: ExecutionContext): ModelRef | { error: ErrorEnvelope } {
  const name = context.models[context.candidate.index];
  const ref = name === undefined ? null : parseModelName(name);
  if (ref) return ref;
  const message =
    name === undefined ? 'no model was chosen for the directive' : `"${name}" is not provider:model`;
  return { error: errorEnvelope('unknown_model', message, {}) };
}

/** Metadata of every result: which model was called, and why this one. */
export function modelMetadata(
  directive: ModelDirective,
  ref: ModelRef,
  context: ExecutionContext,
  providers: ModelProviders,
): Metadata {
  const { history, cheaper } = context.candidate;
  const requested = directive.model
    ? { requested_model: directive.model }
    : { requested_alias: directive.model_alias };
  return {
    model: ref.name,
    provider: ref.provider,
    ...requested,
    ...(history.length > 0 ? { fallbacks: history } : {}),
    ...(cheaper === undefined ? {} : { budget: { name: cheaper.budget, cheaper: cheaper.alias } }),
    ...(providers.isScripted(ref.provider) ? { scripted: true } : {}),
  };
}

/** A directive that no call can be made for. */
export function refused(error: ErrorEnvelope, metadata: Metadata = {}): Execution {
  return {
    result: errorResult(error),
    unavailable: error.type === 'unknown_model',
    unsent: true,
    metadata,
  };
}

export function failedExecution(
  { error, unavailable, unreached, mayHaveCost, limits }: ModelFailure,
  spent: SpentTokens | null,
  metadata: Metadata,
): Execution {
  return {
    result: errorResult(error),
    ...(unavailable ? { unavailable: true } : {}),
    ...(unreached ? { unreached: true } : {}),
    ...(spent === null && !mayHaveCost ? { untaken: true } : {}),
    ...(limits === undefined ? {} : { pauseScope: pauseScope(limits) }),
    metadata: { ...metadata, ...(spent === null ? {} : { usage_so_far: spent }) },
    span: usageAttributes(spent),
  };
}

export interface Answered {
  payload: unknown;
  usage: Usage | null;
  durationMs: number;
}

export function answeredExecution(
  { payload, usage, durationMs }: Answered,
  directive: ModelDirective,
  ref: ModelRef,
  providers: ModelProviders,
  metadata: Metadata,
): Execution {
  const cost = usage === null ? {} : costOf(usage, ref, providers);
  const execution: Execution = { result: okResult(payload), metadata: { ...metadata, ...cost } };
  if (usage === null) return execution;
  const { input_tokens, output_tokens, total_tokens, ...parts } = usage;
  const counts = { input_tokens, output_tokens, total_tokens };
  return {
    ...execution,
    usage: {
      call_id: directive.id,
      model: ref.name,
      ...counts,
      duration_ms: durationMs,
      metadata: { ...parts, ...cost },
    },
  };
}

/** `cost` in US dollars, for models with a price. */
function costOf(usage: Usage, ref: ModelRef, providers: ModelProviders): { cost?: number } {
  const price = providers.price(ref);
  if (price === null) return {};
  const { input_tokens: input, output_tokens: output } = usage;
  const { cache_read_input_tokens: cacheRead = 0, cache_creation_input_tokens: cacheWrite = 0 } = usage;
  return { cost: costUsd({ input, output, cacheRead, cacheWrite }, price) };
}
