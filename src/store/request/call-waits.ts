// Who waits for a call, or waited a moment ago: what the processes of an installation know of each other's clients.
// Must never keep a mark longer than it was set for.
import { DEFAULT_TENANT, scopedId } from '../../contract/access/tenant.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';

export interface CallWaits {
  /** `who`, of whom only the last one counts, waits for the call of this request; known for `forMs`, by the clock of Redis. */
  mark(requestId: string, who: string, forMs: number): Promise<void>;
  markedBy(requestId: string): Promise<string | null>;
}

/** The waits of the calls of one tenant, by its own ids. Both reject when Redis does not answer. */
export function createCallWaits(
  connection: Pick<RedisConnection, 'set' | 'get'>,
  keys: Pick<KeySpace, 'waited'>,
  tenant: string = DEFAULT_TENANT,
): CallWaits {
  const waited = (requestId: string): string => keys.waited(scopedId(tenant, requestId));
  return {
    mark: async (requestId, who, forMs) => void (await connection.set(waited(requestId), who, 'PX', forMs)),
    markedBy: async (requestId) => connection.get(waited(requestId)),
  };
}
