// What metrics say of one call of a model: time, tokens, cost.
// Must never hold a word of a prompt or an answer.
import { type Directive, callVocabulary, type CallOrigin } from '../../contract/directive/directive.ts';
import { parseModelName } from '../../contract/model/model-name.ts';
import {
  type CountedDirective,
  EVERYTHING,
  type Reports,
  seriesAlone,
} from '../../platform/telemetry/reports.ts';
import type { ModelCallFacts } from '../../platform/telemetry/metrics/meters.ts';
import type { Execution } from './definition.ts';

/** Of a turn or of vectors: what the call says of itself. */
interface Timed {
  duration_ms?: number;
  first_chunk_ms?: number | null;
}

/** null: no call of a model that has a name. `origin`: default: that of its directive. */
export function modelCallFacts(
  { type }: Pick<Directive, 'type'>,
  model: string,
  { execution, durationMs, origin }: { execution: Execution; durationMs: number; origin?: CallOrigin },
): ModelCallFacts | null {
  const ref = parseModelName(model);
  if (ref === null || execution.unsent === true) return null;
  const { result, metadata = {} } = execution;
  const timed: Timed = result.ok ? Object(result.payload) : {};
  const cost = metadata['cost'];
  return {
    operation: type === 'llm_embed' ? 'embeddings' : 'chat',
    call: { ...callVocabulary(type), ...(origin === undefined ? {} : { origin }) },
    provider: ref.provider,
    model: ref.model,
    errorType: result.ok ? null : result.error.type,
    durationMs: timed.duration_ms ?? durationMs,
    firstChunkMs: timed.first_chunk_ms ?? null,
    tokens: tokensOf(execution),
    cost: typeof cost === 'number' ? cost : null,
  };
}

/** Reports a call to metrics and statistics. `requestId`: scoped. `directive`: the one that made it. */
export function reportModelCall(
  { meters, count }: Pick<Reports, 'meters' | 'count'>,
  requestId: string,
  directive: CountedDirective,
  facts: ModelCallFacts,
): void {
  meters.modelCalled(facts);
  const { provider, model, errorType, durationMs, tokens, cost } = facts;
  const spent = { modelCalls: 1, tokens, cost };
  const alone = seriesAlone(directive);
  count(requestId, { series: alone.length > 0 ? alone : [EVERYTHING], ...spent });
  const series = [['model', `${provider}:${model}`]] as const;
  count(requestId, { series, started: true, ended: { errorType, durationMs }, ...spent });
}

/** A failed call has used tokens, too. */
function tokensOf({ usage, metadata }: Execution): ModelCallFacts['tokens'] {
  type Counts = { input_tokens: number; output_tokens: number };
  const counts = usage ?? (metadata?.['usage_so_far'] as Counts | undefined);
  return counts ? { input: counts.input_tokens, output: counts.output_tokens } : null;
}
