// The form that replaces a value which only its sender and its worker can read, and the codec that makes it. Never
// holds the value in clear.
import * as z from 'zod';
import { ENCRYPTED, encryptedKeyId, encryptedNote } from './encrypted-form.ts';
import { isObject } from '../json/json-object.ts';

export { ENCRYPTED, encryptedKeyId, encryptedNote };

/** Where a value belongs: what was encrypted for one place can be read at no other. */
export interface PayloadPlace {
  readonly request: string;
  readonly id: string;
  /** Field of the value: `arguments`, `context`, `result`, … */
  readonly field: string;
  /** Call of a directive, as `callOf` returns it; empty for an answer. */
  readonly call: PayloadCall;
}

/** Values that an encrypted field is bound to, beside its place. */
export type PayloadCall = readonly (string | null | readonly string[])[];

/** Binding of every answer: none. */
export const ANSWERED: PayloadCall = [];

/** Pattern of the id of an encryption key. */
export const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;

const CODEC_NAME = /^[A-Za-z0-9._-]{1,32}$/;
const CIPHERTEXT = /^[A-Za-z0-9_-]*$/;
const DIGEST = /^[A-Za-z0-9_-]{22,64}$/;

const encodedSchema = z.strictObject({
  codec: z
    .string()
    .regex(CODEC_NAME, '1 to 32 characters of A-Z a-z 0-9 . _ -')
    .describe('Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -'),
  key_id: z
    .string()
    .regex(KEY_ID, '1 to 64 characters of A-Z a-z 0-9 . _ -')
    .describe('Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -'),
  data: z.string().min(1).regex(CIPHERTEXT, 'base64url').describe('Ciphertext as base64url.'),
  digest: z
    .string()
    .regex(DIGEST, 'base64url of 16 to 48 bytes')
    .describe(
      'Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.',
    ),
});

/** Schema of an encrypted value. */
export const encryptedSchema = z.strictObject({
  [ENCRYPTED]: encodedSchema.describe('Envelope of the encrypted value.'),
});

/** Encrypted value. Submitted ones have `digest`; readable ones have `data`. */
export interface EncodedPayload {
  readonly codec: string;
  readonly key_id: string;
  readonly data: string;
  readonly digest?: string | undefined;
}

/** How payloads are made unreadable to all but those who have the key. */
export interface PayloadCodec {
  /** `keyId`: as an earlier value of the same directive; default: the codec chooses. Each call draws a new nonce. */
  encode(bytes: Uint8Array, place: PayloadPlace, keyId?: string): Promise<EncodedPayload>;
  /** Throws `PayloadUnreadable`. */
  decode(payload: EncodedPayload, place: PayloadPlace): Promise<Uint8Array>;
  /** 22 to 64 characters of base64url: the same for the same bytes, place and key, and secret without the key. */
  digest(bytes: Uint8Array, place: PayloadPlace, keyId: string): Promise<string>;
  /** Awaited between the steps of long work, so that others have their turn. Default: they follow at once. */
  readonly nextStep?: (() => Promise<void>) | undefined;
}

/**
 * `key_missing`: there is no key of this id here. `damaged`: it was changed, or encrypted for another place. `in_clear`: the answer is not
 * encrypted, and its directive is.
 */
export type UnreadableReason = 'key_missing' | 'damaged' | 'in_clear';

const REASONS: Readonly<Record<UnreadableReason, (keyId: string) => string>> = {
  key_missing: (keyId) => `is encrypted with the key "${keyId}", which is not here`,
  damaged: (keyId) =>
    `cannot be decrypted with the key "${keyId}": it was changed, encrypted for another directive, or with another key under this name`,
  in_clear: () => 'is not encrypted, though its directive is: no worker with the key has written it',
};

/** Error of a value that cannot be decrypted: `key_missing`, or changed content. */
export class PayloadUnreadable extends Error {
  readonly reason: UnreadableReason;
  readonly keyId: string;
  constructor(reason: UnreadableReason, keyId: string, place: Omit<PayloadPlace, 'call'>) {
    super(`${place.field} of ${place.request}/${place.id} ${REASONS[reason](keyId)}`);
    this.name = 'PayloadUnreadable';
    this.reason = reason;
    this.keyId = keyId;
  }
}

