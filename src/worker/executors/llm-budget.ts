// Reserves what a call of a model may cost in the budgets that it is counted in, and says afterwards what it did cost.
// Must never let a call be made that is not reserved, nor believe a count that no call can have.
import {
  type BudgetBreach,
  BUDGET_CURRENCY,
  type ModelBudgets,
  type Spending,
} from '../../contract/model/budget.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import { errorResult } from '../../contract/result.ts';
import { QUESTION_LIMITS, type QuestionAnswer } from '../../contract/tool/tool-question.ts';
import type { ModelPrice } from '../../models/pricing.ts';
import type { ModelProviders } from '../../models/providers.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type {
  AnsweredRound,
  AskedQuestions,
  CheaperModels,
  Execution,
  ExecutionContext,
} from './definition.ts';

export interface BudgetOptions {
  readonly providers: ModelProviders;
  readonly budgets: ModelBudgets;
  /** The models of an alias, or of a `provider:model`, that this process can call; empty: none. */
  readonly modelsOf: (name: string) => readonly string[];
}

export interface MostTokens {
  readonly input: number;
  readonly output: number;
}

export interface BudgetedCall {
  readonly ref: ModelRef;
  readonly context: ExecutionContext;
  /** Asked for only where there is a budget: it reads the whole prompt. */
  readonly most: () => MostTokens;
  /** How long the call may take, milliseconds. */
  readonly timeoutMs: number;
  /** Whether another model may answer instead: vectors of two models do not belong together. */
  readonly mayChange: boolean;
}

/** A worker that dies settles nothing; one that lives settles well within this time after the call. Milliseconds. */
const SETTLE_MS = 60_000;

/** Makes the call if it fits every budget. */
export async function withinBudget(
  options: BudgetOptions,
  call: BudgetedCall,
  make: () => Promise<Execution>,
): Promise<Execution> {
  const { ref, context } = call;
  const budgets = options.budgets.of({
    tenant: context.tenant,
    spender: context.spender ?? null,
    model: ref.name,
  });
  if (budgets === null) return make();
  const price = priceOf(options.providers, ref);
  const tokens = call.most();
  const most = { tokens: tokens.input + tokens.output, money: price && dearest(tokens, price) };
  const held = { leaseMs: call.timeoutMs + SETTLE_MS, allowed: allowedIn(context) };
  const reserved = await budgets.reserve(most, held).catch(() => null);
  if (reserved === null) return unread(ref);
  if (!reserved.ok) return heldBack(options, call, reserved.breach, most);
  const execution = await make();
  const spent = spentBy(execution, price);
  if (spent !== null) reserved.settle(spent);
  return execution;
}

const FREE: ModelPrice = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

function priceOf(providers: ModelProviders, ref: ModelRef): ModelPrice | null {
  return providers.price(ref) ?? (providers.isScripted(ref.provider) ? FREE : null);
}

/** A price is in dollars for a million tokens: that of a token is in millionths of a dollar. */
function dearest({ input, output }: MostTokens, price: ModelPrice): number {
  return input * Math.max(price.input, price.cacheRead, price.cacheWrite) + output * price.output;
}

/** No model uses as many tokens in a call: a larger count is not believed. */
const MOST_TOKENS_OF_A_CALL = 100_000_000;
const MILLIONTHS = 1_000_000;

type Counts = { input_tokens: number; output_tokens: number; total_tokens: number; estimated?: boolean };

/** The use of an execution; null: unknown or not believed, so that the reserved amount counts. */
function spentBy(execution: Execution, price: ModelPrice | null): Spending | null {
  const { usage, metadata = {} } = execution;
  const counts = (usage ?? metadata['usage_so_far']) as Counts | undefined;
  if (counts === undefined) return isFree(execution) ? { tokens: 0, money: 0 } : null;
  if (counts.estimated === true || !isCredible(counts)) return null;
  const { input_tokens: input, output_tokens: output, total_tokens: total } = counts;
  const { cost } = metadata;
  const money =
    typeof cost === 'number' && cost >= 0
      ? Number((cost * MILLIONTHS).toFixed(2))
      : dearest({ input, output }, price ?? FREE);
  // @guard budget-settled
  return { tokens: Math.max(total, input + output), money: Math.ceil(money) };
}

/** Whether no provider has taken anything for it, as far as it has no counts. */
export function isFree({ unsent, unreached, untaken }: Execution): boolean {
  return unsent === true || unreached === true || untaken === true;
}

/** Every prompt has a token. */
function isCredible({ input_tokens: input, output_tokens: output, total_tokens: total }: Counts): boolean {
  const isCount = (count: unknown): boolean =>
    Number.isSafeInteger(count) && Number(count) >= 0 && Number(count) <= MOST_TOKENS_OF_A_CALL;
  return isCount(input) && isCount(output) && isCount(total) && input > 0;
}

/** Nothing is called on a budget that cannot be read; the directive waits without a failure. */
function unread(ref: ModelRef): Execution {
  const error = errorEnvelope('rate_limited', 'the budgets of models cannot be read at present', {
    model: ref.name,
    retry_after_ms: 1_000,
    limited_by: 'configuration',
  });
  return { result: errorResult(error), unsent: true, pauseScope: 'directive' };
}

