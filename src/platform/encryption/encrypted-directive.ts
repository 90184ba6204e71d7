// Encrypts a directive before it leaves its sender: each field that may be secret, for the identity of the directive.
// Must never send a directive of a type that it cannot encrypt.
import {
  callOf,
  type PayloadCodec,
  encryptableFields,
  isSecret,
} from '../../contract/encrypted/encrypted.ts';
import type { SubmittedDirective } from '../../contract/directive/directive.ts';
import { type KeyedIds, keyedIdsOf } from '../../contract/directive/keyed-ids.ts';
import { ONCE_IN_CLEAR, type OnceFields, onceFieldOf } from '../../contract/directive/once.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import type { FieldError } from '../../contract/problem.ts';
import { encryptField } from './payload-value.ts';

export type Submitted = SubmittedDirective | readonly SubmittedDirective[];

/** It has its ids. */
export type EncryptedDirective = SubmittedDirective & { readonly id: string; readonly request_id: string };

/** The same directives, encrypted, each with its ids: those of the idempotency key where there is one, else new ones. */
export async function encryptDirectives(
  codec: PayloadCodec,
  given: readonly SubmittedDirective[],
  idempotencyKey: string | undefined,
): Promise<EncryptedDirective[]> {
  const errors = given.flatMap((directive, index) =>
    refusals(directive, given.length === 1 ? '' : `directives[${index}].`),
  );
  if (errors.length > 0) throw refusedAt('invalid_body', errors);
  const keyed = idempotencyKey === undefined ? undefined : await keyedIds(idempotencyKey);
  const named = given.find(({ request_id }) => request_id !== undefined)?.request_id;
  const request = named ?? keyed?.request ?? newId();
  return Promise.all(
    given.map(async (directive, index) => {
      const { id = keyed?.directive(index) ?? newId(), request_id = request } = directive;
      return encryptOne(codec, { ...directive, id, request_id });
    }),
  );
}

/** `keyId`: default: the codec chooses. */
export async function encryptOne<D extends EncryptedDirective>(
  codec: PayloadCodec,
  directive: D,
  keyId?: string,
): Promise<D> {
  const { id, request_id: request } = directive;
  const members = directive as unknown as Readonly<Record<string, unknown>>;
  const fields = encryptableFields(directive.type);
  const secret = fields.filter((field) => isSecret(members[field]));
  // One is encrypted in any case, so that the answer is.
  const present = secret.length > 0 ? secret : fields.slice(0, 1);
  const call = callOf(directive, present);
  const encrypted = await Promise.all(
    present.map(
      async (field) =>
        [
          field,
          await encryptField(codec, members[field] ?? {}, { request, id, field, call }, keyId),
        ] as const,
    ),
  );
  return { ...directive, ...(Object.fromEntries(encrypted) as object) };
}

function refusals(directive: SubmittedDirective, prefix: string): FieldError[] {
  const { type } = directive;
  if (encryptableFields(type).length === 0) {
    const message = `directives of the type ${type} cannot be encrypted; send them with a client that has no codec`;
    return [{ path: `${prefix}type`, message }];
  }
  const once = onceFieldOf(directive as OnceFields);
  return once === undefined ? [] : [{ path: `${prefix}${once}`, message: `${ONCE_IN_CLEAR}; ${INSTEAD}` }];
}

export const INSTEAD = 'use a client without a codec, or leave the field out';

function newId(): string {
  return crypto.randomUUID();
}

/** As the service derives them, also in a browser. */
export async function keyedIds(idempotencyKey: string): Promise<KeyedIds> {
  const bytes = new Uint8Array(
    await crypto.subtle.digest('SHA-256', new TextEncoder().encode(idempotencyKey)),
  );
  return keyedIdsOf([...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(''));
}