/** Encoded value that `value` represents; null: a value in clear. Further members are permitted in answers. */
export function encodedIn(value: unknown): EncodedPayload | null {
  if (!isObject(value) || !Object.hasOwn(value, ENCRYPTED)) return null;
  const encoded = value[ENCRYPTED];
  return isEncoded(encoded) ? encoded : null;
}

/** Whether a value is an envelope, with or without `digest`, checked as its schema does: a client loads no schema. */
function isEncoded(value: unknown): value is EncodedPayload {
  if (!isObject(value)) return false;
  const { codec, key_id, data, digest, ...others } = value;
  const fits = (pattern: RegExp, member: unknown): boolean =>
    typeof member === 'string' && pattern.test(member);
  return (
    Object.keys(others).length === 0 &&
    fits(CODEC_NAME, codec) &&
    fits(KEY_ID, key_id) &&
    fits(CIPHERTEXT, data) &&
    data !== '' &&
    (digest === undefined || fits(DIGEST, digest))
  );
}

/** The same without what can be decrypted, for readers who only need to know that it is encrypted. */
export function encryptedHead(value: unknown): unknown {
  const key_id = encryptedKeyId(value);
  return key_id === null ? value : { [ENCRYPTED]: { key_id } };
}

const FORM = `must be exactly {"${ENCRYPTED}": {"codec", "key_id", "data", "digest"}} where it holds ${ENCRYPTED}`;

/** The same schema, which also takes an encrypted object of exactly this form. */
export function orEncryptedObject<S extends z.ZodType>(schema: S): S {
  return schema.superRefine((value, context) => {
    if (!isObject(value) || !Object.hasOwn(value, ENCRYPTED)) return;
    if (!encryptedSchema.safeParse(value).success) context.addIssue({ code: 'custom', message: FORM });
  });
}

/** The same for a value that is no object. Typed as the value: what is encrypted is opened before it is read. */
export function orEncrypted<S extends z.ZodType>(schema: S): S {
  return z.union([schema, encryptedSchema]) as unknown as S;
}

/** The fields of a directive that may be encrypted. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  tool_exec: ['arguments', 'context'],
  llm_stream: ['context', 'system_prompt'],
  llm_generate: ['context', 'system_prompt'],
  llm_embed: ['texts'],
  llm_request: ['body'],
};

/** Empty: directives of this type cannot be encrypted. */
export function encryptableFields(type: string): readonly string[] {
  return Object.hasOwn(FIELDS, type) ? (FIELDS[type] ?? []) : [];
}

/** The encrypted fields of a directive; none is the usual case. */
export function encryptedFields(directive: object): readonly { field: string; encoded: EncodedPayload }[] {
  const members = directive as Readonly<Record<string, unknown>>;
  return encryptableFields(String(members['type'])).flatMap((field) => {
    const encoded = encodedIn(members[field]);
    return encoded === null ? [] : [{ field, encoded }];
  });
}

/** Whether it has to be hidden: an empty context says nothing. */
export function isSecret(value: unknown): boolean {
  return value !== undefined && JSON.stringify(value) !== '{}';
}

/** Call of a directive with the names of its encrypted fields, which encrypted values are bound to. */
export function callOf(directive: object, fields: readonly string[]): PayloadCall {
  const { type, tool_name, server, model, model_alias, effect } = directive as Readonly<
    Record<string, string | undefined>
  >;
  return [...[type, tool_name, server, model, model_alias, effect].map((each) => each ?? null), fields];
}

/** A directive is encrypted with one key, and all that can be; otherwise who has another key could add to it. */
export function mixtureOf(directive: object): readonly { path: string; message: string }[] {
  const [first, ...others] = encryptedFields(directive);
  if (first === undefined) return [];
  const { codec, key_id } = first.encoded;
  const members = directive as Readonly<Record<string, unknown>>;
  const clear = encryptableFields(String(members['type'])).filter(
    (field) => isSecret(members[field]) && encodedIn(members[field]) === null,
  );
  const foreign = others.filter(({ encoded }) => encoded.codec !== codec || encoded.key_id !== key_id);
  return [
    ...clear.map((path) => ({ path, message: `must be encrypted too, as ${first.field} is` })),
    ...foreign.map(({ field: path }) => ({
      path,
      message: `must be encrypted as ${first.field}: with one key`,
    })),
  ];
}
