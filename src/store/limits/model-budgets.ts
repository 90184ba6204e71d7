// The remaining budget of model calls today: reserved before each call in all budgets at once, settled after it. Never
// counts by the clock of a worker, nor lets a call pass when Redis does not answer.
import type {
  BudgetBreach,
  BudgetedCall,
  BudgetReservation,
  BudgetRule,
  BudgetsOfCall,
  BudgetSettings,
  ModelBudgets,
  Spending,
} from '../../contract/model/budget.ts';
import { EACH } from '../../contract/model/budget.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { isRedisAway } from '../../platform/redis/unavailable.ts';
import { newIdentifier } from '../../platform/telemetry/identifier.ts';
import { budgetFields, type CountedBudget, countedBudget } from './budget-count.ts';
import { createBudgetDays, daysAround } from './budget-day.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';

export interface ModelBudgetsOptions {
  readonly connection: RedisConnection;
  readonly keys: Pick<KeySpace, 'budgets'>;
  readonly settings: BudgetSettings;
  /** Whether the model is one of the alias. Both as in the configuration. */
  readonly isOf: (model: string, alias: string) => boolean;
  /** The label of a call of the model. Must be one of a bounded number. */
  readonly labelOf: (model: string) => string;
  /** A call could not be settled, so that what was reserved for it stays used; or the budgets cannot be read though Redis answers. */
  readonly onError: (error: Error) => void;
}

type Most = Parameters<BudgetsOfCall['reserve']>[0];
type Allowed = Parameters<BudgetsOfCall['reserve']>[1];

/** In this order: what ends a call comes before what asks a person, and what finds another model comes before both. */
const ORDER = { cheaper: 0, stop: 1, ask: 2 } as const;

const REPORT_EVERY_MS = 60_000;

export function createModelBudgets(options: ModelBudgetsOptions): ModelBudgets {
  const { connection, keys, settings, isOf, labelOf, onError } = options;
  const run = prepareScripts(connection);
  const daysOf = createBudgetDays(settings.timeZone);
  const place = [keys.budgets];
  let reportedAt = -REPORT_EVERY_MS;

  /** Asks again with the days of Redis' clock, where it is days away from this one. */
  async function take(reservation: string, leaseMs: number, asked: string) {
    const ask = async (days: object) =>
      run('budget-reserve', place, [reservation, leaseMs, JSON.stringify(days), asked]);
    const reply = await ask(daysOf(Date.now()));
    const [verdict, seconds] = reply;
    return verdict === 'clock' ? ask(daysAround(Number(seconds) * 1_000, settings.timeZone)) : reply;
  }

  async function reserve(
    call: BudgetedCall,
    budgets: readonly CountedBudget[],
    most: Most,
    { leaseMs, allowed }: Allowed,
  ): Promise<BudgetReservation> {
    const limited = (budget: CountedBudget): boolean => !allowed.has(budget.id) && !isSpared(budget, call);
    const unpriced = budgets.find((budget) => budget.moneyPerDay !== null && limited(budget));
    if (most.money === null && unpriced !== undefined) return { ok: false, breach: withoutPrice(unpriced) };
    const { tokens, money } = whole(most);
    const asked = {
      tokens,
      money,
      label: labelOf(call.model),
      budgets: budgets.map((budget) => ({
        id: budget.id,
        tokens: limited(budget) ? (budget.tokensPerDay ?? -1) : -1,
        money: limited(budget) ? (budget.moneyPerDay ?? -1) : -1,
        owner: budget.tenant ?? '',
        fields: budgetFields(budget),
      })),
    };
    const reservation = newIdentifier();
    const taken = take(reservation, leaseMs, JSON.stringify(asked));
    const [verdict, which, unit, used, endsAt] = await taken.catch(unread);
    if (verdict === 'ok') return { ok: true, settle: (actual) => settle(reservation, actual) };
    const spent = budgets[Number(which)];
    if (verdict !== 'refused' || spent === undefined) return unread(new Error('the day is not known'));
    const resetsAt = Number(endsAt) * 1_000;
    return { ok: false, breach: breachOf(spent, { call, unit: String(unit), used: Number(used), resetsAt }) };
  }

  /** Calls wait meanwhile, so that it is asked again and again. */
  function unread(error: Error): never {
    const now = performance.now();
    if (isRedisAway(error)) onError(error);
    else if (now - reportedAt >= REPORT_EVERY_MS) {
      reportedAt = now;
      onError(
        new Error(`the budgets of models cannot be read, calls wait: ${error.message}`, { cause: error }),
      );
    }
    throw error;
  }

  function settle(reservation: string, actual: Spending): void {
    const { tokens, money } = whole(actual);
    run('budget-settle', place, [reservation, tokens, money]).catch(onError);
  }

  /** A limit of money or tokens does not hold for the models that a call goes on with once it is reached. */
  function isSpared({ cheaper }: BudgetRule, { model }: BudgetedCall): boolean {
    return cheaper !== null && (cheaper === model || isOf(model, cheaper));
  }

  return {
    of(call) {
      const found = settings.rules.flatMap((rule) => countedIn(rule, call, isOf));
      const budgets = [...found, ...ownBudget(call)].toSorted(
        (left, right) => ORDER[left.onBreach] - ORDER[right.onBreach],
      );
      if (budgets.length === 0) return null;
      return { reserve: async (most, reserving) => reserve(call, budgets, most, reserving) };
    },
  };
}

