// The budgets of today, as a reader sees them.
// Must never be used for a decision: the counts go on while they are read.
import * as z from 'zod';
import { amountSchema, onBreachSchema } from './budget.ts';
import { instantSchema } from '../identifiers.ts';

const amountOfDaySchema = z.object({
  used: amountSchema.describe(
    'Amount used, including the most that calls in flight may use. It exceeds the limit where a person or `cheaper` permitted calls.',
  ),
  limit: amountSchema.nullable().describe('Limit of the day; null: usage is only counted.'),
});

const spentByModelSchema = z.object({
  name: z
    .string()
    .describe('Requested alias or model; `provider:*` for models that the configuration does not name.'),
  calls: amountSchema.describe('Number of calls.'),
  tokens: amountSchema.describe('Number of tokens.'),
  money: amountSchema.describe('Cost in millionths of `currency`.'),
});

/** Schema of a budget in a list. */
export const listedBudgetSchema = z.object({
  name: z.string().describe('Name of the rule in the configuration; `key.<id>` for the budget of a key.'),
  tenant: z.string().optional().describe('Tenant that the budget belongs to. Absent: all tenants together.'),
  key: z
    .string()
    .optional()
    .describe('Id of the API key that the budget belongs to. Absent: all keys together.'),
  alias: z.string().optional().describe('Model alias that the budget covers. Absent: every model.'),
  tokens: amountOfDaySchema.describe('Tokens used and permitted.'),
  money: amountOfDaySchema.describe(
    'Cost and its limit, in millionths of `currency`. Calls of models without a price count as 0.',
  ),
  calls: amountSchema.describe('Number of calls that the budget permitted.'),
  breaches: amountSchema.describe(
    'Number of calls that the budget stopped, asked about, or sent to a cheaper model.',
  ),
  on_breach: onBreachSchema.describe('Effect of reaching the limit.'),
  cheaper: z
    .string()
    .optional()
    .describe('Alias of the cheaper model that is used when the limit is reached.'),
  models: z.array(spentByModelSchema).describe('Usage by model, highest cost first, then most tokens.'),
});

/** Schema of the list of budgets. */
export const budgetListingSchema = z.object({
  day: z.iso.date().describe('Day that the budgets cover, in `time_zone`.'),
  time_zone: z.string().describe('IANA name of the time zone whose midnight resets the budgets.'),
  resets_at: instantSchema.describe('Instant (UTC) at which the next day begins and every budget is reset.'),
  currency: z.string().describe('Currency of the costs.'),
  budgets: z.array(listedBudgetSchema).describe('Budgets, highest usage first.'),
  more: z
    .array(
      z.object({
        name: z.string().describe('Name of the rule.'),
        budgets: z.int().min(1).describe('Number of budgets that are not listed.'),
      }),
    )
    .optional()
    .describe('Rules with more budgets of tenants than are listed, for operators only.'),
});

/** Budget in a list. */
export type ListedBudget = z.infer<typeof listedBudgetSchema>;
/** List of the budgets of a day. */
export type BudgetListing = z.infer<typeof budgetListingSchema>;
