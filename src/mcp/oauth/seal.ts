/** Seals texts with AES-256-GCM, bound to what they belong to.
 *  It must never put a key or an opened text into an error. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

export interface Seal {
  seal(text: string, belongsTo: string): string;
  /** null: sealed with another key, for something else, or changed. */
  open(sealed: string, belongsTo: string): string | null;
}

const ALGORITHM = 'aes-256-gcm';
const FORM = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The first key seals, each opens. 32 bytes each. */
export function createSeal(keys: readonly [Uint8Array, ...Uint8Array[]]): Seal {
  const named = keys.map((key) => ({ key, name: nameOf(key) }));
  const [first] = keys;
  return {
    seal(text, belongsTo) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, first, iv).setAAD(Buffer.from(belongsTo));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      const packed = Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url');
      return [FORM, nameOf(first), packed].join('.');
    },
    open(sealed, belongsTo) {
      const [form, name, packed = ''] = sealed.split('.');
      const key = form === FORM ? named.find((each) => each.name === name)?.key : undefined;
      return key === undefined ? null : opened(Buffer.from(packed, 'base64url'), key, belongsTo);
    },
  };
}

function opened(packed: Buffer, key: Uint8Array, belongsTo: string): string | null {
  if (packed.length < IV_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(ALGORITHM, key, packed.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(belongsTo)).setAuthTag(packed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(packed.subarray(IV_BYTES + TAG_BYTES)),
      decipher.final(),
    ]).toString();
  } catch {
    return null;
  }
}

/** Tells keys apart, and says nothing of them. */
function nameOf(key: Uint8Array): string {
  return createHash('sha256').update('adjutant token key').update(key).digest('hex').slice(0, 8);
}
