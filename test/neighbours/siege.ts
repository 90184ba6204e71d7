/** One attack beside a victim: what the victim felt before and during it, and the memory of each process.
 *  It must never judge by time alone: calls that failed and processes that ended count as well. */
import { fileURLToPath } from 'node:url';
import { spawnProcess } from '../support/process.ts';
import type { Attack } from './attacks.ts';
import { type Installation, LIMIT_MIB, type Memory, type Role, ROLES } from './installation.ts';
import type { Felt, Victim } from './victim.ts';

const ATTACKER = fileURLToPath(new URL('./attacker-process.ts', import.meta.url));
const PREPARED_WITHIN_MS = 120_000;
/** An attacker elsewhere takes no processor time of the service. */
const LEAST_URGENT = ['-n', '19', process.execPath] as const;

export interface Siege {
  readonly attack: Attack;
  readonly before: Felt;
  readonly during: Felt;
  /** How many requests of the attack were answered with each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** null: the process ended. */
  readonly memory: Readonly<Record<Role, { readonly before: Memory | null; readonly after: Memory | null }>>;
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
    const before = await victim.watch({ calls: calmCalls });
    installation.resetPeaks();
    const old = memories(installation);
    const over = new AbortController();
    const watched = victim.watch({ signal: over.signal });
    attacker.write('go\n');
    const done = await attacker.waitForLine(/^done /, longestMs + 60_000);
    over.abort();
    const during = await watched;
    const now = memories(installation);
    const memory = Object.fromEntries(
      ROLES.map((role) => [role, { before: old[role], after: now[role] }]),
    ) as Siege['memory'];
    const statuses = JSON.parse(done.slice('done '.length)) as Record<string, number>;
    return { attack, before, during, statuses, memory };
  } finally {
    await attacker.kill9();
    await installation.revive();
  }
}

function memories(installation: Installation): Record<Role, Memory | null> {
  return Object.fromEntries(ROLES.map((role) => [role, installation.memory(role)])) as Record<Role, Memory | null>;
}

/** Sentences about what must not be, whatever the machine does besides; none: all held. */
export function broken({ attack, during, statuses, memory }: Siege): string[] {
  const taken = Object.entries(statuses).filter(
    ([status]) => attack.refused === true && !/^4\d\d$/.test(status) && status !== 'unanswered',
  );
  return [
    ...during.failures.map((failure) => `a call of the other tenant failed: ${failure}`),
    ...taken.map(([status, count]) => `${count} requests that had to be refused were answered with ${status}`),
    ...ROLES.flatMap((role) => {
      const { after } = memory[role];
      if (after === null) return [`the ${role} ended`];
      return after.peakMiB > LIMIT_MIB ? [`the ${role} took ${Math.round(after.peakMiB)} MiB`] : [];
    }),
  ];
}
