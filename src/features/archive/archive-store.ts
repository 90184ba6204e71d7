// Where archived requests lie: a folder or a bucket.
// Must never know what is in them.
import type { Readable } from 'node:stream';

/** A file that is ready to be stored. */
export interface Spooled {
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

export interface ArchiveStore {
  /** For log lines: without a secret. */
  readonly place: string;
  /** Where files are written before they are stored; null: in the temporary folder. */
  readonly spoolFolder: string | null;
  /** Objects that one process stores at once. */
  readonly atOnce: number;
  /** Rejects where nothing can be read, or written as far as that shows without writing. */
  check(): Promise<void>;
  /** How much longer so many bytes may take than few of them, milliseconds. */
  longerMs(bytes: number): number;
  /** Whole or not at all, and once: `present` where there is one of this name already. Rejects when that is unknown. */
  put(folder: string, name: string, spooled: Spooled, signal: AbortSignal): Promise<'stored' | 'present'>;
  /** The name of the newest version in the folder; null: there is none. */
  newestName(folder: string): Promise<string | null>;
  /** That version, compressed; null: there is none. */
  newest(folder: string): Promise<Readable | null>;
}
