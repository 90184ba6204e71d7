// The index of what begins later, by when: the timer of directives and runs that wait for their instant; and how much is open in all.
// Must never be trusted: the journal says what may begin.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import { type DirectiveRef, memberOf } from '../refs.ts';
import { type DueEntry, HOLD_MS, refOf, type SweepIndex } from './sweep-index.ts';

/** A directive or run that begins later. `when`: as in `Later`. */
export interface LaterAnnouncement {
  when: string;
  lane: string;
}

/**
 * The entries that begin now, and the milliseconds until the next one begins (null: none). `now`: by the clock of
 * Redis.
 */
export interface Beginning {
  now: number;
  entries: DueEntry[];
  nextMs: number | null;
}

export type LaterIndex = ReturnType<typeof createLaterIndex>;

export function createLaterIndex(connection: RedisConnection, keys: Pick<KeySpace, 'sweep' | 'later'>) {
  const run = prepareScripts(connection);
  const [index, byLane] = keys.later;
  let hear: () => void = () => {};

  /**
   * Adds entries of one request, accepted now: moves here those that still have the score in the sweep index with which
   * they were announced.
   */
  async function add(
    requestId: string,
    accepted: readonly (LaterAnnouncement & { id: string })[],
    score: string,
  ): Promise<void> {
    const words = accepted.flatMap(({ id, lane, when }) => [when, `${memberOf({ requestId, id })}|${lane}`]);
    await run('later-add', [keys.sweep], [score, ...words]);
  }

  /**
   * Moves at most `limit` of those that begin now to the sweep index, where no other sweeper checks them for a second.
   */
  async function take(limit: number): Promise<Beginning> {
    const [now, next, ...taken] = await run('later-take', [keys.sweep], [limit, HOLD_MS]);
    const entries: DueEntry[] = [];
    for (let at = 0; at < taken.length; at += 2)
      entries.push({ ...refOf(String(taken[at])), takenAs: String(taken[at + 1]), missedBefore: false });
    return { now: Number(now), entries, nextMs: Number(next) < 0 ? null : Number(next) };
  }

  /** An entry of the sweep index, which a sweeper took, waits here until `at`. */
  async function park(entry: DueEntry, lane: string, at: number): Promise<void> {
    await run('later-park', [keys.sweep], [memberOf(entry), entry.takenAs, lane, at]);
  }

  /** Drops an entry that has ended before it began; the sweeper checks once more in `afterMs`. */
  async function drop(ref: DirectiveRef, lane: string, afterMs: number): Promise<void> {
    await run('later-drop', [keys.sweep], [memberOf(ref), lane, afterMs]);
  }

  async function size(): Promise<number> {
    return connection.zcard(index);
  }

  /** Lane → how many begin later. */
  async function counts(): Promise<ReadonlyMap<string, number>> {
    const lanes = await connection.hgetall(byLane);
    return new Map(Object.entries(lanes).map(([lane, count]) => [lane, Number(count)]));
  }

  return {
    add,
    take,
    park,
    drop,
    size,
    counts,
    /** Something was announced by this process. */
    announced: (): void => hear(),
    /** Called then; the last listener counts. */
    onAnnounced: (listener: () => void): void => {
      hear = listener;
    },
  };
}

export function openThings({
  index,
  later,
}: {
  index: Pick<SweepIndex, 'size' | 'sizeOfService'>;
  later: Pick<LaterIndex, 'size'>;
}) {
  return {
    /** Without notices of ends and their deliveries. Up to `few` they may be counted along: Redis has less to do. */
    async size(few = 0): Promise<number> {
      const [cared, waiting] = await Promise.all([index.size(), later.size()]);
      const all = cared + waiting;
      return all <= few ? all : all - (await index.sizeOfService(cared));
    },
  };
}
