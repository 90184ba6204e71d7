// The attributes of a model call's span for its answer: model, finish reason, tokens, time to the first delta. Never
// shows text of the answer.
import type { ModelTurn } from '../../contract/model/model-turn.ts';
import type { Usage } from '../../contract/model/usage.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Attributes } from '../../platform/telemetry/traces/span.ts';
import type { ExecutionContext } from './definition.ts';

export function turnAttributes(turn: ModelTurn): Attributes {
  return {
    [ATTRIBUTE.responseModel]: turn.model,
    [ATTRIBUTE.finishReasons]: turn.finish_reason === null ? undefined : [turn.finish_reason],
    [ATTRIBUTE.timeToFirstChunk]: turn.first_chunk_ms === null ? undefined : turn.first_chunk_ms / 1_000,
    ...usageAttributes(turn.usage),
  };
}

/** The attributes of a model that answers because a budget was too small for the chosen one. */
export function cheaperAttributes({
  candidate: { cheaper },
}: Pick<ExecutionContext, 'candidate'>): Attributes {
  return cheaper === undefined
    ? {}
    : { [ATTRIBUTE.budget]: cheaper.budget, [ATTRIBUTE.budgetAlias]: cheaper.alias };
}

/** null: the provider reported none. */
export function usageAttributes(usage: Usage | null): Attributes {
  if (usage === null) return {};
  return {
    [ATTRIBUTE.inputTokens]: usage.input_tokens,
    [ATTRIBUTE.outputTokens]: usage.output_tokens,
    [ATTRIBUTE.cacheReadTokens]: usage.cache_read_input_tokens,
    [ATTRIBUTE.cacheWriteTokens]: usage.cache_creation_input_tokens,
    [ATTRIBUTE.reasoningTokens]: usage.reasoning_tokens,
  };
}
