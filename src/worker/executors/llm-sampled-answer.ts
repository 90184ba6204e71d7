// One answer of a model to the sampling of a tool: by the chain of models and the limits of any call of a model. Never
// calls without a limit of tokens, nor continues when the answer is no longer needed; nor asks a person twice about one
// budget.
import { scopedId } from '../../contract/access/tenant.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { parseModelName } from '../../contract/model/model-name.ts';
import type { ModelTurn } from '../../contract/model/model-turn.ts';
import { errorResult } from '../../contract/result.ts';
import type { QuestionAnswer } from '../../contract/tool/tool-question.ts';
import type { LlmGenerate } from '../../contract/directive/work-directive.ts';
import { pause } from '../../platform/lifecycle.ts';
import { generateAnswer } from '../../models/model-generation.ts';
import { OPEN_RULES, promptOf } from '../../models/requests/prompt.ts';
import { promptTokens } from '../../models/answers/spent-tokens.ts';
import { toolNames } from '../../models/requests/tool-names.ts';
import { operationOf } from '../../platform/telemetry/traces/directive-operation.ts';
import type { Reports } from '../../platform/telemetry/reports.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import { placeUnder, traceparentOf } from '../../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import type {
  AskedQuestions,
  CheaperModels,
  Execution,
  ExecutionContext,
  SampledModels,
} from './definition.ts';
import { answeredBudgets, isFree } from './llm-budget.ts';
import { callModel, type LlmOptions } from './llm-call.ts';
import { modelCallFacts, reportModelCall } from './model-call-facts.ts';
import type { ModelPlaces } from '../../models/requests/model-places.ts';

export interface AnswerOptions {
  readonly llm: LlmOptions;
  readonly spans: Spans;
  readonly reports: Pick<Reports, 'meters' | 'count'>;
  readonly places: ModelPlaces;
}

/** Who asks, for traces. */
export interface AskedFor {
  readonly server: string;
  /** Counts what the attempt has asked, from 1. */
  readonly number: number;
  readonly context: ExecutionContext;
  readonly signal: AbortSignal;
  /** A person's answers about budgets that were too small, for all calls of the attempt. */
  readonly said: BudgetAnswers;
}

/** Answers by budget. */
export type BudgetAnswers = Map<string, QuestionAnswer>;

export interface TokenCounts {
  readonly input: number;
  readonly output: number;
  readonly total: number;
}

export interface Answered {
  /** Tokens of all models that were called. */
  readonly tokens: TokenCounts;
  /** The tokens are the maximum that may have been used: a provider worked on a request, and its use is unknown. */
  readonly isEstimated: boolean;
  readonly cost: number;
  /** The budget that was too small, and whose cheaper models answered. */
  readonly budget?: { readonly name: string; readonly cheaper: string };
  /** Why the policy denies the cheaper models of a budget. Absent: it does not. */
  readonly denied?: string;
  readonly outcome:
    | { readonly ok: true; readonly turn: ModelTurn }
    | { readonly ok: false; readonly error: ErrorEnvelope };
}

/** The longest pause that a limit of the configuration may cost before the model is asked again. Milliseconds. */
export const LONGEST_PAUSE_MS = 30_000;
const MOST_PAUSES = 3;

/** The most tokens that one answer may take; what is read is an estimate. */
export function mostTokens(directive: LlmGenerate): TokenCounts {
  const messages = Array.isArray(directive.context) ? directive.context : directive.context.messages;
  const systemPrompt = directive.system_prompt;
  const read = promptOf(messages, { names: toolNames([]), rules: OPEN_RULES, systemPrompt });
  const [input, output] = [read.ok ? promptTokens(read.prompt) : 0, directive.max_tokens];
  return { input, output, total: input + output };
}

export const NO_TOKENS: TokenCounts = { input: 0, output: 0, total: 0 };

/** `models`: the chain, first choice first. `most`: what one answer may take. Never rejects. */
export async function askModels(
  options: AnswerOptions,
  directive: LlmGenerate,
  { models, most, ...asked }: AskedFor & { readonly models: readonly string[]; readonly most: TokenCounts },
): Promise<Answered> {
  const outcome = nobodyWaits(directive);
  let spent: Answered = { tokens: NO_TOKENS, isEstimated: false, cost: 0, outcome };
  let [pauses, calls] = [0, 0];
  let chain: Chain = { models, cheaper: null };
  for (let index = 0; index < chain.models.length && !asked.signal.aborted; calls += 1) {
    const execution = await askInPlace(options, directive, { ...asked, chain, index, calls });
    spent = withSpent(spent, execution, most);
    const waitMs = pauseOf(execution);
    const isLast = index === chain.models.length - 1;
    if (execution.cheaper !== undefined) {
      const { models: cheaper } = execution.cheaper;
      const denied = await denial(asked.context, { models, number: asked.number, cheaper });
      if (denied !== null) return { ...spent, denied };
      chain = { models: execution.cheaper.models, cheaper: execution.cheaper };
      index = 0;
    } else if (execution.asks !== undefined && (await isSaid(asked, execution.asks))) continue;
    else if (waitMs !== null && isLast && pauses < MOST_PAUSES) {
      pauses += 1;
      await pause(waitMs, asked.signal);
    } else if (execution.unavailable === true || execution.unreached === true) index += 1;
    else break;
  }
  const { cheaper } = chain;
  return cheaper === null ? spent : { ...spent, budget: { name: cheaper.budget, cheaper: cheaper.alias } };
}

