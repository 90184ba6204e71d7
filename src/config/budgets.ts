// The limits of models' use in a day: budgets by tenant, key and model, or of the whole installation. Never accepts a
// budget that cannot be reached, nor an unknown cheaper model.
import * as z from 'zod';
import { parseModelName } from '../contract/model/model-name.ts';
import { type BudgetSettings, EACH, MOST_OF_A_DAY, onBreachSchema } from '../contract/model/budget.ts';
import { TENANT_FORM } from '../contract/access/tenant-name.ts';
import { modelFault } from './models.ts';
import { byName } from './names.ts';
import { notes } from './notes.ts';

const amount = z.int().min(1).max(MOST_OF_A_DAY);

const MOST_RULES = 64;

const ruleSchema = z
  .strictObject({
    tenant: z
      .string()
      .regex(/^(?:\*|[a-z0-9][a-z0-9-]{0,31})$/, `must be ${TENANT_FORM}; or "${EACH}" for each its own`)
      .optional()
      .register(notes, {
        description: 'Whose calls it counts.',
        special: '`*` = each tenant has such a budget of its own',
        fallback: 'those of all tenants together',
      }),
    key: z
      .string()
      .regex(/^[\x21-\x7E]{1,256}$/, 'must be the id of an API key, or "*" for each its own')
      .optional()
      .register(notes, {
        description:
          'The id of the API key whose calls it counts: those of what was submitted, or of runs that were started, with it.',
        special: '`*` = each key and each subject of a token has such a budget of its own',
        fallback: 'calls with any key, or without one',
      }),
    alias: z.string().min(1).max(256).optional().register(notes, {
      description:
        'Counts only calls of the models of this alias (or of this `provider:model`), however they were asked for.',
      fallback: 'calls of every model',
    }),
    tokens_per_day: amount.optional().register(notes, {
      description: 'Tokens, read and written, from midnight to midnight in `time_zone`.',
      unit: 'tokens',
      fallback: 'they are counted, without a limit',
    }),
    money_per_day: amount.optional().register(notes, {
      description:
        'The cost by the prices of the models. Models without a price are held back; 5000000 is 5 dollars.',
      unit: 'millionths of a US dollar',
      fallback: 'it is counted, without a limit',
    }),
    on_breach: onBreachSchema.default('stop').register(notes, {
      description:
        'What follows when a call might take more than is left: it ends with `budget_spent`, a person is asked, or `cheaper` answers.',
    }),
    cheaper: z.string().min(1).max(256).optional().register(notes, {
      description:
        'The alias, or `provider:model`, that answers then. Its calls are counted, and this budget does not hold them back.',
      fallback: 'none; `on_breach: "cheaper"` needs it',
    }),
  })
  .refine(({ on_breach: onBreach, cheaper }) => (onBreach === 'cheaper') === (cheaper !== undefined), {
    path: ['cheaper'],
    message: 'goes with on_breach "cheaper", and only with it',
  });

const nameSchema = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1 to 64 of a-z 0-9 -, not - first');

export const budgetSections = {
  budgets: z
    .strictObject({
      time_zone: z
        .string()
        .max(64)
        .refine(isTimeZone, 'must be a time zone, as in Europe/Berlin')
        .default('UTC')
        .register(notes, {
          description: 'Whose midnight begins a day, as in `Europe/Berlin`.',
        }),
      rules: byName(nameSchema, ruleSchema)
        .prefault({})
        .refine(
          (rules) => (rules as ReadonlyMap<string, unknown>).size <= MOST_RULES,
          `must be at most ${MOST_RULES}`,
        )
        .register(notes, {
          description:
            'Budgets by name. A call is counted in each that it matches, and sent when none is exceeded.',
        }),
    })
    .prefault({})
    .register(notes, { description: '[What models may cost in a day](budgets.md).', fallback: 'no budgets' }),
};

type Budgets = z.output<typeof budgetSections.budgets>;

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

type ModelSections = Parameters<typeof modelFault>[1];

/** Faults of names that other sections hold. */
export function budgetFaults({
  budgets,
  ...models
}: { budgets: Budgets } & ModelSections): { path: string[]; message: string }[] {
  return [...budgets.rules].flatMap(([name, rule]) => {
    const path = (field: string): string[] => ['budgets', 'rules', name, field];
    const unknown = (['alias', 'cheaper'] as const).flatMap((field) => {
      const given = rule[field];
      const message = given === undefined ? null : modelFault(given, models);
      return message === null ? [] : [{ path: path(field), message }];
    });
    const ofVectors =
      rule.cheaper === undefined ? [] : [rule.alias, rule.cheaper].filter(isOfVectors(models));
    if (ofVectors.length === 0) return unknown;
    const message = `is not for vectors: those of another model than ${ofVectors[0]} do not belong with its own; take "ask" or "stop"`;
    return [...unknown, { path: path('on_breach'), message }];
  });
}

/** Their makers say so in their names; no other way tells them from models that answer. */
const VECTORS = /embed/i;

/** Whether all its models make vectors. */
function isOfVectors({ models }: ModelSections): (given: string | undefined) => boolean {
  return (given) => {
    if (given === undefined) return false;
    const named = models.get(given);
    const chain = named === undefined ? [given] : [named].flat();
    const names = chain.map((each) => (typeof each === 'string' ? parseModelName(each)?.model : undefined));
    return names.length > 0 && names.every((name) => name !== undefined && VECTORS.test(name));
  };
}

export function budgetSettings({ time_zone: timeZone, rules }: Budgets): BudgetSettings {
  return {
    timeZone,
    rules: [...rules].map(([name, rule]) => ({
      name,
      tenant: rule.tenant ?? null,
      key: rule.key ?? null,
      alias: rule.alias ?? null,
      tokensPerDay: rule.tokens_per_day ?? null,
      moneyPerDay: rule.money_per_day ?? null,
      onBreach: rule.on_breach,
      cheaper: rule.cheaper ?? null,
    })),
  };
}
