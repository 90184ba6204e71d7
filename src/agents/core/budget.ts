// The budget of a run: reserved before a call, recorded from what the call reports.
// Must never count a call twice: the retries of a directive are one call.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { mergeUsage, normalizeUsage, type Usage } from '../../contract/model/usage.ts';
import type { StrategySignal, WorkRequest } from '../strategies/strategy.ts';
import { interrupted } from './interruption.ts';
import { endRun, endWithAnswer } from './lifecycle.ts';
import { type BudgetLimit, type OpenCall, count, type Run } from './run-state.ts';

export interface Breach {
  limit: BudgetLimit;
  message: string;
  allowed: number;
  used: number;
}

/** A shorter answer is useless: below this the budget counts as used up. */
const SHORTEST_ANSWER_TOKENS = 64;

/** The budget that this call would exceed; null = it may start. `inputTokens` is called only when tokens are limited. */
export function breachOf(run: Run, request: WorkRequest, inputTokens: () => number): Breach | null {
  const { counters } = run.state;
  if (request.type === 'tool_exec') {
    const allowed = limitOf(run, 'max_tool_calls');
    return counters.tool_calls < allowed ? null : breach('max_tool_calls', allowed, counters.tool_calls);
  }
  const isEmbed = request.type === 'llm_embed';
  const iterations = limitOf(run, 'max_iterations');
  if (!isEmbed && counters.iterations >= iterations) {
    return breach('max_iterations', iterations, counters.iterations);
  }
  return costBreach(run) ?? tokenBreach(run, isEmbed ? 0 : SHORTEST_ANSWER_TOKENS, request, inputTokens);
}

function tokenBreach(
  run: Run,
  answer: number,
  request: WorkRequest,
  inputTokens: () => number,
): Breach | null {
  const allowed = limitOf(run, 'max_tokens');
  if (allowed === Infinity) return null;
  const wanted = Math.min(answer, askedTokens(run, request));
  const used = run.state.usage.total_tokens + reservedTokens(run);
  return used + inputTokens() + wanted <= allowed ? null : breach('max_tokens', allowed, used);
}

/** Calls under way are expected to cost as much as earlier calls did; with an unknown price the limit cannot be kept. */
function costBreach(run: Run): Breach | null {
  const allowed = limitOf(run, 'max_cost');
  if (allowed === Infinity) return null;
  const { cost, priced_calls, open } = run.state;
  if (cost === null) {
    const message = 'max_cost cannot be kept: the price of a model that was used is not known';
    return { limit: 'max_cost', message, allowed, used: 0 };
  }
  const models = Object.values(open).filter((call) => isModelType(call.type)).length;
  const expected = priced_calls === 0 ? 0 : (cost / priced_calls) * models;
  return cost + expected < allowed ? null : breach('max_cost', allowed, cost);
}

/** Most tokens of the answer, so that the token budget holds. */
export function allowedTokens(run: Run, request: WorkRequest, inputTokens: () => number): number {
  const asked = askedTokens(run, request);
  const allowed = limitOf(run, 'max_tokens');
  if (allowed === Infinity) return asked;
  const left = allowed - run.state.usage.total_tokens - reservedTokens(run) - inputTokens();
  return Math.max(1, Math.min(asked, Math.floor(left)));
}

export function hasTokenBudget(run: Run): boolean {
  return run.agent.limits.max_tokens !== null;
}

function askedTokens(run: Run, request: WorkRequest): number {
  return ('max_tokens' in request ? request.max_tokens : undefined) ?? run.agent.max_tokens;
}

function reservedTokens(run: Run): number {
  let tokens = 0;
  for (const call of Object.values(run.state.open)) tokens += call.tokens ?? 0;
  return tokens;
}

/** A grant adds the limit once more; a limit of zero cannot grow, so a grant lifts it. */
function limitOf(run: Run, limit: BudgetLimit): number {
  const base = run.agent.limits[limit];
  if (base === null) return Infinity;
  const grants = run.state.grants[limit] ?? 0;
  if (grants === 0) return base;
  return base === 0 ? Infinity : base * (1 + grants);
}

/** Adds up what an answer reports. Only the last attempt reports, so a retry counts once. */
export function spend(run: Run, call: OpenCall, signal: StrategySignal): void {
  if (!isModelType(call.type) && call.type !== 'llm_embed') return;
  const report = readReport(signal);
  if (!report.usage) return;
  const { state } = run;
  state.usage = mergeUsage(state.usage, report.usage);
  if (report.cost !== null && state.cost !== null) {
    state.cost += report.cost;
    state.priced_calls += 1;
  } else if (report.answered) {
    state.cost = null;
  }
}

interface Report {
  answered: boolean;
  usage: Usage | null;
  cost: number | null;
}

/** A failed call may have used tokens too; their price is unknown. */
function readReport(signal: StrategySignal): Report {
  const { usage, result, metadata } = signal.data as {
    usage?: unknown;
    result?: { ok: boolean; payload?: unknown };
    metadata?: { cost?: unknown; usage_so_far?: unknown };
  };
  const answered = result?.ok === true;
  const reported = answered ? (Object(result.payload) as { usage?: unknown }).usage : metadata?.usage_so_far;
  const cost = metadata?.cost;
  const isCost = typeof cost === 'number' && Number.isFinite(cost) && cost >= 0;
  return { answered, usage: normalizeUsage(usage) ?? normalizeUsage(reported), cost: isCost ? cost : null };
}

export function grant(run: Run, limit: BudgetLimit): void {
  run.state.grants = { ...run.state.grants, [limit]: (run.state.grants[limit] ?? 0) + 1 };
}

const MAX_ITERATIONS_TEXT = 'Maximum iterations reached without a final answer.';

/** A run with an answer completes with it. Without one, used-up iterations complete it with a text; other limits fail it. */
export function endForBreach(
  run: Run,
  { limit, message, ...counts }: Pick<Breach, 'limit' | 'message'>,
): void {
  if (endWithAnswer(run, limit)) return;
  if (limit === 'max_iterations') {
    run.left = interrupted(run);
    run.state.messages = [...run.state.messages, { role: 'assistant', content: MAX_ITERATIONS_TEXT }];
    return endRun(run, { status: 'completed', result: MAX_ITERATIONS_TEXT, reason: limit });
  }
  const error = errorEnvelope('budget_exceeded', message, { limit, ...counts });
  endRun(run, { status: 'failed', error, reason: limit });
}

export function countStart(run: Run, type: string): void {
  if (type === 'tool_exec') count(run, 'tool_calls');
  else if (isModelType(type)) count(run, 'iterations');
}

export function isModelType(type: string): boolean {
  return type === 'llm_stream' || type === 'llm_generate';
}

function breach(limit: BudgetLimit, allowed: number, used: number): Breach {
  return { limit, message: `the run has used up its ${limit} (${used} of ${allowed})`, allowed, used };
}
