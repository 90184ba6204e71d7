// One budget that calls are counted in: of a rule, and of one tenant and key where each has its own.
// Must never give two of them one place in Redis, whatever they are called.
import { hash } from 'node:crypto';
import { type BudgetRule, EACH } from '../../contract/model/budget.ts';

/** As `BudgetRule`, but `*` has become one tenant and one key; null: of all together. */
export interface CountedBudget extends BudgetRule {
  /** In Redis. */
  readonly id: string;
  /** As of `rankOf`; absent: its rule does not give each tenant one. */
  readonly rank?: string;
}

export function countedBudget(
  rule: BudgetRule,
  { tenant, key }: Pick<BudgetRule, 'tenant' | 'key'>,
): CountedBudget {
  const id = hash('sha256', JSON.stringify([rule.name, tenant, key]), 'hex').slice(0, 32);
  const rank = rule.tenant === EACH ? { rank: rankOf(rule) } : {};
  return { ...rule, tenant, key, id, ...rank };
}

/** The rank of a budget among those that a rule gives each tenant, by its use; by money where that is limited. */
function rankOf({ name, moneyPerDay }: Pick<BudgetRule, 'name' | 'moneyPerDay'>): string {
  const rule = hash('sha256', name, 'hex').slice(0, 32);
  return `${moneyPerDay === null ? 'tokens' : 'money'}:${rule}`;
}

/** Fields of its hash, beside the counts. */
export function budgetFields(budget: CountedBudget): Record<string, string> {
  const { rank = '', name, tenant, key, alias, tokensPerDay, moneyPerDay, onBreach, cheaper } = budget;
  return {
    ...(rank === '' ? {} : { rank }),
    name,
    tenant: tenant ?? '',
    key: key ?? '',
    alias: alias ?? '',
    tokens_limit: String(tokensPerDay ?? ''),
    money_limit: String(moneyPerDay ?? ''),
    on_breach: onBreach,
    cheaper: cheaper ?? '',
  };
}
