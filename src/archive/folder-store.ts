// Archived requests as files of a folder, which all processes of the service see.
// Must never show a file that is not whole, nor write over one that is there.
import { constants, createReadStream } from 'node:fs';
import { access, link, mkdir, open, readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ArchiveStore } from './archive-store.ts';
import { newestOf } from './object-name.ts';

/** What is in a request is not for everyone on the machine. */
const FOLDER_MODE = 0o700;

export function createFolderStore(folder: string): ArchiveStore {
  const root = resolve(folder);
  const newestName = async (within: string): Promise<string | null> =>
    newestOf(await readdir(join(root, within)).catch(nothingThere));
  return {
    place: `the folder ${root}`,
    // On the same file system, so that a file becomes visible in one step.
    spoolFolder: join(root, '.incoming'),
    check: async () => access(root, constants.R_OK | constants.W_OK | constants.X_OK),
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
      return name === null ? null : createReadStream(join(root, within, name));
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

/** The names in a folder survive a power loss. */
async function synced(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function nothingThere(error: unknown): string[] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}
