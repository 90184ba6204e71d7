// The rules of an operator, compiled: which of them decides about a call, and what the call adds to the counters.
// Never lets a call pass because a rule could not be evaluated.
import {
  COUNTERS,
  type CounterScope,
  POLICY_VARIABLES,
  type PolicyRule,
  type PolicySettings,
  type RuledCall,
  type Ruling,
} from '../../contract/policy/policy.ts';
import {
  createCompiler,
  type Data,
  evaluationFault,
  type Expression,
} from '../../platform/expression/expression.ts';
import { readsOf } from '../../platform/expression/data.ts';
import { dataOf, readable } from './call-data.ts';

/** Amount that a call adds to a counter. */
export interface CounterUse {
  readonly counter: string;
  readonly per: CounterScope;
  readonly amount: number;
}

/** Values of counters by name, without the call. */
export type CounterValues = ReadonlyMap<string, number>;

/** `needs`: counters whose values decide. */
export type Ruled =
  | { readonly kind: 'ruled'; readonly ruling: Ruling }
  | { readonly kind: 'needs'; readonly counters: readonly string[] };

export interface Rules {
  /** Throws `UncountedCall` where an amount cannot be told. */
  usesOf(call: RuledCall): CounterUse[];
  /** `values`: null = not read yet. Of several models the strictest decision counts. */
  rule(call: RuledCall, uses: readonly CounterUse[], values: CounterValues | null): Ruled;
  readonly scopes: ReadonlyMap<string, CounterScope>;
  /** How often its expressions may go through the arguments of a call, without those that do so in loops. */
  readonly reads: number;
  /** Paths that a rule reads, such as `args.amount`, and the counter of its limit; empty: there is no such rule. */
  readsOf(rule: string): readonly string[];
}

/** Why a call cannot be counted; it is denied. */
export class UncountedCall extends Error {
  override readonly name = 'UncountedCall';
}

/** The largest amount of one call: sums of it stay exact to a millionth. */
const MOST_OF_A_CALL = 1_000_000_000_000;
const STRICTNESS = { allow: 0, ask: 1, deny: 3 } as const;

/** Order of decisions. */
export function strictness({ decision, approver }: Ruling): number {
  return decision === 'ask' && approver === 'other' ? STRICTNESS.ask + 1 : STRICTNESS[decision];
}

interface CompiledRule extends PolicyRule {
  readonly expression: Expression;
  /** Counters that it reads, that of its limit among them. */
  readonly counters: readonly string[];
}

/** @throws `ExpressionFault`; the configuration has found it before. */
export function compileRules(settings: PolicySettings): Rules {
  const compile = createCompiler(POLICY_VARIABLES);
  const rules = settings.rules.map((rule): CompiledRule => {
    const expression = compile(rule.when, 'bool');
    const read = expression.reads
      .filter((path) => path.startsWith(`${COUNTERS}.`))
      .map((path) => path.slice(COUNTERS.length + 1));
    const counters = [...new Set([...read, ...(rule.limit === null ? [] : [rule.limit.counter])])];
    return { ...rule, expression, counters };
  });
  const counters = settings.counters.map((counter) => ({
    ...counter,
    counts: compile(counter.of, 'bool'),
    adds: counter.sum === null ? null : compile(counter.sum, 'double'),
  }));

  const all = [
    ...rules.map(({ expression }) => expression),
    ...counters.flatMap(({ counts, adds }) => (adds === null ? [counts] : [counts, adds])),
  ];
  const { once, inLoops } = readsOf(all);

  /** Data of a call for an expression. */
  function dataFor(
    call: RuledCall,
    model: string,
    counted: Readonly<Record<string, Data>> = {},
  ): (expression: Expression) => Readonly<Record<string, Data>> {
    const plain = { ...dataOf(readable(call, { once, inLoops: 0 }), model), ...counted };
    if (inLoops === 0) return () => plain;
    const looped = { ...dataOf(readable(call, { once: 0, inLoops }), model), ...counted };
    return ({ repeats }) => (repeats ? looped : plain);
  }

  function usesOf(call: RuledCall): CounterUse[] {
    if (counters.length === 0) return [];
    const dataIn = dataFor(call, call.models[0] ?? '');
    const evaluated = (expression: Expression): unknown => expression.evaluate(dataIn(expression));
    return counters.flatMap(({ name, per, counts, adds }) => {
      if (!isTrue(name, () => evaluated(counts))) return [];
      return [{ counter: name, per, amount: adds === null ? 1 : amountOf(name, () => evaluated(adds)) }];
    });
  }

  function ruleModel(
    call: RuledCall,
    model: string,
    uses: readonly CounterUse[],
    values: CounterValues | null,
  ): Ruled {
    const counted = values === null ? {} : { [COUNTERS]: values };
    const dataIn = dataFor(call, model, counted);
    for (const rule of rules) {
      const met = metBy(rule, dataIn(rule.expression));
      if (
        values === null &&
        rule.counters.length > 0 &&
        (met.kind === 'failed' || (met.kind === 'met' && rule.limit !== null))
      )
        return { kind: 'needs', counters: rule.counters };
      if (met.kind === 'failed') return ruled({ ...base(rule), decision: rule.onError, failed: met.why });
      if (met.kind === 'met') {
        const decision = decisionOf(rule, uses, values);
        if (decision !== null) return ruled({ ...base(rule), decision });
      }
    }
    return ruled({ decision: settings.default, rule: null, reason: null, askMs: DEFAULT_ASK_MS });
  }

  function rule(call: RuledCall, uses: readonly CounterUse[], values: CounterValues | null): Ruled {
    let strictest: Ruling | null = null;
    const needed = new Set<string>();
    for (const model of call.models.length === 0 ? [''] : call.models) {
      const each = ruleModel(call, model, uses, values);
      if (each.kind === 'needs') each.counters.forEach((name) => needed.add(name));
      else if (strictest === null || strictness(each.ruling) > strictness(strictest)) strictest = each.ruling;
    }
    if (needed.size > 0 || strictest === null) return { kind: 'needs', counters: [...needed] };
    return ruled(strictest);
  }

  return {
    usesOf,
    rule,
    scopes: new Map(counters.map(({ name, per }) => [name, per])),
    reads: once,
    readsOf(name) {
      const found = rules.find((each) => each.name === name);
      if (found === undefined) return [];
      return [
        ...new Set([...found.expression.reads, ...found.counters.map((each) => `${COUNTERS}.${each}`)]),
      ];
    },
  };
}

