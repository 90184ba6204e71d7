// The rules that decide about calls, and the counters that rules read.
// Must never accept an expression that does not compile, nor a rule that names no counter beside it.
import * as z from 'zod';
import { fieldErrors } from '../contract/json/field-error.ts';
import { fieldPath } from '../contract/json/field-path.ts';
import { COUNTERS, type PolicySettings, POLICY_VARIABLES, SCOPES } from '../contract/policy/policy.ts';
import { policyNameSchema } from '../contract/policy/runtime-policy.ts';
import type { FieldError } from '../contract/problem.ts';
import { createCompiler } from '../platform/expression/expression.ts';
import { expressionsOf } from './expression.ts';
import { byName } from './names.ts';
import { notes } from './notes.ts';

const MOST_RULES = 64;
const MOST_COUNTERS = 32;
const MOST_AMOUNT = 1_000_000_000_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const compile = createCompiler(POLICY_VARIABLES);
const expression = expressionsOf(compile);

const counterNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be 1 to 64 of a-z 0-9 _, a letter first');

const strictSchema = z.enum(['deny', 'ask']);

const ruleSchema = z
  .strictObject({
    name: policyNameSchema.clone().register(notes, { description: 'Names the rule in signals and errors.' }),
    when: expression('bool').register(notes, {
      description: 'A [CEL expression](policy.md): the rule is for the calls for which it is true.',
    }),
    decision: z.enum(['allow', 'deny', 'ask', 'limit']).register(notes, {
      description:
        'What follows. `limit` decides only about calls that would bring `counter` above `at_most`.',
    }),
    reason: z.string().max(500).optional().register(notes, {
      description: 'Shown to the caller, the model and the person who is asked.',
      fallback: 'none',
    }),
    counter: counterNameSchema.optional().register(notes, {
      description: 'The counter of a `limit`, one of `policy.counters`.',
      fallback: 'none; a `limit` needs it',
    }),
    at_most: z.number().min(0).max(MOST_AMOUNT).optional().register(notes, {
      description: 'The most that the counter may reach, this call included.',
      fallback: 'none; a `limit` needs it',
    }),
    exceeded: strictSchema.optional().register(notes, {
      description: 'What follows a call above the limit.',
      fallback: '`deny`; only of a `limit`',
    }),
    on_error: strictSchema.default('deny').register(notes, {
      description:
        'What follows when `when` cannot be evaluated, as when it reads an argument that is absent.',
    }),
    approver: z.enum(['any', 'other']).default('any').register(notes, {
      description:
        'Who may approve a call about which the rule asks: `other` is [a caller without a part in it](policy.md).',
    }),
    ask_ms: z
      .int()
      .min(1_000)
      .max(7 * DAY_MS)
      .default(DAY_MS)
      .register(notes, {
        description: 'How long the call waits for a person.',
        unit: 'ms',
      }),
  })
  .superRefine(({ decision, counter, at_most: atMost, exceeded }, context) => {
    const isLimit = decision === 'limit';
    for (const [key, value] of Object.entries({ counter, at_most: atMost, exceeded })) {
      if (!isLimit && value !== undefined)
        context.addIssue({ code: 'custom', path: [key], message: 'goes only with the decision "limit"' });
      if (isLimit && value === undefined && key !== 'exceeded')
        context.addIssue({ code: 'custom', path: [key], message: 'is needed by the decision "limit"' });
    }
  });

const counterSchema = z.strictObject({
  of: expression('bool').register(notes, { description: 'An expression: the calls that are counted.' }),
  sum: expression('double').optional().register(notes, {
    description: 'An expression: what each call adds, 0 or more, as in `args.amount`.',
    fallback: '1 for each call',
  }),
  per: z.enum(SCOPES).default('tenant').register(notes, {
    description:
      'What has a count of its own. Counts begin anew each day at midnight UTC; those per `request` last as long as it is active, and 30 days more.',
  }),
});

export const policySections = {
  policy: z
    .strictObject({
      rules: z
        .array(ruleSchema)
        .max(MOST_RULES)
        .default([])
        .register(notes, { description: 'In order: the first one that decides about a call counts.' }),
      counters: byName(counterNameSchema, counterSchema)
        .prefault({})
        .refine(
          (counters) => (counters as ReadonlyMap<string, unknown>).size <= MOST_COUNTERS,
          `must be at most ${MOST_COUNTERS}`,
        )
        .register(notes, {
          description: 'Counts and sums of calls, by name: `counters.<name>` in expressions.',
        }),
      default: z.enum(['allow', 'deny', 'ask']).default('allow').register(notes, {
        description: 'What follows when no rule decides.',
      }),
    })
    .optional()
    .register(notes, {
      description: '[Rules that decide about each call](policy.md). The same for every worker.',
      fallback: 'every call is allowed',
    }),
};

type Policy = NonNullable<z.output<typeof policySections.policy>>;

/** All of them are evaluated for each call of the tenant. */
const MOST_RULES_OF_TENANT = 8;
const MOST_COUNTERS_OF_TENANT = 4;
/** With the most policies and models of a call some 20,000 are evaluated before a decision, 2 µs each at first. */
const MOST_OPERATIONS_OF_TENANT = 128;

/** A call counts on the day of its admission: one that a tenant could hold for days would count past the operator's limit of its day. */
const tenantRuleSchema = ruleSchema
  .safeExtend({ ask_ms: z.int().min(1_000).max(HOUR_MS).default(HOUR_MS) })
  .refine(({ decision }) => decision !== 'allow', {
    path: ['decision'],
    message: 'must be deny, ask or limit: a tenant cannot allow what the operator does not',
  });

