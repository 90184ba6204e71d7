// Where large payloads lie: a folder or a bucket, each object under the hash of its bytes.
// Must never know what is in them.

export interface ObjectStore {
  /** For log lines: without a secret. */
  readonly place: string;
  /** Rejects where it cannot be reached. Writes nothing. */
  check(): Promise<void>;
  /** Whole or not at all; the same name has the same bytes, so that it may be repeated. */
  put(folder: string, name: string, bytes: Buffer): Promise<void>;
  /** null: there is none, or one with more bytes. Rejects where that is unknown. */
  get(folder: string, name: string, mostBytes: number): Promise<Buffer | null>;
  /** May be repeated. */
  removeOne(folder: string, name: string): Promise<void>;
  /** The folders of requests below this one without a write for this time; null: the store itself removes what is old. */
  readonly idleFolders: ((idleMs: number, within: string) => AsyncIterable<string>) | null;
  /** false: it is gone, or was written to since. */
  removeIdle(folder: string, idleMs: number): Promise<boolean>;
}
