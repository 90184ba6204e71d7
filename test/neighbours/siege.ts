/** One attack beside a victim: what the victim felt before and during it, and the memory of each process.
 *  It must never judge by time alone: calls that failed and processes that ended count as well. */
import { fileURLToPath } from 'node:url';
import { spawnProcess } from '../support/process.ts';
import { type Attack, type Statuses, UNANSWERED } from './attacks.ts';
import { type Installation, LIMIT_MIB, type Memory, type Role, ROLES } from './installation.ts';
import type { Felt, Victim } from './victim.ts';

const ATTACKER = fileURLToPath(new URL('./attacker-process.ts', import.meta.url));
const PREPARED_WITHIN_MS = 120_000;
/** An attacker elsewhere takes no processor time of the service. */
const LEAST_URGENT = ['-n', '19', process.execPath] as const;

/** Findings that can be judged on a machine of any speed. */
export interface Observed {
  readonly attack: Attack;
  readonly during: Felt;
  /** How many requests of the attack were answered with each status. */
  readonly statuses: Statuses;
  readonly after: Readonly<Record<Role, Memory | null>>;
}

export interface Siege extends Observed {
  readonly calm: Felt;
  readonly before: Readonly<Record<Role, Memory | null>>;
}

export interface SiegeOptions {
  readonly scale: number;
  readonly longestMs: number;
  /** Calls of each kind before the attack. */
  readonly calmCalls: number;
}

export async function besiege(
  attack: Attack,
  installation: Installation,
  victim: Victim,
  { scale, longestMs, calmCalls }: SiegeOptions,
): Promise<Siege> {
  const { url, hostileKeys } = installation;
  const key = attack.scope === 'none' ? {} : { key: hostileKeys[attack.scope] };
  const target = JSON.stringify({ url, ...key, setupKey: hostileKeys.all, scale });
  const attacker = spawnProcess('nice', [...LEAST_URGENT, ATTACKER, attack.name, target, String(longestMs)]);
  try {
    await attacker.waitForLine(/^ready$/, PREPARED_WITHIN_MS);
    const calm = await victim.watch({ calls: calmCalls });
    if (calm.failures.length > 0) throw new Error(`without an attack: ${calm.failures.join('; ')}`);
    installation.resetPeaks();
    const before = memoryOf(installation);
    const over = new AbortController();
    const watched = victim.watch({ signal: over.signal });
    attacker.write('go\n');
    const done = await attacker.waitForLine(/^done /, longestMs + 60_000);
    over.abort();
    const during = await watched;
    const statuses = JSON.parse(done.slice('done '.length)) as Statuses;
    return { attack, calm, during, statuses, before, after: memoryOf(installation) };
  } finally {
    await attacker.kill9();
    await installation.revive();
  }
}

/** null: the process has ended. */
export function memoryOf(installation: Installation): Record<Role, Memory | null> {
  const [api, engine, worker] = ROLES.map((role) => installation.memory(role));
  return { api: api ?? null, engine: engine ?? null, worker: worker ?? null };
}

/** Sentences about what is wrong, whatever the machine does besides; none: all held. */
export function broken(observed: Observed): string[] {
  return [...brokenBounds(observed), ...taken(observed)];
}

/** Failed calls of the other tenant, processes that ended, and memory above the limit. */
export function brokenBounds({ during, after }: Pick<Observed, 'during' | 'after'>): string[] {
  return [
    ...during.failures.map((failure) => `a call of the other tenant failed: ${failure}`),
    ...ROLES.flatMap((role) => {
      const peakMiB = after[role]?.peakMiB;
      if (peakMiB === undefined) return [`the ${role} ended`];
      return peakMiB > LIMIT_MIB ? [`the ${role} took ${Math.round(peakMiB)} MiB`] : [];
    }),
  ];
}

/** Requests that had to be refused, and were not. */
export function taken({ attack, statuses }: Pick<Observed, 'attack' | 'statuses'>): string[] {
  return Object.entries(statuses)
    .filter(([status]) => attack.refused && !/^4\d\d$/.test(status) && status !== UNANSWERED)
    .map(([status, count]) => `${count} requests that had to be refused were answered with ${status}`);
}
