// Large payloads as objects of an S3-compatible bucket.
// Must never name a key of access in an error.
import { hash } from 'node:crypto';
import { boundedBody } from '../../platform/bounds/bounded-response.ts';
import {
  type BucketOptions,
  bucketPlace,
  createBucketRequests,
  EMPTY_SHA256,
  refusal,
  textOf,
} from './bucket-requests.ts';
import type { ObjectStore } from './object-store.ts';

const ANSWER_MS = 5_000;
/** The slowest transfer that is waited for. */
const LEAST_BYTES_PER_MS = 1_024;

/** Old objects are removed by a rule of the bucket: a list of all would be paid for each time. */
export function createBucketObjects(options: BucketOptions): ObjectStore {
  const ask = createBucketRequests(options);
  const within = (bytes: number): AbortSignal =>
    AbortSignal.timeout((options.answerMs ?? ANSWER_MS) + Math.ceil(bytes / LEAST_BYTES_PER_MS));
  const pathOf = (folder: string, name: string): string => `/${options.prefix}${folder}${name}`;
  return {
    place: bucketPlace(options),
    // Of an object that is not there. Without the right to list, a store answers 403 where it means 404.
    async check() {
      const response = await ask(pathOf('check/', 'none'), EMPTY_SHA256, { signal: within(0) });
      const text = await textOf(response);
      const isAbsent = response.status === 404 && !text.includes('NoSuchBucket');
      const hasNoList = response.status === 403 && text.includes('AccessDenied');
      if (!response.ok && !isAbsent && !hasNoList) throw refusal(response, text);
    },
    async put(folder, name, bytes) {
      const init = {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream' },
        body: Uint8Array.from(bytes),
        signal: within(bytes.length),
      };
      const response = await ask(pathOf(folder, name), hash('sha256', bytes, 'hex'), init);
      if (!response.ok) throw refusal(response, await textOf(response));
      await response.body?.cancel();
    },
    async get(folder, name, mostBytes) {
      const response = await ask(pathOf(folder, name), EMPTY_SHA256, { signal: within(mostBytes) });
      if (response.status === 404) return null;
      if (!response.ok) throw refusal(response, await textOf(response));
      const { ok, bytes } = await boundedBody(response.body, mostBytes);
      return ok ? bytes : null;
    },
    async removeOne(folder, name) {
      const init = { method: 'DELETE', signal: within(0) };
      const response = await ask(pathOf(folder, name), EMPTY_SHA256, init);
      if (!response.ok && response.status !== 404) throw refusal(response, await textOf(response));
      await response.body?.cancel();
    },
    idleFolders: null,
    removeIdle: async () => false,
  };
}
