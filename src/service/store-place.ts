// The store at a place that the configuration names: a folder or a bucket. Never checks whether it exists: the store
// does.
import { resolve } from 'node:path';
import type { BucketOptions } from '../features/archive/bucket-requests.ts';
import type { Place } from '../config/archive.ts';

export interface StoresAt<S> {
  readonly folder: (path: string) => S;
  readonly bucket: (options: BucketOptions) => S;
}

/** `directory`: that a folder is relative to. */
export function storeAt<S>(place: Place, directory: string, at: StoresAt<S>): S {
  if (place.folder !== undefined) return at.folder(resolve(directory, place.folder));
  const { bucket = '', endpoint = '', region, prefix } = place;
  const { access_key_id: accessKeyId = '', secret_access_key: secretAccessKey = '' } = place;
  return at.bucket({ bucket, endpoint, region, prefix, accessKeyId, secretAccessKey });
}
