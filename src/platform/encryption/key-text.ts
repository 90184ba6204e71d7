// Keys as a variable of the environment holds them: `<id>=<key>`, separated by commas; the first one encrypts, each decrypts.
// Must never put a key, or a part of one, into an error.
import { KEY_ID } from '../../contract/encrypted/encrypted.ts';

const HEX = /^[0-9a-f]{64}$/i;
const KEY_BYTES = 32;
export const MOST_KEYS = 32;

const FORM =
  'must be <id>=<key>, several separated by commas; a key is 32 random bytes in base64 or hex, as `openssl rand -base64 32` prints them';

export type ReadKeys = { ok: true; keys: KeyRing } | { ok: false; message: string };

export function readKeyText(text: string): ReadKeys {
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.length > MOST_KEYS) return { ok: false, message: `holds more than ${MOST_KEYS} keys` };
  const keys = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const entry of entries) {
    const at = entry.indexOf('=');
    const id = entry.slice(0, Math.max(0, at));
    const key = keyOf(entry.slice(at + 1).trim());
    if (!KEY_ID.test(id) || key === null) return { ok: false, message: FORM };
    if (keys.has(id)) return { ok: false, message: `names the key "${id}" twice` };
    keys.set(id, key);
  }
  return { ok: true, keys: { current: [...keys.keys()][0] ?? '', keys } };
}

/** null: it is none. */
function keyOf(text: string): Uint8Array<ArrayBuffer> | null {
  if (HEX.test(text)) return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  const plain = text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  const bytes = fromBase64Url(plain);
  return bytes?.length === KEY_BYTES ? bytes : null;
}

export interface KeyRing {
  /** The id of the key that encrypts; each decrypts. */
  readonly current: string;
  /** 32 bytes each. */
  readonly keys: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

const PIECE = 8_192;

interface NodeBytes {
  from(source: ArrayBufferLike, offset: number, length: number): { toString(encoding: string): string };
  from(text: string, encoding: string): Uint8Array;
}

const node = (globalThis as { Buffer?: NodeBytes }).Buffer;

export function toBase64Url(bytes: Uint8Array): string {
  if (node !== undefined)
    return node.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE)
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  return btoa(pieces.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** null: it is no base64url. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return null;
  if (node !== undefined) return Uint8Array.from(node.from(text, 'base64url'));
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (each) =>
      each.charCodeAt(0),
    );
  } catch {
    return null;
  }
}
