// With which keys workers read what clients encrypt.
// Must never hold a key in the file, nor show one.
import * as z from 'zod';
import { KEY_ID } from '../contract/encrypted/encrypted.ts';
import { tenantSchema } from '../contract/access/tenant-name.ts';
import { type KeyRing, MOST_KEYS, readKeyText } from '../platform/encryption/key-text.ts';
import { ownMember } from '../contract/json/json-object.ts';
import { ConfigError } from './error.ts';
import type { Environment } from './environment-values.ts';
import { notes } from './notes.ts';

const encryptionFieldsSchema = z.strictObject({
  keys_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of a variable of the environment')
    .default('ADJUTANT_ENCRYPTION_KEYS')
    .register(notes, {
      description:
        'The variable with the keys, as in `k2=<key>,k1=<key>`; a key is 32 random bytes in base64 or hex. Workers need it, and engines of encrypted runs.',
    }),
  tenants: z
    .record(tenantSchema, z.array(z.string().regex(KEY_ID)).min(1).max(MOST_KEYS))
    .optional()
    .register(notes, {
      description:
        'By tenant, the ids of the keys that open what it submits, as in `{"acme": ["k1"]}`; a key opens nothing of tenants that do not name it.',
      fallback: 'each key opens what any tenant submits',
    }),
  required: z
    .union([z.boolean(), z.array(tenantSchema).min(1)])
    .default(false)
    .register(notes, {
      description:
        'What is submitted in clear is refused: of everyone (`true`), or of these tenants, as in `["acme"]`. See [encryption](encryption.md#require-encryption).',
    }),
});

/** A tenant that must encrypt, and whom no key is given, could submit nothing that a worker opens. */
const encryptionSchema = encryptionFieldsSchema.superRefine(({ required, tenants }, context) => {
  if (tenants === undefined || typeof required === 'boolean') return;
  for (const [position, tenant] of required.entries())
    if (!Object.hasOwn(tenants, tenant))
      context.addIssue({
        code: 'custom',
        path: ['required', position],
        message: `"${tenant}" has no key in encryption.tenants`,
      });
});

export const encryptionSections = {
  encryption: encryptionSchema.optional().register(notes, {
    description: 'Workers and engines read what clients encrypt. See [encryption](encryption.md).',
    fallback: 'what is encrypted ends with `decryption_key_missing`',
  }),
};

export interface EncryptionConfig {
  /** The variable. */
  readonly variable: string;
  /** null: it is not set, as for an API alone. */
  readonly keys: KeyRing | null;
  /** Ids of the keys that a tenant may use; null: each may use all. */
  readonly ofTenant: ReadonlyMap<string, ReadonlySet<string>> | null;
  /** Who submits nothing in clear that can be encrypted. */
  readonly required: 'everyone' | ReadonlySet<string>;
}

/** Whether what the tenant submits in clear is refused. */
export function requiresEncryption(encryption: EncryptionConfig | null, tenant: string): boolean {
  if (encryption === null) return false;
  return encryption.required === 'everyone' || encryption.required.has(tenant);
}

type Section = z.output<typeof encryptionSchema>;

function requiredOf({ required }: Section): EncryptionConfig['required'] {
  if (required === true) return 'everyone';
  return new Set(required === false ? [] : required);
}

const FIX = 'Correct the variable, or remove `encryption` from the configuration.';

/** Throws `ConfigError`. */
export function encryptionOf(
  section: Section | undefined,
  environment: Environment,
): EncryptionConfig | null {
  if (section === undefined) return null;
  const required = requiredOf(section);
  const variable = section.keys_env;
  const ofTenant = section.tenants
    ? new Map(Object.entries(section.tenants).map(([tenant, ids]) => [tenant, new Set(ids)]))
    : null;
  const text = ownMember(environment, variable)?.trim() ?? '';
  if (text === '') return { variable, keys: null, ofTenant, required };
  const read = readKeyText(text);
  if (!read.ok)
    throw new ConfigError('environment', [{ path: variable, message: read.message }], { fix: FIX });
  requireKnownKeys(section.tenants ?? {}, read.keys, variable);
  return { variable, keys: read.keys, ofTenant, required };
}

/** Throws `ConfigError` for keys of tenants that there are not. */
function requireKnownKeys(
  tenants: Readonly<Record<string, readonly string[]>>,
  { keys }: KeyRing,
  variable: string,
): void {
  const errors = Object.entries(tenants).flatMap(([tenant, ids]) =>
    ids
      .filter((id) => !keys.has(id))
      .map((id) => ({
        path: `encryption.tenants.${tenant}`,
        message: `names the key "${id}", which ${variable} does not hold`,
      })),
  );
  if (errors.length > 0)
    throw new ConfigError('environment', errors, { fix: 'Add the key to the variable, or do not name it.' });
}

/** Throws `ConfigError` when a worker has no keys that its configuration asks for. */
export function requireEncryptionKeys({
  encryption,
}: {
  readonly encryption: EncryptionConfig | null;
}): void {
  if (encryption === null || encryption.keys !== null) return;
  const message = 'is not set, and encryption.keys_env names it';
  const fix = 'Set the variable, or remove `encryption` from the configuration.';
  throw new ConfigError('environment', [{ path: encryption.variable, message }], { fix });
}
