// The index of runs that have begun and not ended, by their activity: only for counts. Never trusted: a listed run may
// have ended; the sweepers remove it within some checks.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';

/** `approval`: for a person's decision; `waiting`: for a timer, an input or a child. */
export type RunActivity = 'running' | 'waiting' | 'approval';

const SCORES: Readonly<Record<RunActivity, number>> = { running: 1, waiting: 2, approval: 3 };

/** Size of one part: Redis is blocked for less than a tenth of a millisecond. */
const LISTED_AT_ONCE = 100;

export type RunActivityIndex = ReturnType<typeof createRunActivityIndex>;

export function createRunActivityIndex(connection: RedisConnection, keys: KeySpace) {
  /** The newest of each run, for one turn of the event loop: its runs share two commands. */
  let noted = new Map<string, RunActivity | null>();
  let cursor = '0';

  function flush(): void {
    const changes = [...noted];
    noted = new Map();
    const ended = changes.flatMap(([requestId, activity]) => (activity === null ? [requestId] : []));
    const scored = changes.flatMap(([requestId, activity]) =>
      activity === null ? [] : [SCORES[activity], requestId],
    );
    if (ended.length > 0) connection.zrem(keys.runs, ...ended).catch(() => {});
    if (scored.length > 0) connection.zadd(keys.runs, ...scored).catch(() => {});
  }

  return {
    /** null: it has ended. Returns at once; what is lost is wrong until the run's next change. */
    note(requestId: string, activity: RunActivity | null): void {
      if (noted.size === 0) setImmediate(flush);
      noted.set(requestId, activity);
    },
    /** A part of the listed runs, about LISTED_AT_ONCE, the next one each time. */
    async listed(): Promise<string[]> {
      const [next, pairs] = await connection.zscan(keys.runs, cursor, 'COUNT', LISTED_AT_ONCE);
      // @guard counted-piece
      cursor = next;
      return pairs.filter((_, at) => at % 2 === 0);
    },
    /** Costs the same, however many there are. */
    async counts(): Promise<Record<RunActivity, number>> {
      const count = (activity: RunActivity): Promise<number> =>
        connection.zcount(keys.runs, SCORES[activity], SCORES[activity]);
      const [running, waiting, approval] = await Promise.all([
        count('running'),
        count('waiting'),
        count('approval'),
      ]);
      return { running, waiting, approval };
    },
  };
}