/** Rules of a tenant are only added to those of the operator. */
const tenantPolicySchema = z.strictObject({
  rules: z.array(tenantRuleSchema).min(1).max(MOST_RULES_OF_TENANT),
  counters: byName(counterNameSchema, counterSchema)
    .prefault({})
    .refine(
      (counters) => (counters as ReadonlyMap<string, unknown>).size <= MOST_COUNTERS_OF_TENANT,
      `must be at most ${MOST_COUNTERS_OF_TENANT}`,
    ),
});

export type TenantPolicy =
  | { readonly ok: true; readonly settings: PolicySettings }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** The rules of a tenant, which allow every call about which none of them decides. */
export function tenantPolicy(definition: unknown): TenantPolicy {
  const parsed = tenantPolicySchema.safeParse(definition);
  if (!parsed.success) return { ok: false, errors: fieldErrors(parsed.error) };
  const policy: Policy = { ...parsed.data, default: 'allow' };
  const errors = [
    ...policyFaults({ policy }).map(({ path, message }) => ({ path: fieldPath(path.slice(1)), message })),
    ...costlyExpressions(policy),
  ];
  return errors.length > 0 ? { ok: false, errors } : { ok: true, settings: settingsOf(policy) };
}

/** The time of a loop that reads a value is a product of two sizes that callers choose. */
function costlyExpressions({ rules, counters }: Policy): FieldError[] {
  const all = [
    ...rules.map(({ when }, at) => ({ path: `rules[${at}].when`, text: when, result: 'bool' as const })),
    ...[...counters].flatMap(([name, { of, sum }]) => [
      { path: `counters.${name}.of`, text: of, result: 'bool' as const },
      ...(sum === undefined ? [] : [{ path: `counters.${name}.sum`, text: sum, result: 'double' as const }]),
    ]),
  ].map(({ path, text, result }) => ({ path, ...compile(text, result) }));
  const operations = all.reduce((sum, { cost }) => sum + cost.operations, 0);
  const looped = 'reads a value in each round of a loop: only rules of the operator may';
  const many = `has ${operations} operators and calls, with those in each round of a loop over a list: at most ${MOST_OPERATIONS_OF_TENANT}`;
  return [
    ...all.flatMap(({ path, repeats }) => (repeats ? [{ path, message: looped }] : [])),
    ...(operations > MOST_OPERATIONS_OF_TENANT ? [{ path: '', message: many }] : []),
  ];
}

/** Faults between rules and counters. */
export function policyFaults({
  policy,
}: {
  policy?: Policy | undefined;
}): { path: (string | number)[]; message: string }[] {
  if (policy === undefined) return [];
  const names = policy.rules.map(({ name }) => name);
  const ofRules = policy.rules.flatMap(({ name, when, counter }, at) => [
    ...(names.indexOf(name) === at
      ? []
      : [{ path: ['policy', 'rules', at, 'name'], message: 'is the name of an earlier rule' }]),
    ...(counter === undefined || policy.counters.has(counter)
      ? []
      : [
          {
            path: ['policy', 'rules', at, 'counter'],
            message: `is no counter under counters; those are ${namesOf(policy)}`,
          },
        ]),
    ...unknownCounters(when, policy).map((message) => ({ path: ['policy', 'rules', at, 'when'], message })),
  ]);
  const ofCounters = [...policy.counters].flatMap(([name, counter]) =>
    (['of', 'sum'] as const).flatMap((key) =>
      readsOf(counter[key], key === 'of' ? 'bool' : 'double').some((path) => path.split('.')[0] === COUNTERS)
        ? [
            {
              path: ['policy', 'counters', name, key],
              message: 'reads a counter; counters count calls alone',
            },
          ]
        : [],
    ),
  );
  return [...ofRules, ...ofCounters];
}

/** Empty for what does not compile: that is a fault of its own. */
function readsOf(text: string | undefined, result: 'bool' | 'double'): readonly string[] {
  try {
    return text === undefined ? [] : compile(text, result).reads;
  } catch {
    return [];
  }
}

function unknownCounters(when: string, policy: Policy): string[] {
  return readsOf(when, 'bool')
    .filter((path) => path === COUNTERS || path.startsWith(`${COUNTERS}.`))
    .map((path) => path.slice(COUNTERS.length + 1))
    .filter((name) => !policy.counters.has(name))
    .map((name) =>
      name === ''
        ? 'reads counters as a whole; name one, as in counters.refunds'
        : `reads the counter "${name}", which is not under counters; those are ${namesOf(policy)}`,
    );
}

function namesOf({ counters }: Policy): string {
  return counters.size === 0 ? 'none' : [...counters.keys()].join(', ');
}

export function policySettings(policy: Policy | undefined): PolicySettings | null {
  return policy === undefined ? null : settingsOf(policy);
}

function settingsOf(policy: Policy): PolicySettings {
  return {
    default: policy.default,
    counters: [...policy.counters].map(([name, { of, sum, per }]) => ({ name, of, sum: sum ?? null, per })),
    rules: policy.rules.map((rule) => ({
      name: rule.name,
      when: rule.when,
      decision: rule.decision,
      reason: rule.reason ?? null,
      limit:
        rule.counter === undefined || rule.at_most === undefined
          ? null
          : { counter: rule.counter, atMost: rule.at_most, exceeded: rule.exceeded ?? 'deny' },
      onError: rule.on_error,
      approver: rule.approver,
      askMs: rule.ask_ms,
    })),
  };
}
