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

/** Longest value that a command writes or reads: Redis serves no other command meanwhile. */
const PART_BYTES = 256 * 1_024;
/** Beginning of the field of a payload in parts, before their number. No JSON begins like this. */
const IN_PARTS = '@parts ';

/** The fields of a payload: a large one has parts, and the field that says how many is the last one written. */
function partsOf(text: string): (readonly [place: string, part: Buffer])[] {
  const bytes = Buffer.from(text);
  if (bytes.length <= PART_BYTES) return [['', bytes]];
  const count = Math.ceil(bytes.length / PART_BYTES);
  const parts = Array.from(
    { length: count },
    (_, index) => [`|${index}`, bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES)] as const,
  );
  return [...parts, ['', Buffer.from(IN_PARTS + count)]];
}

export function createPayloadStore(options: PayloadStoreOptions) {
  const { connection, keys, requestBytes = DEFAULT_REQUEST_BYTES, limitsOf = NO_TENANT_LIMITS } = options;
  const { objects = NO_OBJECTS } = options;
  const run = prepareScripts(connection);
  return {
    /** The store of accepted payloads that are too large for Redis. */
    objects,
    /** `json`: the payload that the attempt of this claim got. Without effect where the claim was taken over. */
    async put({ requestId, id, fence }: ClaimRef, json: string): Promise<PutVerdict> {
      const parts = partsOf(await keptText(objects, requestId, json));
      const limit = requestBytesOf(limitsOf, requestId, requestBytes);
      let follow = parts.reduce((sum, [, part]) => sum + part.length, 0);
      for (const [place, part] of parts) {
        follow -= part.length;
        const args = [id, fence, place, part, follow, limit];
        const [kind, bytes] = await run('payload-put', keys.request(requestId), args);
        if (kind === 'no_room') return { kind, bytes: Number(bytes) };
        if (kind === 'stale') return { kind };
      }
      return { kind: 'kept' };
    },
    /** The payload as JSON; null when there is none, or no longer. */
    async get(requestId: string, id: string): Promise<string | null> {
      const [, bodies] = keys.request(requestId);
      const text = await connection.hget(bodies, FIELD + id);
      if (text === null || !text.startsWith(IN_PARTS)) return wholeText(objects, requestId, text);
      const parts: Buffer[] = [];
      // One after the other: Redis answers what is sent together without a pause.
      for (let index = 0; index < Number(text.slice(IN_PARTS.length)); index += 1) {
        const part = await connection.hgetBuffer(bodies, `${FIELD}${id}|${index}`);
        if (part === null) return null;
        parts.push(part);
      }
      return Buffer.concat(parts).toString();
    },
  };
}
