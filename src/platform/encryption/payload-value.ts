// JSON values as encrypted forms, and back.
// Must never return what was not encrypted as JSON for this place.
import {
  type EncodedPayload,
  ENCRYPTED,
  type PayloadCodec,
  type PayloadPlace,
  PayloadUnreadable,
} from '../../contract/encrypted/encrypted.ts';
import { canonicalText, jsonText } from './json-steps.ts';

export interface EncryptedForm {
  readonly [ENCRYPTED]: EncodedPayload;
}

export interface SubmittedForm {
  readonly [ENCRYPTED]: EncodedPayload & { readonly digest: string };
}

/** Encrypts a field of a submission, with the digest by which a repeat is recognised although its nonce differs. */
export async function encryptField(
  codec: PayloadCodec,
  value: unknown,
  place: PayloadPlace,
  keyId?: string,
): Promise<SubmittedForm> {
  // The order of an object's members says nothing, so that it does not make another digest.
  const text = await canonicalText(value, codec.nextStep);
  await codec.nextStep?.();
  const bytes = new TextEncoder().encode(text);
  const { codec: name, key_id, data } = await codec.encode(bytes, place, keyId);
  await codec.nextStep?.();
  return { [ENCRYPTED]: { codec: name, key_id, data, digest: await codec.digest(bytes, place, key_id) } };
}

/** Encrypts a value of an answer. */
export async function encryptValue(
  codec: PayloadCodec,
  value: unknown,
  place: PayloadPlace,
  keyId: string,
): Promise<EncryptedForm> {
  const text = await jsonText(value, codec.nextStep);
  await codec.nextStep?.();
  const bytes = new TextEncoder().encode(text);
  const { codec: name, key_id, data } = await codec.encode(bytes, place, keyId);
  return { [ENCRYPTED]: { codec: name, key_id, data } };
}

/** Throws `PayloadUnreadable`. */
export async function decryptValue(
  codec: PayloadCodec,
  encoded: EncodedPayload,
  place: PayloadPlace,
): Promise<unknown> {
  await codec.nextStep?.();
  const bytes = await codec.decode(encoded, place);
  await codec.nextStep?.();
  const text = textOf(bytes);
  await codec.nextStep?.();
  const value = text === undefined ? undefined : jsonOf(text);
  if (value === undefined) throw new PayloadUnreadable('damaged', encoded.key_id, place);
  return value;
}

/** undefined: it is no UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** undefined: it is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
