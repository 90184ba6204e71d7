// Budgets of a day: what they hold, what they are of, and what follows when one is spent.
// Must never hold a number that is no integer: money is counted in millionths of a US dollar.
import * as z from 'zod';

/** Of prices and of money; an amount is in millionths of it. */
export const BUDGET_CURRENCY = 'USD';

/** What is no name of a tenant, and of a key: each has such a budget of its own. */
export const EACH = '*';

/** The largest budget: sums of it stay exact. */
export const MOST_OF_A_DAY = 1_000_000_000_000_000;

export const amountSchema = z.int().min(0).max(MOST_OF_A_DAY);

/** `stop`: the call ends with `budget_spent`. `ask`: a person is asked. `cheaper`: another alias answers. */
export const onBreachSchema = z.enum(['stop', 'ask', 'cheaper']);

export type OnBreach = z.infer<typeof onBreachSchema>;

export interface BudgetRule {
  readonly name: string;
  /** null: of all together. `*`: of each its own. */
  readonly tenant: string | null;
  /** The id of an API key; as `tenant`. */
  readonly key: string | null;
  /** Calls of its models only; null: of any. */
  readonly alias: string | null;
  /** null: counted, without a limit. */
  readonly tokensPerDay: number | null;
  /** Millionths of a US dollar. */
  readonly moneyPerDay: number | null;
  readonly onBreach: OnBreach;
  /** An alias or a name of a model; null: none. */
  readonly cheaper: string | null;
}

export interface BudgetSettings {
  /** Whose midnight begins a day, as in `Europe/Berlin`. */
  readonly timeZone: string;
  readonly rules: readonly BudgetRule[];
}

export const NO_BUDGETS: BudgetSettings = { timeZone: 'UTC', rules: [] };
