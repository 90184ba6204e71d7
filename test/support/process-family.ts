/** A process of a test with all that is below it, ended by id: what is below a killed process has lost it, and would stay.
 *  It must never end a process that took over the number of one that it knew. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Family {
  /** Notes what is below the process now: once that is gone, nobody can say what it started. */
  note(): void;
  /** SIGKILL to what was noted and to what is below the process now. Tolerates what has ended. */
  end(): void;
}

export function familyOf(pid: number): Family {
  /** Number → when it began: together they name one process. */
  const members = new Map<number, string>();
  const note = (): void => {
    for (const each of withAllBelow(pid)) {
      const began = beginOf(each);
      if (began !== null) members.set(each, began);
    }
  };
  note();
  return {
    note,
    end: () => {
      note();
      for (const [each, began] of members) if (beginOf(each) === began) kill(each);
    },
  };
}

function withAllBelow(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(withAllBelow)];
}

/** Of all its threads; none where it has ended, or where the system does not report them. */
function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const lists = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'));
    return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
  } catch {
    return [];
  }
}

/** In ticks since the machine's start, behind the program's name, which is in brackets and may hold anything; null: it has ended. */
function beginOf(pid: number): string | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
