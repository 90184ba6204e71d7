// The engines that hear of starts, by their channels: the script that starts a run notifies one of them.
// Must never be trusted: who was notified may be gone, so the sweeper looks at the run soon.
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';
import { prepareScripts } from './scripts.ts';

export type HearingEngines = ReturnType<typeof createHearingEngines>;

/** Until it is listed again, milliseconds. One that is gone is dropped by the first start that nobody hears. */
const LISTED_MS = 6_000;
export const LIST_EVERY_MS = 2_000;

export function createHearingEngines(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);
  return {
    async list(channel: string): Promise<void> {
      await run('engine-list', [keys.engines], [channel, LISTED_MS]);
    },
    async remove(channel: string): Promise<void> {
      await connection.zrem(keys.engines, channel);
    },
  };
}
