// Reads an archived request back: the newest version, decompressed as it is read.
// Must never return a request of another tenant, nor hold a whole one.
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ArchiveStore } from './archive-store.ts';
import { folderOf } from './object-name.ts';

/** Takes scoped ids; lines of JSON; null: the archive holds none. */
export type ReadArchived = (scoped: string) => Promise<Readable | null>;

export function archivedReader(store: ArchiveStore): ReadArchived {
  return async (scoped) => {
    const stored = await store.newest(folderOf(scoped));
    if (stored === null) return null;
    const lines = createGunzip();
    stored.once('error', (error) => lines.destroy(error));
    lines.once('close', () => stored.destroy());
    return stored.pipe(lines);
  };
}
