// The index of runs that have begun and not ended, by what they do: only for counting them.
// Must never be trusted: a run that is listed may have ended; the sweeper removes it when it looks at the run.
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';

/** `approval`: somebody has to decide; `waiting`: for a timer, an input or a child. */
export type RunActivity = 'running' | 'waiting' | 'approval';

const SCORES: Readonly<Record<RunActivity, number>> = { running: 1, waiting: 2, approval: 3 };

export type RunActivityIndex = ReturnType<typeof createRunActivityIndex>;

export function createRunActivityIndex(connection: RedisConnection, keys: KeySpace) {
  /** The newest of each run, for one turn of the event loop: its runs share two commands. */
  let noted = new Map<string, RunActivity | null>();

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
