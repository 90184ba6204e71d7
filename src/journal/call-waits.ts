// Who waits for a call, or waited a moment ago: what the processes of an installation know of each other's clients.
// Must never keep a mark longer than it was set for.
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';

export interface CallWaits {
  /** `who`, of whom only the last one counts, waits for the call of this request; known for `forMs`, by the clock of Redis. */
  mark(requestId: string, who: string, forMs: number): Promise<void>;
  markedBy(requestId: string): Promise<string | null>;
}

/** Both reject when Redis does not answer. */
export function createCallWaits(
  connection: Pick<RedisConnection, 'set' | 'get'>,
  keys: Pick<KeySpace, 'waited'>,
): CallWaits {
  return {
    mark: async (requestId, who, forMs) =>
      void (await connection.set(keys.waited(requestId), who, 'PX', forMs)),
    markedBy: async (requestId) => connection.get(keys.waited(requestId)),
  };
}
