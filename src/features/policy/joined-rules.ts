// The rules of an operator joined with those that a tenant has added: of all decisions about a call the strictest counts.
// Must never let a rule of a tenant loosen what the operator has decided.
import { COUNTERS, type RuledCall, type Ruling } from '../../contract/policy/policy.ts';
import { readable } from './call-data.ts';
import {
  type CounterUse,
  type CounterValues,
  DEFAULT_ASK_MS,
  type Ruled,
  type Rules,
  strictness,
} from './rules.ts';

/** Rules of one policy of a tenant. */
export interface TenantRules {
  readonly tenant: string;
  readonly name: string;
  readonly rules: Rules;
}

/** The rules of a policy that this worker cannot evaluate. */
export const DENY_ALL: Rules = {
  usesOf: () => [],
  rule: () => ({
    kind: 'ruled',
    ruling: {
      decision: 'deny',
      rule: 'unreadable',
      reason: null,
      failed: 'this worker cannot read the policy',
      askMs: DEFAULT_ASK_MS,
    },
  }),
  scopes: new Map(),
  reads: 0,
  readsOf: () => [],
};

/**
 * Policies of a tenant read no arguments that are large for the number of their expressions: a decision takes 50 ms at most, and a rule that
 * reads them fails. Counters of a policy have the name of their tenant and policy
 * before their own, which no counter of an operator has.
 */
export function joinRules(operators: Rules, policies: readonly TenantRules[]): Rules {
  if (policies.length === 0) return operators;
  const joined = policies.map(({ tenant, name, rules }) => ({
    rules,
    ruleName: (rule: string) => `${name}/${rule}`,
    prefix: `${tenant}~${name}.`,
  }));

  const reads = joined.reduce((sum, { rules }) => sum + rules.reads, 0);

  return {
    usesOf: (call) => [
      ...operators.usesOf(call),
      ...joined.flatMap(({ rules, prefix }) =>
        rules
          .usesOf(readable(call, { once: reads, inLoops: 0 }))
          .map((use) => ({ ...use, counter: prefix + use.counter })),
      ),
    ],
    rule(call, uses, values) {
      const ruled = [
        operators.rule(call, uses, values),
        ...joined.map(({ rules, ruleName, prefix }) =>
          renamed(
            ruleWithin(rules, prefix, { call: readable(call, { once: reads, inLoops: 0 }), uses, values }),
            ruleName,
          ),
        ),
      ];
      return strictest(ruled);
    },
    scopes: new Map([
      ...operators.scopes,
      ...joined.flatMap(({ rules, prefix }) =>
        [...rules.scopes].map(([name, per]) => [prefix + name, per] as const),
      ),
    ]),
    reads: operators.reads + reads,
    readsOf(rule) {
      const own = joined.find(({ ruleName }) => rule.startsWith(ruleName('')));
      if (own === undefined) return operators.readsOf(rule);
      const paths = own.rules.readsOf(rule.slice(own.ruleName('').length));
      const counter = `${COUNTERS}.`;
      return paths.map((path) =>
        path.startsWith(counter) ? counter + own.prefix + path.slice(counter.length) : path,
      );
    },
  };
}

interface Asked {
  readonly call: RuledCall;
  readonly uses: readonly CounterUse[];
  readonly values: CounterValues | null;
}

function ruleWithin(rules: Rules, prefix: string, { call, uses, values }: Asked): Ruled {
  const isOwn = (name: string): boolean => name.startsWith(prefix);
  const own = uses
    .filter(({ counter }) => isOwn(counter))
    .map((use) => ({ ...use, counter: use.counter.slice(prefix.length) }));
  const read =
    values === null
      ? null
      : new Map(
          [...values]
            .filter(([name]) => isOwn(name))
            .map(([name, value]) => [name.slice(prefix.length), value] as const),
        );
  return rules.rule(call, own, read);
}

function renamed(ruled: Ruled, ruleName: (rule: string) => string): Ruled {
  if (ruled.kind === 'needs') return ruled;
  const { rule } = ruled.ruling;
  return { kind: 'ruled', ruling: { ...ruled.ruling, rule: rule === null ? null : ruleName(rule) } };
}

/** The first of equally strict ones. */
function strictest(all: readonly Ruled[]): Ruled {
  const needs = all.find(({ kind }) => kind === 'needs');
  if (needs !== undefined) return needs;
  const rulings = all.flatMap((each): Ruling[] => (each.kind === 'ruled' ? [each.ruling] : []));
  const ruling = rulings.reduce((strict, each) => (strictness(each) > strictness(strict) ? each : strict));
  return { kind: 'ruled', ruling };
}
