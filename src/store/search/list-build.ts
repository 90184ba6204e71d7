// Whether the list of requests is complete, and who builds it: one at a time, and another one goes on when that one dies.
// Must never count a list as complete that another version, or a build that was asked for since, has to write.
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';

export type ListBuild = ReturnType<typeof createListBuild>;

/** Of rows and their sets in Redis. A list of a lower one is built anew. */
export const LIST_FORMAT = 2;
/** A holder that is silent for so long has died. */
export const HOLD_MS = 15_000;

/** How far it is. */
export interface BuildPlace {
  /** '': the old list is still to be removed. */
  cursor: string;
  /** What the cursor is good for. */
  topology: string;
  /** Requests so far, and of these those whose rows could not be written. */
  found: number;
  failed: number;
}

export interface ListState {
  complete: boolean;
  /** Requests that the build under way has found. */
  found: number;
}

/** `under_way`: one is being built, which has found so many requests. `newer`: it is that of a newer version. */
export type AskedList = { verdict: 'asked' | 'newer' } | { verdict: 'under_way'; found: number };

export function createListBuild(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);
  const key = keys.listBuild;

  /** null: there is nothing to build, or another one does. */
  async function take(holder: string): Promise<BuildPlace | null> {
    const reply = await run('list-build-take', [key], [holder, HOLD_MS, LIST_FORMAT]);
    const [verdict, cursor = '', topology = '', found, failed] = reply.map(String);
    return verdict === 'taken' ? { cursor, topology, found: Number(found), failed: Number(failed) } : null;
  }

  /** false: another one builds, or a new list was asked for. */
  async function write(holder: string, fields: Partial<BuildPlace>, holdMs = HOLD_MS): Promise<boolean> {
    const words = Object.entries(fields).flat();
    const [written] = await run('list-build-step', [key], [holder, holdMs, ...words]);
    return written === 1;
  }

  return {
    take,
    write,
    hold: async (holder: string): Promise<boolean> => write(holder, {}),
    giveBack: async (holder: string): Promise<boolean> => write(holder, {}, 0),
    async end(holder: string, { found, failed }: BuildPlace): Promise<boolean> {
      const words = ['state', 'complete', 'cursor', '', 'topology', '', 'found', found, 'failed', failed];
      const [written] = await run('list-build-step', [key], [holder, 0, ...words]);
      return written === 1;
    },
    /** After each removal of a part of the old list. false: another one builds, which now begins again where it had begun to write. */
    async keepCleared(holder: string): Promise<boolean> {
      const [kept] = await run('list-build-cleared', [key], [holder, HOLD_MS]);
      return kept === 1;
    },
    async ask(who: string): Promise<AskedList> {
      const [verdict, found] = (await run('list-build-ask', [key], [who, LIST_FORMAT])).map(String);
      return verdict === 'under_way'
        ? { verdict, found: Number(found) }
        : { verdict: verdict === 'newer' ? 'newer' : 'asked' };
    },
    async state(): Promise<ListState> {
      const [state, format, found] = await connection.hmget(key, 'state', 'format', 'found');
      return {
        complete: state === 'complete' && Number(format) === LIST_FORMAT,
        found: Number(found ?? 0),
      };
    },
  };
}