/** Wait of a decision that no rule has made, milliseconds. */
export const DEFAULT_ASK_MS = 86_400_000;

function ruled(ruling: Ruling): Ruled {
  return { kind: 'ruled', ruling };
}

function base({ name, reason, askMs, approver }: PolicyRule): Omit<Ruling, 'decision'> {
  return { rule: name, reason, askMs, approver };
}

const NO_ARGUMENTS = 'the arguments are encrypted, or too large for the rules';

function faultOf(error: unknown): string {
  const fault = evaluationFault(error);
  return fault === 'Unknown variable: args' ? NO_ARGUMENTS : fault;
}

type Met = { kind: 'met' } | { kind: 'unmet' } | { kind: 'failed'; why: string };

function metBy({ expression }: CompiledRule, data: Readonly<Record<string, Data>>): Met {
  try {
    const value = expression.evaluate(data);
    if (value === true) return { kind: 'met' };
    return value === false ? { kind: 'unmet' } : { kind: 'failed', why: 'it gave neither true nor false' };
  } catch (error) {
    return { kind: 'failed', why: faultOf(error) };
  }
}

/** null: the limit is not reached, and the next rule decides. */
function decisionOf(
  { decision, limit }: CompiledRule,
  uses: readonly CounterUse[],
  values: CounterValues | null,
): Ruling['decision'] | null {
  if (decision !== 'limit' || limit === null) return decision === 'limit' ? 'deny' : decision;
  const own = uses.find(({ counter }) => counter === limit.counter)?.amount ?? 0;
  return (values?.get(limit.counter) ?? 0) + own > limit.atMost ? limit.exceeded : null;
}

function isTrue(counter: string, evaluate: () => unknown): boolean {
  let value: unknown;
  try {
    value = evaluate();
  } catch (error) {
    throw new UncountedCall(
      `the counter "${counter}" cannot tell whether it counts the call: ${faultOf(error)}`,
    );
  }
  if (typeof value !== 'boolean')
    throw new UncountedCall(`\`of\` of the counter "${counter}" gave neither true nor false`);
  return value;
}

/** A negative amount would lower the sum for later calls. */
function amountOf(counter: string, evaluate: () => unknown): number {
  let value: unknown;
  try {
    value = evaluate();
  } catch (error) {
    throw new UncountedCall(`the counter "${counter}" cannot tell what the call adds: ${faultOf(error)}`);
  }
  const amount = typeof value === 'bigint' ? Number(value) : value;
  if (typeof amount !== 'number' || !(amount >= 0 && amount <= MOST_OF_A_CALL))
    throw new UncountedCall(`\`sum\` of the counter "${counter}" gave no number from 0 to ${MOST_OF_A_CALL}`);
  return amount;
}
