// Keys by their ids, and which of them encrypts.
// Must never be shown: it holds secrets.

export interface KeyRing {
  /** The id of the key that encrypts; each decrypts. */
  readonly current: string;
  /** 32 bytes each. */
  readonly keys: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}
