// Budgets of a day: what they hold, what they are of, and what follows when one is spent.
// Must never hold a number that is no integer: money is counted in millionths of a US dollar.
import * as z from 'zod';

/** Currency of prices and budgets; amounts are in millionths of it. */
export const BUDGET_CURRENCY = 'USD';

/** Marker for a budget that each tenant or key has. It is not a valid name of either. */
export const EACH = '*';

/** The largest budget: sums of it stay exact. */
export const MOST_OF_A_DAY = 1_000_000_000_000_000;

/** Schema of an amount of tokens or money. */
export const amountSchema = z.int().min(0).max(MOST_OF_A_DAY);

/** `stop`: the call ends with `budget_spent`. `ask`: a person is asked. `cheaper`: another alias answers. */
export const onBreachSchema = z.enum(['stop', 'ask', 'cheaper']);

/** Effect of reaching the limit of a budget. */
export type OnBreach = z.infer<typeof onBreachSchema>;

/** Rule that defines budgets. */
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

/** Budgets of the configuration. */
export interface BudgetSettings {
  /** Time zone whose midnight begins a day, such as `Europe/Berlin`. */
  readonly timeZone: string;
  readonly rules: readonly BudgetRule[];
}

/** Settings without any budget. */
export const NO_BUDGETS: BudgetSettings = { timeZone: 'UTC', rules: [] };

/** With whose key something was submitted, and what that key itself may spend in a day. Kept with what was accepted. */
export interface Spender {
  readonly key: string;
  /** The issuer of a person or token, whose subjects another issuer may give to others. Absent: it is a key. */
  readonly issuer?: string;
  readonly tokens_per_day?: number;
  readonly money_per_day?: number;
}

/** A call of a model that is about to be made. */
export interface BudgetedCall {
  readonly tenant: string;
  /** null: it was submitted without a key. */
  readonly spender: Spender | null;
  /** As `provider:model`. */
  readonly model: string;
}

/** `money`: millionths of a US dollar. */
export interface Spending {
  readonly tokens: number;
  readonly money: number;
}

/** Budget that a call would exceed. */
export interface BudgetBreach {
  /** Permanent id of the budget; an approval refers to it. */
  readonly id: string;
  readonly budget: string;
  /** `price`: the budget holds money, and the model has no price. */
  readonly unit: 'tokens' | 'money' | 'price';
  /** null: of several tenants together, and not for the eyes of one; or not asked for. */
  readonly used: number | null;
  readonly limit: number | null;
  /** null: another day changes nothing. Milliseconds since the epoch. */
  readonly resetsAt: number | null;
  readonly onBreach: OnBreach;
  readonly cheaper: string | null;
}

/** Outcome of a reservation: reserved, or the breached budget. */
export type BudgetReservation =
  | {
      readonly ok: true;
      /** Says what the call took. Without it, it counts as reserved. Never throws, nor waits. */
      settle(actual: Spending): void;
    }
  | { readonly ok: false; readonly breach: BudgetBreach };

/** The budgets that a call is counted in. */
export interface BudgetsOfCall {
  /**
   * `most`: what the call may cost; money null: its model has no price. `allowed`: ids of budgets that a person lets it pass.
   * Rejects when Redis does not answer: the call must not be made then.
   */
  reserve(
    most: { readonly tokens: number; readonly money: number | null },
    options: { readonly leaseMs: number; readonly allowed: ReadonlySet<string> },
  ): Promise<BudgetReservation>;
}

/** Budgets that apply to calls of models. */
export interface ModelBudgets {
  /** null: it is counted in none, which costs nothing. */
  of(call: BudgetedCall): BudgetsOfCall | null;
}

/** Budgets of an installation without any. */
export const NO_MODEL_BUDGETS: ModelBudgets = { of: () => null };
