// One attempt of a language directive, from the model's name to the turn; shared by llm_stream and llm_generate.
// Must never call a model twice for one answer, except to repair an answer that does not fit its schema.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { SchemaChecks } from '../../platform/json-schema/schema-checks.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import type { ModelTurn } from '../../contract/model/model-turn.ts';
import { mergeUsage } from '../../contract/model/usage.ts';
import type { ModelAnswer, ModelReply } from '../../models/answers/model-answer.ts';
import type { ModelCall } from '../../models/model-call.ts';
import { generateAnswer } from '../../models/model-generation.ts';
import type { ModelLimiter } from '../../models/model-limiter.ts';
import { failure } from '../../models/answers/model-failure.ts';
import { turnOf } from '../../models/answers/model-turn.ts';
import {
  mostPromptTokens,
  promptTokens,
  type SpentTokens,
  spentTokens,
} from '../../models/answers/spent-tokens.ts';
import {
  type CheckOutput,
  type OutputSchema,
  readOutput,
  repairPrompt,
} from '../../models/answers/structured-output.ts';
import type { ToolNames } from '../../models/requests/tool-names.ts';
import type { Execution, ExecutionContext } from './definition.ts';
import { type BudgetOptions, type MostTokens, withinBudget } from './llm-budget.ts';
import { answeredExecution, failedExecution, modelMetadata, modelOf, refused } from './llm-execution.ts';
import {
  type DescribeTool,
  type LanguageDirective,
  type LanguageRequest,
  prepareRequest,
} from './llm-request.ts';
import { noteAnswer, noteFailure, refusedByLimit, reserve } from './llm-reservation.ts';
import { cheaperAttributes, turnAttributes } from './model-attributes.ts';
import { begunCall } from './model-call-facts.ts';

export interface LlmOptions extends BudgetOptions {
  limiter: ModelLimiter;
  /** Describes a tool to a tenant. */
  describeTool: (name: string, tenant: string) => ReturnType<DescribeTool>;
  schemas: SchemaChecks;
}

/** Calls the model, for single chunks or for the whole answer. */
export type Ask = (call: ModelCall, names: ToolNames) => Promise<ModelReply>;

type Metadata = Record<string, unknown>;

/** A call that is ready to be made, and what its reports need. */
interface Prepared {
  readonly options: LlmOptions;
  readonly directive: LanguageDirective;
  readonly ref: ModelRef;
  readonly request: LanguageRequest;
  readonly call: ModelCall;
  readonly metadata: Metadata;
  /** Asked before each call. */
  readonly mayBegin: ExecutionContext['mayBegin'];
}

export async function callModel(
  options: LlmOptions,
  directive: LanguageDirective,
  context: ExecutionContext,
  ask: Ask,
): Promise<Execution> {
  const ref = modelOf(context);
  if ('error' in ref) return refused(ref.error);
  const metadata = modelMetadata(directive, ref, context, options.providers);
  const prepared = await prepare(options, directive, context, ref, metadata);
  if ('error' in prepared) return refused(prepared.error, metadata);
  const budgeted = {
    ref,
    context,
    most: () => mostOf(prepared),
    timeoutMs: longest(prepared),
    mayChange: true,
  };
  const execution = await withinBudget(options, budgeted, async () => limitedCall(prepared, ask));
  const span = { ...execution.span, ...cheaperAttributes(context) };
  return { ...execution, span, metadata: { ...metadata, ...execution.metadata } };
}

async function limitedCall(prepared: Prepared, ask: Ask): Promise<Execution> {
  const { options, ref } = prepared;
  const reservation = await reserve(options.limiter, ref, tokensOf(prepared));
  if (!reservation.ok) return refusedByLimit(ref, reservation);
  const reply = await begunCall(prepared.mayBegin, async () => ask(prepared.call, prepared.request.names));
  const execution = reply.ok ? await answered(prepared, reply.answer) : await failed(prepared, reply);
  reservation.record(tokensIn(execution));
  return execution;
}