/** None where the call is none of the rule's. */
function countedIn(
  rule: BudgetRule,
  { tenant, spender, model }: BudgetedCall,
  isOf: ModelBudgetsOptions['isOf'],
): CountedBudget[] {
  const { alias } = rule;
  const key = spender?.key ?? null;
  const ofTenant = rule.tenant === null || rule.tenant === EACH || rule.tenant === tenant;
  const ofKey = rule.key === null || (rule.key === EACH ? key !== null : rule.key === key);
  const ofModel = alias === null || alias === model || isOf(model, alias);
  if (!ofTenant || !ofKey || !ofModel) return [];
  const one = { tenant: rule.tenant === null ? null : tenant, key: rule.key === null ? null : key };
  return [countedBudget(rule, one)];
}

/** The budget of the key that the call was submitted with. */
function ownBudget({ tenant, spender }: BudgetedCall): CountedBudget[] {
  if (spender === null) return [];
  const { key, tokens_per_day: tokensPerDay = null, money_per_day: moneyPerDay = null } = spender;
  if (tokensPerDay === null && moneyPerDay === null) return [];
  const limits = { tokensPerDay, moneyPerDay, onBreach: 'stop' as const, cheaper: null };
  return [countedBudget({ name: `key.${key}`, tenant, key, alias: null, ...limits }, { tenant, key })];
}

function withoutPrice({ id, name, moneyPerDay, onBreach, cheaper }: CountedBudget): BudgetBreach {
  const limit = moneyPerDay;
  return { id, budget: name, unit: 'price', used: null, limit, resetsAt: null, onBreach, cheaper };
}

function breachOf(
  { id, name, tenant, tokensPerDay, moneyPerDay, onBreach, cheaper }: CountedBudget,
  found: { call: BudgetedCall; unit: string; used: number; resetsAt: number },
): BudgetBreach {
  const unit = found.unit === 'money' ? 'money' : 'tokens';
  const limit = unit === 'money' ? moneyPerDay : tokensPerDay;
  // What all have spent together is for the operators.
  const isShown = tenant !== null || found.call.tenant === DEFAULT_TENANT;
  const amounts = isShown ? { used: found.used, limit } : { used: null, limit: null };
  return { id, budget: name, unit, ...amounts, resetsAt: found.resetsAt, onBreach, cheaper };
}

/** More than any call takes: beyond it sums would be inexact. */
const MOST_OF_A_CALL = 1_000_000_000_000;

function whole({ tokens, money }: Most): Spending {
  const count = (amount: number): number =>
    Number.isFinite(amount) ? Math.min(MOST_OF_A_CALL, Math.max(0, Math.ceil(amount))) : MOST_OF_A_CALL;
  return { tokens: count(tokens), money: count(money ?? 0) };
}
