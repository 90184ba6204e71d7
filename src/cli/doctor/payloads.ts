// Examines whether the store of large payloads can be reached.
// Must never write to it, nor show a key of access.
import type { Config } from '../../config/config.ts';
import { objectStoreOf } from '../../service/large-payloads.ts';
import type { Finding } from './finding.ts';
import { examineStore } from './store.ts';

/** Nothing where all payloads are in Redis. */
export async function examinePayloads(config: Pick<Config, 'payloads' | 'directory'>): Promise<Finding[]> {
  return examineStore(objectStoreOf(config), {
    section: 'payloads',
    effect: ', so large submissions are refused',
    rights: 'read, write and delete',
    isFolder: config.payloads?.folder !== undefined,
  });
}
