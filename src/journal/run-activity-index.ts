// The index of runs that have begun and not ended, by what they do: only for counting them.
// Must never be trusted: a run that is listed may have ended; the sweeper removes it when it looks at the run.
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';

/** `approval`: somebody has to decide; `waiting`: for a timer, an input or a child. */
export type RunActivity = 'running' | 'waiting' | 'approval';

const SCORES: Readonly<Record<RunActivity, number>> = { running: 1, waiting: 2, approval: 3 };

export type RunActivityIndex = ReturnType<typeof createRunActivityIndex>;

export function createRunActivityIndex(connection: RedisConnection, keys: KeySpace) {
  async function write(requestId: string, activity: RunActivity | null): Promise<void> {
    if (activity === null) await connection.zrem(keys.runs, requestId);
    else await connection.zadd(keys.runs, SCORES[activity], requestId);
  }

  return {
    /** null: it has ended. Returns at once; what is lost is wrong until the run's next change. */
    note(requestId: string, activity: RunActivity | null): void {
      write(requestId, activity).catch(() => {});
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
