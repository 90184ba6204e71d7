// Examines whether the archive can be reached, as the service reaches it.
// Must never write to it, nor show a key of access.
import type { Config } from '../config/config.ts';
import { archiveStoreOf } from '../service/archive.ts';
import { fault, fine, type Finding } from './finding.ts';

const LONGEST_SHOWN = 200;

/** Nothing where nothing is archived. */
export async function examineArchive(config: Pick<Config, 'archive' | 'directory'>): Promise<Finding[]> {
  const store = archiveStoreOf(config);
  if (store === null) return [];
  try {
    await store.check();
    return [fine('archive', `${store.place} can be reached`)];
  } catch (error) {
    const says = `${store.place} cannot be used: ${String(error instanceof Error ? error.message : error).slice(0, LONGEST_SHOWN)}`;
    const fix =
      config.archive?.folder === undefined
        ? 'Check `archive.endpoint`, the bucket, and that its key may list, read and write objects.'
        : 'Make or mount the folder, and let the user of the service write to it.';
    return [fault('archive', says, fix)];
  }
}
