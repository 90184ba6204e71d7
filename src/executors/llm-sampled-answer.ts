// One answer of a model to what a tool asks: by the chain of models and the limits that hold for any call of a model.
// Must never ask without a limit of tokens, nor go on when nobody wants the answer.
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { errorEnvelope } from '../contract/error-envelope.ts';
import type { ModelTurn } from '../contract/model-turn.ts';
import type { LlmGenerate } from '../contract/work-directive.ts';
import { pause } from '../lifecycle.ts';
import { generateAnswer } from '../llm/model-generation.ts';
import { promptOf } from '../llm/prompt.ts';
import { promptTokens } from '../llm/spent-tokens.ts';
import { toolNames } from '../llm/tool-names.ts';
import { operationOf } from '../telemetry/directive-operation.ts';
import type { Reports } from '../telemetry/reports.ts';
import { ATTRIBUTE } from '../telemetry/semantic-names.ts';
import { placeUnder, traceparentOf } from '../telemetry/span-place.ts';
import type { Spans } from '../telemetry/spans.ts';
import type { Execution, ExecutionContext } from './definition.ts';
import { callModel, type LlmOptions } from './llm-call.ts';
import { modelCallFacts } from './model-call-facts.ts';

export interface AnswerOptions {
  readonly llm: LlmOptions;
  readonly spans: Spans;
  readonly reports: Pick<Reports, 'meters'>;
}

/** Who asks, for traces. */
export interface AskedFor {
  readonly server: string;
  /** Counts what the attempt has asked, from 1. */
  readonly number: number;
  readonly context: ExecutionContext;
  readonly signal: AbortSignal;
}

export interface Answered {
  /** Of all models that were asked. */
  readonly tokens: { readonly input: number; readonly output: number; readonly total: number };
  readonly cost: number;
  readonly outcome:
    | { readonly ok: true; readonly turn: ModelTurn }
    | { readonly ok: false; readonly error: ErrorEnvelope };
}

/** The longest pause that a limit of the configuration may cost before the model is asked again. Milliseconds. */
const LONGEST_PAUSE_MS = 30_000;
const MOST_PAUSES = 3;

/** An estimate of the most tokens that one answer may take. */
export function estimateOf(directive: LlmGenerate): number {
  const messages = Array.isArray(directive.context) ? directive.context : directive.context.messages;
  const systemPrompt = directive.system_prompt;
  const read = promptOf(messages, { names: toolNames([]), systemAnywhere: true, systemPrompt });
  return (read.ok ? promptTokens(read.prompt) : 0) + directive.max_tokens;
}

/** `models`: the chain, first choice first. Never rejects. */
export async function askModels(
  options: AnswerOptions,
  directive: LlmGenerate,
  models: readonly string[],
  asked: AskedFor,
): Promise<Answered> {
  let spent: Answered = {
    tokens: { input: 0, output: 0, total: 0 },
    cost: 0,
    outcome: nobodyWaits(directive),
  };
  let pauses = 0;
  for (let index = 0; index < models.length && !asked.signal.aborted;) {
    const execution = await askModel(options, directive, { models, index, calls: pauses, ...asked });
    spent = withSpent(spent, execution);
    const waitMs = pauseOf(execution);
    const isLast = index === models.length - 1;
    if (waitMs !== null && isLast && pauses < MOST_PAUSES) {
      pauses += 1;
      await pause(waitMs, asked.signal);
    } else if (execution.unavailable === true || execution.unreached === true) index += 1;
    else break;
  }
  return spent;
}

interface AskedModel extends AskedFor {
  readonly models: readonly string[];
  readonly index: number;
  readonly calls: number;
}

async function askModel(
  options: AnswerOptions,
  directive: LlmGenerate,
  asked: AskedModel,
): Promise<Execution> {
  const { spans, reports, llm } = options;
  const { context, models, index, number, calls, server, signal } = asked;
  const model = models[index] ?? '';
  const parent = spans.under(context.traceparent);
  const place = parent && placeUnder(parent, 'sampling', number, index, calls);
  const [startedAt, begunAt] = [spans.now(), performance.now()];
  const execution = await callModel(
    llm,
    directive,
    {
      ...context,
      models,
      candidate: { index, history: [] },
      signal,
      traceparent: place === null ? context.traceparent : traceparentOf(place),
    },
    generateAnswer,
  );
  const facts = modelCallFacts(directive, model, { execution, durationMs: performance.now() - begunAt });
  if (facts !== null) reports.meters.modelCalled(facts);
  const operation = operationOf(directive, model);
  if (place === null || operation === null || execution.unsent === true) return execution;
  const { name } = operation;
  const about = { [ATTRIBUTE.mcpMethod]: 'sampling/createMessage', [ATTRIBUTE.mcpServer]: server };
  const attributes = { ...operation.attributes, ...about, ...execution.span };
  const error = execution.result.ok ? null : execution.result.error.type;
  spans.report({ place, name, kind: 'client', startedAt, endedAt: spans.now(), attributes, error });
  return execution;
}

/** Milliseconds; null: no limit of the configuration has refused it, or for too long. */
function pauseOf({ result, unsent }: Execution): number | null {
  if (result.ok || unsent !== true || result.error.type !== 'rate_limited') return null;
  const waitMs = Number(result.error.details['retry_after_ms']);
  return waitMs > 0 && waitMs <= LONGEST_PAUSE_MS ? waitMs : null;
}

function withSpent({ tokens, cost }: Answered, execution: Execution): Answered {
  const { result, usage, metadata, unreached = false } = execution;
  type Counts = { input_tokens: number; output_tokens: number; total_tokens: number };
  const estimated = unreached ? undefined : (metadata?.['usage_so_far'] as Counts | undefined);
  const counts = usage ?? estimated;
  const price = metadata?.['cost'];
  return {
    tokens: {
      input: tokens.input + (counts?.input_tokens ?? 0),
      output: tokens.output + (counts?.output_tokens ?? 0),
      total: tokens.total + (counts?.total_tokens ?? 0),
    },
    cost: cost + (typeof price === 'number' ? price : 0),
    outcome: result.ok ? { ok: true, turn: result.payload as ModelTurn } : { ok: false, error: result.error },
  };
}

function nobodyWaits({ model }: LlmGenerate): Answered['outcome'] {
  return {
    ok: false,
    error: errorEnvelope('cancelled', `nobody waits for an answer of "${model}" any more`),
  };
}
