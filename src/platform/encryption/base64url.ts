// Bytes as base64url and back, wherever there are web standards.
// Must never need Node: it only uses what Node has for less.

/** A call takes so many arguments at most. */
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
