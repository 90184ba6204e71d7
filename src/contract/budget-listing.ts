// The budgets of today, as a reader sees them.
// Must never be used for a decision: the counts go on while they are read.
import * as z from 'zod';
import { amountSchema, onBreachSchema } from './budget.ts';
import { instantSchema } from './identifiers.ts';

const amountOfDaySchema = z.object({
  /** With the most that calls under way may take. It passes the limit where a person or `cheaper` let calls go on. */
  used: amountSchema,
  /** null: it is only counted. */
  limit: amountSchema.nullable(),
});

const spentByModelSchema = z.object({
  /** The alias that was asked for, or the model; `provider:*` for models that the configuration does not name. */
  name: z.string(),
  calls: amountSchema,
  tokens: amountSchema,
  money: amountSchema,
});

export const listedBudgetSchema = z.object({
  /** Of its rule in the configuration; `key.<id>` for what a key was made with. */
  name: z.string(),
  /** Absent: of all tenants together. */
  tenant: z.string().optional(),
  /** The id of the API key. Absent: of all together. */
  key: z.string().optional(),
  /** Absent: calls of any model. */
  alias: z.string().optional(),
  tokens: amountOfDaySchema,
  /** Millionths of `currency`. Calls of models without a price add nothing. */
  money: amountOfDaySchema,
  /** Calls that it let pass. */
  calls: amountSchema,
  /** Calls that it held back: stopped, asked about, or given to a cheaper model. */
  breaches: amountSchema,
  on_breach: onBreachSchema,
  cheaper: z.string().optional(),
  /** Most money first, then most tokens. */
  models: z.array(spentByModelSchema),
});

export const budgetListingSchema = z.object({
  /** The day that it is of, in `time_zone`. */
  day: z.iso.date(),
  time_zone: z.string(),
  /** When the next day begins, and with it every budget anew. */
  resets_at: instantSchema,
  currency: z.string(),
  budgets: z.array(listedBudgetSchema),
  /** Only to operators: of which rules there are more budgets of tenants than are listed, and how many. Listed are those of which most is used. */
  more: z.array(z.object({ name: z.string(), budgets: z.int().min(1) })).optional(),
});

export type ListedBudget = z.infer<typeof listedBudgetSchema>;
export type BudgetListing = z.infer<typeof budgetListingSchema>;