/** Why the policy does not let the models be asked; null: it does. */
export async function denial(context: ExecutionContext, asked: SampledModels): Promise<string | null> {
  const denied = context.deniedModels?.(asked) ?? null;
  // @guard policy-sampled
  return denied === null ? null : denied.catch(() => 'the policy cannot be read at present');
}

interface Chain {
  readonly models: readonly string[];
  /** The models that a budget still allows; null: the chosen models. */
  readonly cheaper: CheaperModels | null;
}

/** Asks a person while the tool waits. false: no person can be asked, or the answer is not needed any more. */
async function isSaid(
  { context, signal, said }: AskedFor,
  { questions, endpoint, patienceMs }: AskedQuestions,
): Promise<boolean> {
  const { ask } = context;
  if (ask === undefined) return false;
  for (const { key, question } of questions) {
    const answer = await ask({ question, endpoint, patienceMs }, signal).catch(() => null);
    if (answer === null) return false;
    said.set(key, answer);
  }
  return !signal.aborted;
}

interface AskedModel extends AskedFor {
  readonly chain: Chain;
  readonly index: number;
  readonly calls: number;
}

async function askInPlace(
  options: AnswerOptions,
  directive: LlmGenerate,
  asked: AskedModel,
): Promise<Execution> {
  const provider = parseModelName(asked.chain.models[asked.index] ?? '')?.provider ?? '';
  const ask = async (): Promise<Execution> => askModel(options, directive, asked);
  return (await options.places.during(provider, asked.signal, ask)) ?? noPlace(provider);
}

function noPlace(provider: string): Execution {
  const message = `all places of lane.concurrency of providers.${provider} are taken by what tools ask`;
  const error = errorEnvelope('rate_limited', message, { provider, limited_by: 'configuration' });
  return { result: errorResult(error), unavailable: true, unsent: true };
}

async function askModel(
  options: AnswerOptions,
  directive: LlmGenerate,
  asked: AskedModel,
): Promise<Execution> {
  const { spans, reports, llm } = options;
  const { context, chain, index, number, calls, server, signal, said } = asked;
  const { models, cheaper } = chain;
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
      candidate: { index, history: [], ...(cheaper === null ? {} : { cheaper }) },
      answered: answeredBudgets(said),
      signal,
      traceparent: place === null ? context.traceparent : traceparentOf(place),
    },
    generateAnswer,
  );
  const durationMs = performance.now() - begunAt;
  const facts = modelCallFacts(directive, model, { execution, durationMs, origin: 'action' });
  const requestId = scopedId(context.tenant, directive.request_id);
  if (facts !== null) reportModelCall(reports, requestId, directive, facts);
  const operation = operationOf(directive, model);
  if (place === null || operation === null || execution.unsent === true) return execution;
  const { name } = operation;
  const attributes = { ...operation.attributes, ...askedBy(server), ...execution.span };
  const error = execution.result.ok ? null : execution.result.error.type;
  spans.report({ place, name, kind: 'client', startedAt, endedAt: spans.now(), attributes, error });
  return execution;
}

/** The attributes of a call that the tool of an MCP server asked for. */
function askedBy(server: string) {
  return {
    [ATTRIBUTE.mcpMethod]: 'sampling/createMessage',
    [ATTRIBUTE.mcpServer]: server,
    [ATTRIBUTE.origin]: 'action',
  };
}

/** Milliseconds; null: no limit of the configuration has refused it, or for too long. */
function pauseOf({ result, unsent }: Execution): number | null {
  if (result.ok || unsent !== true || result.error.type !== 'rate_limited') return null;
  const waitMs = Number(result.error.details['retry_after_ms']);
  return waitMs > 0 && waitMs <= LONGEST_PAUSE_MS ? waitMs : null;
}

function withSpent(
  { tokens, isEstimated, cost }: Answered,
  execution: Execution,
  most: TokenCounts,
): Answered {
  const { result, metadata } = execution;
  const counted = countedIn(execution);
  const taken = counted ?? most;
  const price = metadata?.['cost'];
  return {
    tokens: {
      input: tokens.input + taken.input,
      output: tokens.output + taken.output,
      total: tokens.total + taken.total,
    },
    isEstimated: isEstimated || counted === null,
    cost: cost + (typeof price === 'number' ? price : 0),
    outcome: result.ok ? { ok: true, turn: result.payload as ModelTurn } : { ok: false, error: result.error },
  };
}

/**
 * The counted tokens; null: a provider worked on the request, and its use is unknown: it was stopped, its answer was
 * lost, or it does not count.
 */
function countedIn(execution: Execution): TokenCounts | null {
  const { usage, metadata } = execution;
  const { input_tokens: input = 0, output_tokens: output = 0, total_tokens: total = 0 } = usage ?? {};
  if (total > 0) return { input, output, total };
  return isFree(execution) && metadata?.['usage_so_far'] === undefined ? NO_TOKENS : null;
}

function nobodyWaits({ model }: LlmGenerate): Answered['outcome'] {
  return {
    ok: false,
    error: errorEnvelope('cancelled', `the answer of "${model}" is not needed any more`),
  };
}
