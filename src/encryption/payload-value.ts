// JSON values as encrypted forms, and back.
// Must never return what was not encrypted as JSON for this place.
import { canonicalJson } from '../contract/canonical-json.ts';
import {
  type EncodedPayload,
  ENCRYPTED,
  type PayloadCodec,
  type PayloadPlace,
  PayloadUnreadable,
} from '../contract/encrypted.ts';

export interface EncryptedForm {
  readonly [ENCRYPTED]: EncodedPayload;
}

export interface SubmittedForm {
  readonly [ENCRYPTED]: EncodedPayload & { readonly digest: string };
}

/** What a submission holds: with the digest by which a repeat is known, though each time has another nonce. */
export async function encryptField(
  codec: PayloadCodec,
  value: unknown,
  place: PayloadPlace,
  keyId?: string,
): Promise<SubmittedForm> {
  // The order of an object's members says nothing, so that it does not make another digest.
  const bytes = new TextEncoder().encode(canonicalJson(JSON.parse(JSON.stringify(value))));
  const { codec: name, key_id, data } = await codec.encode(bytes, place, keyId);
  return { [ENCRYPTED]: { codec: name, key_id, data, digest: await codec.digest(bytes, place, key_id) } };
}

/** What an answer holds. */
export async function encryptValue(
  codec: PayloadCodec,
  value: unknown,
  place: PayloadPlace,
  keyId: string,
): Promise<EncryptedForm> {
  const bytes = new TextEncoder().encode(JSON.stringify(value) ?? 'null');
  const { codec: name, key_id, data } = await codec.encode(bytes, place, keyId);
  return { [ENCRYPTED]: { codec: name, key_id, data } };
}

/** Throws `PayloadUnreadable`. */
export async function decryptValue(
  codec: PayloadCodec,
  encoded: EncodedPayload,
  place: PayloadPlace,
): Promise<unknown> {
  const bytes = await codec.decode(encoded, place);
  const value = jsonOf(bytes);
  if (value === undefined) throw new PayloadUnreadable('damaged', encoded.key_id, place);
  return value;
}

/** undefined: it is no JSON. */
function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}
