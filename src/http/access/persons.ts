// Sessions of those for whom an issuer speaks, by a token or a login: what it said is in the cookie, and Redis has a hash over it.
// Must never take what a cookie says before Redis knows its hash, nor what an issuer said that is no longer configured.
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { scopeSchema } from '../../contract/access/access.ts';
import { digestOf } from './key-text.ts';
import type { KnowsTenant } from './jwt.ts';
import { type Principal, UNLIMITED } from './principal.ts';

export type PersonSource = 'jwt' | 'oidc';

/** Whom this API believes: the issuer with its audience or client; null: it is not configured. */
export type Trusts = Readonly<Record<PersonSource, string | null>>;

export interface Persons {
  /** For the cookie of a new session. */
  write(principal: Principal, source: PersonSource): { readonly ownerId: string; readonly claims: string };
  /**
   * The principal of a person's claims; null: the claims are not accepted here any more. `digest` must be compared
   * before the principal counts.
   */
  read(
    claims: string,
  ): { readonly principal: Principal; readonly digest: string; source: PersonSource } | null;
}

const claimsSchema = z.tuple([
  z.enum(['jwt', 'oidc']),
  z.string().min(1).max(300),
  z.string().min(1).max(300),
  z.string().max(64),
  z.array(scopeSchema).max(16),
]);

const OWNER_CHARACTERS = 31;

export function createPersons(trusts: Trusts, knowsTenant: KnowsTenant): Persons {
  return {
    write({ id, name, tenant, scopes }, source) {
      const claims = Buffer.from(JSON.stringify([source, id, name, tenant, [...scopes]])).toString(
        'base64url',
      );
      // Apart from the ids of keys, which have 12 digits.
      const hash = createHash('sha256').update(`${trusts[source]}\n${id}`).digest('hex');
      return { ownerId: `p${hash.slice(0, OWNER_CHARACTERS)}`, claims };
    },
    read(claims) {
      const parsed = claimsSchema.safeParse(jsonOf(claims));
      if (!parsed.success) return null;
      const [source, id, name, tenant, scopes] = parsed.data;
      const trust = trusts[source];
      if (trust === null || !knowsTenant(tenant)) return null;
      const [issuer = ''] = trust.split('\n');
      const principal = { id, name, issuer, tenant, scopes: new Set(scopes), ...UNLIMITED };
      return { principal, digest: digestOf(`${trust}\n${claims}`), source };
    },
  };
}

function jsonOf(claims: string): unknown {
  try {
    return JSON.parse(Buffer.from(claims, 'base64url').toString());
  } catch {
    return null;
  }
}