function heldBack(
  options: BudgetOptions,
  call: BudgetedCall,
  breach: BudgetBreach,
  most: { tokens: number; money: number | null },
): Execution {
  const { context } = call;
  const declined = answersIn(context)[breach.id]?.action;
  const cheaper = cheaperOf(options, call, breach);
  const asks = breach.onBreach === 'ask' ? askFor(breach, most, context) : null;
  const isFixed = breach.onBreach === 'cheaper' && !call.mayChange;
  const why = isFixed ? `; vectors of ${breach.cheaper} would not fit those of ${call.ref.name}` : '';
  const error = errorEnvelope('budget_spent', sentenceOf(breach, most, call.ref) + why, {
    ...detailsOf(breach, most),
    model: call.ref.name,
    ...(declined === undefined ? {} : { answer: declined }),
    ...(breach.onBreach === 'cheaper' && cheaper === null ? { cheaper_unavailable: breach.cheaper } : {}),
  });
  return {
    result: errorResult(error),
    unsent: true,
    ...(cheaper === null ? {} : { cheaper }),
    ...(asks === null ? {} : { asks }),
    span: { [ATTRIBUTE.budget]: breach.budget, [ATTRIBUTE.budgetAction]: breach.onBreach },
  };
}

/** null: nothing cheaper answers. A call changes its models once: two budgets must not send it to and fro. */
function cheaperOf(
  { modelsOf }: BudgetOptions,
  { context, mayChange }: BudgetedCall,
  { onBreach, cheaper, budget }: BudgetBreach,
): CheaperModels | null {
  if (onBreach !== 'cheaper' || cheaper === null || !mayChange || context.candidate.cheaper) return null;
  const models = modelsOf(cheaper);
  return models.length === 0 ? null : { budget, alias: cheaper, models };
}

/** Tells the answers to these questions from those of tools, whose servers have other names. */
const ENDPOINT = 'budget:';

function answersIn({ answered }: ExecutionContext): NonNullable<ExecutionContext['answered']>['answers'] {
  return answered?.endpoint === ENDPOINT ? answered.answers : {};
}

/**
 * The budgets that were allowed in this round and those before: only the newest comes back with its answers, so each
 * carries the earlier ones.
 */
function allowedIn(context: ExecutionContext): ReadonlySet<string> {
  const { answered } = context;
  const answers = Object.entries(answersIn(context));
  const now = answers.filter(([, { action }]) => action === 'accept').map(([id]) => id);
  const before = answered?.endpoint === ENDPOINT ? (answered.state ?? '[]') : '[]';
  return new Set([...(JSON.parse(before) as string[]), ...now]);
}

/** For calls that a tool asks for: a person is asked of each budget once, whatever the round. */
export function answeredBudgets(answers: ReadonlyMap<string, QuestionAnswer>): AnsweredRound {
  const given = Object.fromEntries(answers);
  return { endpoint: ENDPOINT, state: null, afresh: false, round: 0, answers: given };
}

/**
 * The question to a person; null: it was denied, or asked often enough. Asked until the day is over; then the budget is
 * whole again.
 */
function askFor(
  breach: BudgetBreach,
  most: { tokens: number; money: number | null },
  context: ExecutionContext,
): AskedQuestions | null {
  const isAnswered = Object.hasOwn(answersIn(context), breach.id);
  const rounds = context.answered?.endpoint === ENDPOINT ? context.answered.round : 0;
  if (isAnswered || rounds >= QUESTION_LIMITS.rounds || breach.resetsAt === null) return null;
  const message = `The budget "${breach.budget}" is too small for this call of ${modelOf(context)}: ${amountsOf(breach, most)}. Accept to make it all the same.`;
  const question = { mode: 'form' as const, message, schema: { type: 'object', properties: {} } };
  const patienceMs = Math.max(1_000, breach.resetsAt - Date.now());
  return {
    questions: [{ key: breach.id, question }],
    state: JSON.stringify([...allowedIn(context)]),
    endpoint: ENDPOINT,
    patienceMs,
    afresh: false,
  };
}

function modelOf({ models, candidate }: ExecutionContext): string {
  return models[candidate.index] ?? 'a model';
}

function sentenceOf(
  breach: BudgetBreach,
  most: { tokens: number; money: number | null },
  ref: ModelRef,
): string {
  const { budget, unit, resetsAt } = breach;
  if (unit === 'price')
    return `the budget "${budget}" holds money, and ${ref.name} has no price in the configuration`;
  const until = isTooSmall(breach, most)
    ? '; it is too small for this call on any day: lower its max_tokens, or raise the limit'
    : resetsAt === null
      ? ''
      : `; it begins anew at ${new Date(resetsAt).toISOString()}`;
  return `the budget "${budget}" of the day is too small for the call: ${amountsOf(breach, most)}${until}`;
}

function isTooSmall(
  { unit, limit }: BudgetBreach,
  { tokens, money }: { tokens: number; money: number | null },
): boolean {
  return limit !== null && (unit === 'money' ? (money ?? 0) : tokens) > limit;
}

function amountsOf(
  { unit, used, limit }: BudgetBreach,
  { tokens, money }: { tokens: number; money: number | null },
): string {
  const text = (amount: number): string =>
    unit === 'money'
      ? `${(amount / MILLIONTHS).toFixed(4)} ${BUDGET_CURRENCY}`
      : `${Math.ceil(amount)} tokens`;
  const needs = `it may take ${text(unit === 'money' ? (money ?? 0) : tokens)}`;
  return used === null || limit === null ? needs : `${text(used)} of ${text(limit)} are used, and ${needs}`;
}

function detailsOf(
  { budget, unit, used, limit, resetsAt, onBreach }: BudgetBreach,
  { tokens, money }: { tokens: number; money: number | null },
): Record<string, unknown> {
  return {
    budget,
    unit,
    ...(used === null ? {} : { used }),
    ...(limit === null ? {} : { limit }),
    ...(unit === 'price' ? {} : { needed: Math.ceil(unit === 'money' ? (money ?? 0) : tokens) }),
    ...(resetsAt === null ? {} : { resets_at: new Date(resetsAt).toISOString() }),
    on_breach: onBreach,
  };
}
