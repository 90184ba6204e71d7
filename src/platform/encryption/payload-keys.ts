// The keys of a process that executes what clients encrypt: a worker, or an engine.
// Must never open for a tenant what is in a key of another one.
import { type PayloadCodec, PayloadUnreadable } from '../../contract/encrypted/encrypted.ts';

export interface PayloadKeys {
  /** null: it has none. */
  readonly codec: PayloadCodec | null;
  /** Where they come from, for who has to set them. */
  readonly setting: string;
  /** The ids of the keys that open what a tenant submits; null: each key serves every tenant. */
  readonly ofTenant: ReadonlyMap<string, ReadonlySet<string>> | null;
}

export const NO_KEYS: PayloadKeys = { codec: null, setting: 'encryption.keys_env', ofTenant: null };

export function isKeyOf({ ofTenant }: Pick<PayloadKeys, 'ofTenant'>, tenant: string, keyId: string): boolean {
  return ofTenant === null || ofTenant.get(tenant)?.has(keyId) === true;
}

/** The same codec, to which keys that are not the tenant's are missing. */
export function codecOfTenant(codec: PayloadCodec, keys: PayloadKeys, tenant: string): PayloadCodec {
  return {
    ...codec,
    async decode(payload, place) {
      // @guard encrypted-run-tenant
      if (isKeyOf(keys, tenant, payload.key_id)) return codec.decode(payload, place);
      throw new PayloadUnreadable('key_missing', payload.key_id, place);
    },
  };
}
