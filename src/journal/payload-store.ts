// Keeps payloads that are too large for the signal log, for those who ask for them whole.
// Must never keep one without an expiry, nor let an attempt overwrite what another one answered.
import type { RedisConnection } from '../redis.ts';
import type { ClaimRef } from './journal.ts';
import type { KeySpace } from './keys.ts';

export type PayloadStore = ReturnType<typeof createPayloadStore>;

/** Written before its request closes, so it has to outlast the retention that begins then. */
const LONGER_THAN_RETENTION = 2;

export function createPayloadStore(connection: RedisConnection, keys: KeySpace, retentionMs: number) {
  return {
    /** `json`: the payload. Stored under the claim that got it. */
    async put(claim: ClaimRef, json: string): Promise<void> {
      await connection.set(keys.payload(claim), json, 'PX', retentionMs * LONGER_THAN_RETENTION);
    },
    /** The payload as JSON; null when it is no longer kept. */
    get: (claim: ClaimRef): Promise<string | null> => connection.get(keys.payload(claim)),
  };
}
