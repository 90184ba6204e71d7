/** A rolling restart of every role, again and again: each process is told to stop, and another one takes its place, of
 *  the former sources and of the present ones by turns where there are former ones.
 *  It must never kill: one that does not end by itself in time is a violation. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault, Replacement } from './history.ts';
import type { Killer } from './killer.ts';
import type { Slot, System } from './system.ts';

/** Longer than any stop may take: the drain, and what follows it. */
const STOP_WITHIN_MS = 90_000;
const BETWEEN_MS = 300;

interface Turn {
  readonly kind: Replacement;
  readonly slot: Slot;
  /** Its port is free only when the old process has ended. */
  readonly isAlone: boolean;
}

export interface Roller extends Killer {
  /** What the processes did wrong. */
  complaints(): readonly string[];
  /** How often every place had a new process. */
  rounds(): number;
}

/** `sources`: folders that the rounds go through; the system began with the last. */
export function startRoller(system: System, sources: readonly string[]): Roller {
  const faults: Fault[] = [];
  const complaints: string[] = [];
  let rounds = 0;
  let stopping = false;

  async function run(): Promise<void> {
    while (!stopping) {
      const source = sources[rounds % sources.length] ?? '';
      // Back to the former sources in the opposite order, as docs/operations.md says.
      const isUpgrade = rounds % 2 === 0;
      for (const turn of isUpgrade ? turnsOf(system) : turnsOf(system).toReversed()) {
        if (stopping) return;
        turn.slot.source = source;
        await replace(turn);
        await delay(BETWEEN_MS);
      }
      rounds += 1;
    }
  }

  async function replace({ kind, slot, isAlone }: Turn): Promise<void> {
    const { child } = slot;
    if (child === null) return;
    const fault: Fault = { kind, pid: child.pid, at: Date.now(), overAt: null };
    faults.push(fault);
    // The new process first, as a rolling update does it.
    if (!isAlone) await slot.start();
    const { code, signal } = await child.stop(STOP_WITHIN_MS);
    if (code !== 0) complaints.push(`${slot.name} (pid ${child.pid}) ended with ${code ?? signal}`);
    if (isAlone) await slot.start();
    fault.overAt = Date.now();
  }

  const running = run();
  return {
    faults,
    complaints: () => complaints,
    rounds: () => rounds,
    async stop() {
      stopping = true;
      await running;
    },
  };
}

function turnsOf({ apis, workers, engines }: System): Turn[] {
  const turns = (kind: Replacement, slots: readonly Slot[], isAlone: boolean): Turn[] =>
    slots.map((slot) => ({ kind, slot, isAlone }));
  const all = workers.slice(-1);
  return [
    ...turns('worker replaced', workers.slice(0, -1), false),
    ...turns('engine replaced', engines, false),
    ...turns('all roles replaced', all, true),
    ...turns('api replaced', apis, true),
  ];
}
