// The counts and sums that rules read, in Redis for all workers together: a call is added before it is made, or not at all.
// Never adds a call about which other values would have decided.
import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CounterScope, RuledCall, Ruling } from '../../contract/policy/policy.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../../store/keys.ts';
import { prepareScripts } from '../../store/scripts.ts';
import { type CounterUse, type CounterValues, DEFAULT_ASK_MS, type Rules, UncountedCall } from './rules.ts';

/** A counter of one scope; `amount` 0: it is only read. */
export interface CountedUse {
  readonly name: string;
  readonly scope: string;
  /** Whether it begins anew each day. */
  readonly daily: boolean;
  readonly amount: number;
}

export type PolicyCounters = ReturnType<typeof createPolicyCounters>;

/** Rounds that a call may lose against calls of other processes, before it is denied. */
const MOST_ROUNDS = 200;
/** Rounds without a pause; those that lose so often get out of step. */
const PAUSED_EACH = 20;
const LONGEST_PAUSE_MS = 50;

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
    const ofRequest = counters.some(({ daily, amount }) => !daily && amount > 0);
    const request = ofRequest ? member.slice(0, member.lastIndexOf('/')) : '';
    let reply = await run('policy-reserve', place, [member, text, '', '', 0, '']);
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const [kind, given] = reply as [string, unknown];
      if (kind === 'known') return JSON.parse(String(given)) as Ruling;
      const seen = given as string[];
      const ruling = decision(valuesOf(counters, seen));
      if (ruling.decision === 'deny') return ruling;
      const waitsMs = ruling.decision === 'ask' ? ruling.askMs : 0;
      const args = [member, text, JSON.stringify(seen), JSON.stringify(ruling), waitsMs, request];
      reply = await run('policy-reserve', place, args);
      if (reply[0] === 'added') return ruling;
      if (round % PAUSED_EACH === PAUSED_EACH - 1) await delay(Math.random() * LONGEST_PAUSE_MS);
    }
    throw new UncountedCall('the counters of the rules change too often to decide by them');
  }

  /** Values of counters, as Redis has them. */
  async function seenOf(counters: readonly CountedUse[]): Promise<string[]> {
    const [, seen] = await run('policy-reserve', place, ['', JSON.stringify(counters), '', '', 0, '']);
    return seen as unknown as string[];
  }

  return {
    decide,
    /** Values of counters; nothing is added. */
    async read(counters: readonly CountedUse[]): Promise<CounterValues> {
      return valuesOf(counters, await seenOf(counters));
    },
    seenOf,
    /** Keeps the counters of a request, or forgets them once it is gone. `leftMs`: as PTTL answers; `seen`: read before it. */
    async keep(request: string, counters: readonly CountedUse[], seen: readonly string[], leftMs: number) {
      const args = [request, JSON.stringify(counters), JSON.stringify(seen), leftMs];
      await run('policy-request', place, args);
    },
    /** `isMade`: the call stays counted; else it is given back. */
    async settle(member: string, isMade: boolean): Promise<void> {
      await run('policy-settle', place, [member, isMade ? '' : 1]);
    },
    async due(kind: 'due' | 'requests', most: number, againMs: number): Promise<string[]> {
      return (await run('policy-due', place, [most, againMs, kind])) as string[];
    },
  };
}

function valuesOf(counters: readonly CountedUse[], seen: readonly string[]): CounterValues {
  return new Map(counters.map(({ name }, at) => [name, Number(seen[at])]));
}

/** Decides about a call, and adds it to its counters unless it is denied. `onCounted`: it adds to some. */
export async function decideCall(
  { rules, counters }: { readonly rules: Rules; readonly counters: Pick<PolicyCounters, 'decide'> },
  call: RuledCall,
  member: string,
  onCounted: () => void = () => {},
): Promise<Ruling> {
  return countedOrDenied(async () => {
    const uses = rules.usesOf(call);
    if (uses.length > 0) onCounted();
    const first = rules.rule(call, uses, null);
    const isOver = first.kind === 'ruled' && (uses.length === 0 || first.ruling.decision === 'deny');
    if (isOver) return first.ruling;
    const read = first.kind === 'needs' ? [...rules.scopes.keys()] : [];
    return counters.decide(member, countedUses(call, uses, read, rules.scopes), (values) => {
      const ruled = rules.rule(call, uses, values);
      if (ruled.kind === 'needs') throw new Error('a rule needs counters that were read');
      return ruled.ruling;
    });
  });
}

/** Decides about other models of a call that is counted already, as if it had named them; adds nothing. */
export async function decideModels(
  { rules, counters }: { readonly rules: Rules; readonly counters: Pick<PolicyCounters, 'read'> },
  call: RuledCall,
  models: readonly string[],
): Promise<Ruling> {
  return countedOrDenied(async () => {
    const counted = new Map(rules.usesOf(call).map(({ counter, amount }) => [counter, amount]));
    const instead = { ...call, models };
    const uses = rules.usesOf(instead);
    const first = rules.rule(instead, uses, null);
    if (first.kind === 'ruled') return first.ruling;
    const values = await counters.read(countedUses(instead, [], [...rules.scopes.keys()], rules.scopes));
    const before = [...values].map(
      ([name, value]) => [name, Math.max(0, value - (counted.get(name) ?? 0))] as const,
    );
    const ruled = rules.rule(instead, uses, new Map(before));
    if (ruled.kind === 'needs') throw new Error('a rule needs counters that were read');
    return ruled.ruling;
  });
}

async function countedOrDenied(decide: () => Promise<Ruling>): Promise<Ruling> {
  try {
    return await decide();
  } catch (error) {
    if (!(error instanceof UncountedCall)) throw error;
    return { decision: 'deny', rule: null, reason: null, failed: error.message, askMs: DEFAULT_ASK_MS };
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

/** The counters of a request that its calls may have added to. */
export function usesOfRequest(
  of: Pick<RuledCall, 'tenant' | 'request'>,
  scopes: ReadonlyMap<string, CounterScope>,
): CountedUse[] {
  const scope = scopeOf({ ...of, caller: '', agent: '' }, 'request');
  const names = [...scopes].flatMap(([name, per]) => (per === 'request' ? [name] : []));
  return names.map((name) => ({ name, scope, daily: false, amount: 0 }));
}

/** Callers and agents of two tenants are never the same. */
function scopeOf(
  call: Pick<RuledCall, 'tenant' | 'caller' | 'agent' | 'request'>,
  per: CounterScope,
): string {
  if (per === 'all') return 'all';
  const of = per === 'tenant' ? '' : call[per];
  return hash('sha256', JSON.stringify([per, call.tenant, of]), 'hex').slice(0, 32);
}
