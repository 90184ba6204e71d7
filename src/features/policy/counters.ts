// The counts and sums that rules read, in Redis for all workers together: a call is added before it is made, or not at all.
// Never adds a call about which other values would have decided.
import { hash } from 'node:crypto';
import type { CounterScope, RuledCall, Ruling } from '../../contract/policy/policy.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../../store/keys.ts';
import { prepareScripts } from '../../store/scripts.ts';
import { type CounterUse, type CounterValues, type Rules, UncountedCall } from './rules.ts';

/** A counter of one scope; `amount` 0: it is only read. */
export interface CountedUse {
  readonly name: string;
  readonly scope: string;
  /** Whether it begins anew each day. */
  readonly daily: boolean;
  readonly amount: number;
}

export type PolicyCounters = ReturnType<typeof createPolicyCounters>;

/** Rounds after which calls of other processes must have let one through. */
const MOST_ROUNDS = 200;

/** `member`: `<request>/<directive>`. All methods reject when Redis does not answer. */
export function createPolicyCounters(connection: RedisConnection, { policy }: Pick<KeySpace, 'policy'>) {
  const run = prepareScripts(connection);
  const place = [policy];

  /** Decides by the values, and adds the call unless it is denied; a repeat gets what was decided then. */
  async function decide(
    member: string,
    counters: readonly CountedUse[],
    decision: (values: CounterValues) => Ruling,
  ): Promise<Ruling> {
    const text = JSON.stringify(counters);
    let reply = await run('policy-reserve', place, [member, text, '', '', 0]);
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const [kind, given] = reply as [string, unknown];
      if (kind === 'known') return JSON.parse(String(given)) as Ruling;
      const seen = given as string[];
      const ruling = decision(new Map(counters.map(({ name }, at) => [name, Number(seen[at])])));
      if (ruling.decision === 'deny') return ruling;
      const waitsMs = ruling.decision === 'ask' ? ruling.askMs : 0;
      const args = [member, text, JSON.stringify(seen), JSON.stringify(ruling), waitsMs];
      reply = await run('policy-reserve', place, args);
      if (reply[0] === 'added') return ruling;
    }
    throw new Error('the counters of rules change too often to decide by them');
  }

  return {
    decide,
    /** `isMade`: the call stays counted; else it is given back. */
    async settle(member: string, isMade: boolean): Promise<void> {
      await run('policy-settle', place, [member, isMade ? '' : 1]);
    },
    async due(most: number, againMs: number): Promise<string[]> {
      return (await run('policy-due', place, [most, againMs])) as string[];
    },
  };
}

/** A call that cannot be counted waits for no person. */
const NO_ASK_MS = 86_400_000;

/** Decides about a call, and adds it to its counters unless it is denied. */
export async function decideCall(
  { rules, counters }: { readonly rules: Rules; readonly counters: Pick<PolicyCounters, 'decide'> },
  call: RuledCall,
  member: string,
): Promise<Ruling> {
  try {
    const uses = rules.usesOf(call);
    const first = rules.rule(call, uses, null);
    const isOver = first.kind === 'ruled' && (uses.length === 0 || first.ruling.decision === 'deny');
    if (isOver) return first.ruling;
    const read = first.kind === 'needs' ? [...rules.scopes.keys()] : [];
    return await counters.decide(member, countedUses(call, uses, read, rules.scopes), (values) => {
      const ruled = rules.rule(call, uses, values);
      if (ruled.kind === 'needs') throw new Error('a rule needs counters that were read');
      return ruled.ruling;
    });
  } catch (error) {
    if (!(error instanceof UncountedCall)) throw error;
    return { decision: 'deny', rule: null, reason: null, failed: error.message, askMs: NO_ASK_MS };
  }
}

/** Counters of the scopes of a call: those that it adds to, and those that are read. */
function countedUses(
  call: RuledCall,
  uses: readonly CounterUse[],
  read: readonly string[],
  scopes: ReadonlyMap<string, CounterScope>,
): CountedUse[] {
  const names = [...new Set([...uses.map(({ counter }) => counter), ...read])];
  return names.map((name) => {
    const per = scopes.get(name) ?? 'all';
    const amount = uses.find(({ counter }) => counter === name)?.amount ?? 0;
    return { name, scope: scopeOf(call, per), daily: per !== 'request', amount };
  });
}

/** Callers and agents of two tenants are never the same. */
function scopeOf(call: RuledCall, per: CounterScope): string {
  if (per === 'all') return 'all';
  const of = per === 'tenant' ? '' : call[per];
  return hash('sha256', JSON.stringify([per, call.tenant, of]), 'hex').slice(0, 32);
}
