// The common parts of the stores in a folder: its check, its permissions, and names that survive a power loss. Never
// makes the folder itself: where it is not mounted, nothing is written.
import { constants } from 'node:fs';
import { access, open } from 'node:fs/promises';

/** Mode of files: contents of requests are not public on the machine. */
export const FOLDER_MODE = 0o700;

/** Folder of incomplete files: on the same file system, so that one becomes visible in one step. */
export const INCOMING = '.incoming';

/** For log lines. */
export function folderPlace(root: string): string {
  return `the folder ${root}`;
}

/** Rejects where it cannot be read and written. */
export async function checkFolder(root: string): Promise<void> {
  await access(root, constants.R_OK | constants.W_OK | constants.X_OK);
}

/** The names in a folder survive a power loss. */
export async function synced(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}
