// Examines whether the archive can be reached.
// Must never write to it, nor show a key of access.
import type { Config } from '../../config/config.ts';
import { archiveStoreOf } from '../../service/archive.ts';
import type { Finding } from './finding.ts';
import { examineStore } from './store.ts';

/** Nothing where nothing is archived. */
export async function examineArchive(config: Pick<Config, 'archive' | 'directory'>): Promise<Finding[]> {
  return examineStore(archiveStoreOf(config), {
    section: 'archive',
    effect: '',
    rights: 'list, read and write',
    isFolder: config.archive?.folder !== undefined,
  });
}