async function prepare(
  options: LlmOptions,
  directive: LanguageDirective,
  { signal, tenant, traceparent, mayBegin }: ExecutionContext,
  ref: ModelRef,
  metadata: Metadata,
): Promise<Prepared | { error: ErrorEnvelope }> {
  const model: LanguageModelV4 | { error: ErrorEnvelope } = await options.providers.language(
    ref,
    directive.provider_options,
  );
  if ('error' in model) return model;
  const { providers, describeTool, schemas } = options;
  const read = await prepareRequest(directive, {
    rules: providers.promptRules(ref),
    cache: providers.promptCache(ref),
    tenant,
    describeTool: (name) => describeTool(name, tenant),
    schemas,
    signal,
  });
  if (!read.ok) return read;
  const { request } = read;
  const settings = providers.settings(ref.provider);
  const limits = {
    timeoutMs: directive.timeout_ms ?? settings.timeoutMs,
    idleTimeoutMs: directive.idle_timeout_ms ?? settings.idleTimeoutMs,
  };
  const call = { model, ref, options: { ...request.options, headers: { traceparent } }, limits, signal };
  return { options, directive, ref, request, call, metadata, mayBegin };
}

/** A call that is made once more to repair its answer reads that answer, too. */
function mostOf({ call, request, directive }: Prepared): MostTokens {
  const { prompt, tools, responseFormat } = call.options;
  const input = mostPromptTokens(prompt, [tools, responseFormat]);
  const output = directive.max_tokens;
  return request.checkOutput === null
    ? { input, output }
    : { input: 2 * input + 2 * output, output: 2 * output };
}

function longest({ call, request }: Prepared): number {
  return request.checkOutput === null ? call.limits.timeoutMs : 2 * call.limits.timeoutMs;
}

/** An estimate of the most tokens that the call may take. */
function tokensOf({ call, directive }: Prepared): number {
  return promptTokens(call.options.prompt) + directive.max_tokens;
}

/** The tokens that it took, as far as known. */
function tokensIn({ usage, metadata }: Execution): number {
  const spent = metadata?.['usage_so_far'] as { total_tokens: number } | undefined;
  return usage?.total_tokens ?? spent?.total_tokens ?? 0;
}

async function failed(
  { options, ref, metadata }: Prepared,
  { failure: found, spent }: Pick<Extract<ModelReply, { ok: false }>, 'failure' | 'spent'>,
): Promise<Execution> {
  await noteFailure(options.limiter, ref, found);
  return failedExecution(found, spent, metadata);
}

async function answered(prepared: Prepared, answer: ModelAnswer): Promise<Execution> {
  const { options, ref, request, directive } = prepared;
  await noteAnswer(options.limiter, ref, answer.headers);
  const scripted = options.providers.isScripted(ref.provider);
  const turn = turnOf(answer, ref, request.names, { scripted });
  const notes = answer.warnings.length > 0 ? { warnings: answer.warnings } : {};
  const noted = { ...prepared, metadata: { ...prepared.metadata, ...notes } };
  const { checkOutput } = request;
  if (checkOutput === null || turn.type === 'tool_calls') return turnExecution(noted, turn);
  return withOutput(noted, turn, checkOutput, directive.output_schema ?? {});
}

function turnExecution(prepared: Prepared, turn: ModelTurn, more: Metadata = {}): Execution {
  const { directive, ref, options, metadata } = prepared;
  const execution = answeredExecution(
    { payload: turn, usage: turn.usage, durationMs: turn.duration_ms },
    directive,
    ref,
    options.providers,
    { ...metadata, finish_reason: turn.finish_reason, ...more },
  );
  return { ...execution, span: turnAttributes(turn) };
}

