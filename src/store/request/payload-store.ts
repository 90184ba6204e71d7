// Keeps payloads that are too large for the signal log, for those who ask for them whole.
// Must never outlive the request they belong to, nor let an attempt overwrite what another one answered.
import {
  type LimitsOfTenant,
  NO_TENANT_LIMITS,
  requestBytesOf,
} from '../../contract/access/tenant-limits.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { DEFAULT_REQUEST_BYTES } from './journal.ts';
import type { KeySpace } from '../keys.ts';
import { keptText, NO_OBJECTS, type PayloadObjects, wholeText } from './large-payloads.ts';
import { prepareScripts } from '../scripts.ts';
import type { ClaimRef } from '../refs.ts';

export type PayloadStore = ReturnType<typeof createPayloadStore>;

/** `bytes`: what the request holds already. */
type PutVerdict = { kind: 'kept' | 'stale' } | { kind: 'no_room'; bytes: number };

export interface PayloadStoreOptions {
  connection: RedisConnection;
  keys: KeySpace;
  /** The limit of `JournalOptions`. */
  requestBytes?: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
  /** Where those lie that are large. Default: in Redis. */
  objects?: PayloadObjects;
}

/** The field of a request's bodies that holds the payload of a directive, as the journal's scripts name it. */
const FIELD = '@payload|';

export function createPayloadStore(options: PayloadStoreOptions) {
  const { connection, keys, requestBytes = DEFAULT_REQUEST_BYTES, limitsOf = NO_TENANT_LIMITS } = options;
  const { objects = NO_OBJECTS } = options;
  const run = prepareScripts(connection);
  return {
    /** The store of accepted payloads that are too large for Redis. */
    objects,
    /** `json`: the payload that the attempt of this claim got. Without effect where the claim was taken over. */
    async put({ requestId, id, fence }: ClaimRef, json: string): Promise<PutVerdict> {
      const text = await keptText(objects, requestId, json);
      const args = [id, fence, text, requestBytesOf(limitsOf, requestId, requestBytes)];
      const [kind, bytes] = await run('payload-put', keys.request(requestId), args);
      if (kind === 'no_room') return { kind, bytes: Number(bytes) };
      return { kind: kind as 'kept' | 'stale' };
    },
    /** The payload as JSON; null when there is none, or no longer. */
    async get(requestId: string, id: string): Promise<string | null> {
      const [, bodies] = keys.request(requestId);
      return wholeText(objects, requestId, await connection.hget(bodies, FIELD + id));
    },
  };
}
