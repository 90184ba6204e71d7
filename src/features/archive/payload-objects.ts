// Large payloads in a store of objects: by installation and request, under their hash, checked as they are read.
// Must never let an id lead to the payload of another request, nor return bytes that are not those of the hash.
import { hash } from 'node:crypto';
import { ServiceUnavailable } from '../../contract/problem.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { PayloadLost, type PayloadObjects } from '../../store/request/large-payloads.ts';
import type { ObjectStore } from './object-store.ts';

const RETRY_AFTER_MS = 5_000;

export interface PayloadObjectsOptions {
  readonly store: ObjectStore;
  /** Prefix of the keys in Redis: installations may share a store. */
  readonly installation: string;
  readonly aboveBytes: number;
}

export function createPayloadObjects({
  store,
  installation,
  aboveBytes,
}: PayloadObjectsOptions): PayloadObjects {
  const folderOf = (scoped: string): string => `i-${installation}/t-${tenantOf(scoped)}/r-${ownId(scoped)}/`;
  const reach = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ServiceUnavailable(`${store.place} ${what} (${reason})`, {
        retryAfterMs: RETRY_AFTER_MS,
        cause: error,
      });
    }
  };
  return {
    aboveBytes,
    async put(requestId, bytes) {
      const sha256 = hash('sha256', bytes, 'hex');
      await reach('does not take large payloads at present', async () =>
        store.put(folderOf(requestId), sha256, bytes),
      );
      return { sha256, bytes: bytes.length };
    },
    async get(requestId, ref) {
      const read = async () => store.get(folderOf(requestId), ref.sha256, ref.bytes);
      const bytes = await reach('does not return large payloads at present', read);
      if (bytes === null || hash('sha256', bytes, 'hex') !== ref.sha256) throw new PayloadLost(ref);
      return bytes;
    },
    drop: async (requestId, { sha256 }) =>
      reach('does not remove large payloads at present', async () =>
        store.removeOne(folderOf(requestId), sha256),
      ),
  };
}
