// The codec `A256GCM`: AES-256-GCM with a random nonce of 96 bits, bound to the place of the value; in Node and in browsers.
// Must never use a nonce twice, nor read what was encrypted for another place.
import {
  type EncodedPayload,
  type PayloadCodec,
  type PayloadPlace,
  PayloadUnreadable,
} from '../../contract/encrypted/encrypted.ts';
import { fromBase64Url, type KeyRing, readKeyText, toBase64Url } from './key-text.ts';

const AES_CODEC = 'A256GCM';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

interface Secrets {
  readonly cipher: Key;
  readonly hash: Key;
}

/**
 * Creates the codec `A256GCM`, which encrypts payloads with AES-256-GCM.
 * @param keys `<id>=<32 bytes in base64 or hex>`, several separated by commas. The first one encrypts; each decrypts.
 * @returns The codec for the `codec` option of a client.
 * @throws `TypeError` where `keys` is malformed. Its message contains no key.
 * @example
 * ```ts
 * import { createAesCodec, createHttpClient } from 'adjutant/client';
 * const codec = createAesCodec(`k1=${'00'.repeat(32)}`);
 * const client = createHttpClient({ baseUrl: 'http://127.0.0.1:7420', codec });
 * ```
 */
export function createAesCodec(keys: string): PayloadCodec {
  const read = readKeyText(keys);
  if (!read.ok) throw new TypeError(`The keys: ${read.message}`);
  return aesCodec(read.keys);
}

export function aesCodec({ current, keys }: KeyRing): PayloadCodec {
  const known = new Map<string, Promise<Secrets>>();

  async function secrets(keyId: string, place: PayloadPlace): Promise<Secrets> {
    const bytes = keys.get(keyId);
    if (bytes === undefined) throw new PayloadUnreadable('key_missing', keyId, place);
    const made = known.get(keyId) ?? secretsOf(bytes);
    known.set(keyId, made);
    return made;
  }

  return {
    async encode(bytes, place, keyId = current) {
      const { cipher } = await secrets(keyId, place);
      const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
      const additionalData = boundTo(keyId, place);
      const sealed = await crypto.subtle.encrypt(
        { name: 'AES-GCM', iv: nonce, additionalData },
        cipher,
        asOwn(bytes),
      );
      const data = new Uint8Array(NONCE_BYTES + sealed.byteLength);
      data.set(nonce);
      data.set(new Uint8Array(sealed), NONCE_BYTES);
      return { codec: AES_CODEC, key_id: keyId, data: toBase64Url(data) };
    },
    async decode(payload, place) {
      const { cipher } = await secrets(payload.key_id, place);
      const opened = await openedOf(cipher, payload, place);
      if (opened === null) throw new PayloadUnreadable('damaged', payload.key_id, place);
      return opened;
    },
    async digest(bytes, place, keyId) {
      const { hash } = await secrets(keyId, place);
      const bound = boundTo(keyId, place);
      const text = new Uint8Array(bound.length + bytes.length);
      text.set(bound);
      text.set(bytes, bound.length);
      return toBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', hash, text)));
    },
  };
}

/** null: it is not what was encrypted for the place. */
async function openedOf(
  cipher: Key,
  { codec, key_id, data }: EncodedPayload,
  place: PayloadPlace,
): Promise<Uint8Array | null> {
  const bytes = codec === AES_CODEC ? fromBase64Url(data) : null;
  if (bytes === null || bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const additionalData = boundTo(key_id, place);
  const algorithm = { name: 'AES-GCM', iv: bytes.subarray(0, NONCE_BYTES), additionalData };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(algorithm, cipher, bytes.subarray(NONCE_BYTES)));
  } catch {
    return null;
  }
}

/** The cipher has the key itself, so that others can implement it; the hash has one that is derived from it. */
async function secretsOf(bytes: Uint8Array<ArrayBuffer>): Promise<Secrets> {
  const cipher = await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']);
  const base = await crypto.subtle.importKey('raw', bytes, 'HKDF', false, ['deriveKey']);
  const hash = await crypto.subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(0), info: utf8('adjutant payload digest') },
    base,
    { name: 'HMAC', hash: 'SHA-256', length: 256 },
    false,
    ['sign'],
  );
  return { cipher, hash };
}

/** A list as JSON: no two places have the same text. It ends with a line, so that a digest has one reading. */
function boundTo(keyId: string, { request, id, field, call }: PayloadPlace): Uint8Array<ArrayBuffer> {
  // @guard encrypted-tool
  return utf8(`${JSON.stringify(['adjutant', 1, AES_CODEC, keyId, request, id, field, call])}\n`);
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return asOwn(new TextEncoder().encode(text));
}

/** As WebCrypto wants it: not on memory that is shared. */
function asOwn(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes);
}