/** Requests an answer that does not fit once more; an answer that was cut would be cut again. */
async function withOutput(
  prepared: Prepared,
  turn: ModelTurn,
  check: CheckOutput,
  schema: OutputSchema,
): Promise<Execution> {
  const read = await readOutput(turn.text, check);
  if (read.ok) return turnExecution(prepared, { ...turn, output: read.value });
  if (!read.mayBeRepaired) return misfit(prepared, turn, read.faults);
  if (turn.finish_reason === 'content_filter') return refusal(prepared, turn);
  if (turn.finish_reason === 'length') return misfit(prepared, turn, ['the answer was cut at max_tokens']);
  const { call } = prepared;
  const { tools: _tools, toolChoice: _choice, ...options } = call.options;
  const prompt = repairPrompt(options.prompt, turn.text, read.faults, schema);
  const limits = { ...call.limits, timeoutMs: Math.max(1, call.limits.timeoutMs - turn.duration_ms) };
  const reply = await begunCall(prepared.mayBegin, async () =>
    generateAnswer({ ...call, limits, options: { ...options, prompt } }),
  );
  if (!reply.ok) return failed(prepared, { ...reply, spent: sumOf(spentOn(prepared, turn), reply.spent) });
  const repaired = repairedTurn(prepared, turn, reply.answer);
  const again = await readOutput(repaired.text, check);
  return again.ok
    ? turnExecution(prepared, { ...repaired, output: again.value }, { repaired: true })
    : misfit(prepared, repaired, again.faults);
}

/** On the first answer, which was not the last. */
function spentOn({ call }: Prepared, { usage, text }: ModelTurn): SpentTokens {
  if (usage === null)
    return spentTokens({ input: null, output: null }, promptTokens(call.options.prompt), text.length);
  const { input_tokens, output_tokens, total_tokens } = usage;
  return { input_tokens, output_tokens, total_tokens, estimated: false };
}

function sumOf(left: SpentTokens, right: SpentTokens | null): SpentTokens {
  if (right === null) return left;
  return {
    input_tokens: left.input_tokens + right.input_tokens,
    output_tokens: left.output_tokens + right.output_tokens,
    total_tokens: left.total_tokens + right.total_tokens,
    estimated: left.estimated || right.estimated,
  };
}

/** The second answer, with the usage of both; where one of them has none, the sum is not known. */
function repairedTurn({ ref, request, options }: Prepared, first: ModelTurn, answer: ModelAnswer): ModelTurn {
  const turn = turnOf(answer, ref, request.names, {
    scripted: options.providers.isScripted(ref.provider),
  });
  const usage = first.usage && turn.usage ? mergeUsage(first.usage, turn.usage) : null;
  return {
    ...turn,
    usage,
    duration_ms: first.duration_ms + turn.duration_ms,
    first_chunk_ms: first.first_chunk_ms,
  };
}

const EXCERPT_CHARACTERS = 1_000;

/** A refused request would be refused again: it is not repaired. */
function refusal({ ref, metadata }: Prepared, turn: ModelTurn): Execution {
  const text = turn.text.slice(0, EXCERPT_CHARACTERS);
  const message = `the model or its provider refused to answer${text.trim() === '' ? '' : `: ${text}`}`;
  const found = failure('invalid_result', message, { model: ref.name, reason: 'refused', text });
  const spent = turn.usage === null ? null : { ...turn.usage, estimated: false };
  return failedExecution(found, spent, { ...metadata, finish_reason: turn.finish_reason });
}

function misfit({ ref, metadata }: Prepared, turn: ModelTurn, faults: readonly string[]): Execution {
  const found = failure('invalid_result', `the answer does not fit output_schema: ${faults.join('; ')}`, {
    model: ref.name,
    faults,
    text: turn.text.slice(0, EXCERPT_CHARACTERS),
  });
  const spent = turn.usage === null ? null : { ...turn.usage, estimated: false };
  return failedExecution(found, spent, { ...metadata, finish_reason: turn.finish_reason });
}
