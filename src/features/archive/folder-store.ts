// Archived requests as files of a folder, which all processes of the service see. Never shows an incomplete file, nor
// overwrites an existing one.
import { link, mkdir, open, readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ArchiveStore } from './archive-store.ts';
import { checkFolder, codeOf, FOLDER_MODE, folderPlace, INCOMING, synced } from './folder-files.ts';
import { newestOf } from './object-name.ts';
import { createTimeLimit } from './time-limit.ts';

/** Most concurrent calls: a hanging folder leaves some threads to the rest of the process. */
const AT_ONCE = 2;
/** Time limit of a check, milliseconds. */
const LOOK_MS = 10_000;

export function createFolderStore(folder: string, lookMs = LOOK_MS): ArchiveStore {
  const root = resolve(folder);
  const inTime = createTimeLimit(lookMs);
  const newestName = async (within: string): Promise<string | null> => {
    const path = join(root, within);
    return inTime(path, async () => newestOf(await readdir(path).catch(nothingThere)));
  };
  return {
    place: folderPlace(root),
    spoolFolder: join(root, INCOMING),
    atOnce: AT_ONCE,
    check: async () => inTime(root, async () => checkFolder(root)),
    // They are there already.
    longerMs: () => 0,
    async put(within, name, { path }) {
      const target = join(root, within);
      const made = await mkdir(target, { recursive: true, mode: FOLDER_MODE });
      const isNew = await linked(path, join(target, name));
      // Where it was there its writer may have died before its name was safe.
      const first = made === undefined && isNew ? target : root;
      for (let at = target; at.length >= first.length; at = dirname(at)) await synced(at);
      return isNew ? 'stored' : 'present';
    },
    newestName,
    async newest(within) {
      const name = await newestName(within);
      if (name === null) return null;
      const path = join(root, within, name);
      const handle = await inTime(path, async () => open(path));
      return handle.createReadStream();
    },
  };
}

/** false: there is one. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function nothingThere(error: unknown): string[] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}
