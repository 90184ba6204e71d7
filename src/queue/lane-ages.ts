// The ages of the work in the lanes: the oldest waiting job, and a provider that is not called at present. A snapshot
// for readers; never decides what runs.
import type { Queue } from 'bullmq';
import type { KeySpace } from '../store/keys.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';

export function createLaneAges(
  connection: RedisConnection,
  keys: Pick<KeySpace, 'limits'>,
  queueOf: (lane: string) => Pick<Queue, 'getJobs'>,
) {
  return {
    /** When the job that waits longest was made, milliseconds since the epoch; null: none waits. */
    async oldestAt(lane: string): Promise<number | null> {
      const [job] = await queueOf(lane).getJobs(['wait', 'prioritized'], 0, 0, true);
      return job === undefined || !Number.isFinite(job.timestamp) ? null : job.timestamp;
    },
    /** How long none of a provider's models is asked, milliseconds; 0 = they are asked. */
    async coolsForMs(provider: string): Promise<number> {
      const [, block] = keys.limits({ provider, model: '' });
      return Math.max(0, await connection.pttl(block));
    },
  };
}
