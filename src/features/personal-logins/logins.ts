// The logins of callers at the servers that are called with them: read from the shared store, whether one can be used, and when it ends.
// Must never read the login of another account than the one that is named, nor let one outlive the key of its caller.
import { ENVIRONMENT_KEY } from '../../http/access/gate.ts';
import { endOfKey, type KeyRecord } from '../../http/access/key-records.ts';
import { PERSON_MARK, TOKEN_MARK } from '../../http/access/principal.ts';
import type { HttpTransportOptions, McpServerOptions, OAuthOptions } from '../../mcp/server-options.ts';
import { isOver, misfitOf } from '../../mcp/oauth/login.ts';
import { type LoginStore, type StoredLogin, unlessUnreadable } from '../../mcp/oauth/login-store.ts';
import type { Actor } from '../../store/request/envelope.ts';

export type PersonalServer = McpServerOptions & {
  readonly transport: HttpTransportOptions & { readonly auth: OAuthOptions };
};

/** The place of one login. */
export interface LoginPlace {
  readonly account: string;
  readonly server: string;
}

export interface CallerRules {
  /** null: there is no such key. */
  readonly findKey: (id: string) => Promise<KeyRecord | null>;
  /** Issuers that vouch for callers, by the first characters of the ids of these callers. */
  readonly issuers: Readonly<Record<string, string>>;
  /** Lifetime of a login of a caller whom an issuer vouches for, milliseconds. */
  readonly personMs: number;
}

export interface PersonalLogins {
  readonly servers: ReadonlyMap<string, PersonalServer>;
  readonly storeOf: (account: string) => LoginStore;
  /** null: none, or one that cannot be used. */
  read(place: LoginPlace): Promise<StoredLogin | null>;
  /** The caller with an id of the audit log; null: no issuer vouches for it. */
  callerWith(id: string): Actor | null;
  /** Why no call acts for the caller any more, as the end of a sentence; null: calls do. */
  callerFault(tenant: string, caller: Actor): Promise<string | null>;
  /** When a login that is stored now ends, milliseconds since the epoch; null: never. */
  endOf(caller: Actor): Promise<number | null>;
}

export function createPersonalLogins(
  servers: PersonalLogins['servers'],
  storeOf: PersonalLogins['storeOf'],
  { findKey, issuers, personMs }: CallerRules,
  now: () => number = Date.now,
): PersonalLogins {
  return {
    servers,
    storeOf,
    async read({ account, server }) {
      const options = servers.get(server);
      if (options === undefined) return null;
      // It is asked for again.
      const stored = await storeOf(account).read(server).catch(unlessUnreadable);
      if (stored === null) return null;
      const { login } = stored;
      const { url, auth } = options.transport;
      const hasEnded = login.refreshToken === null && isOver(login, now());
      return hasEnded || misfitOf(login, url, auth) !== null ? null : stored;
    },
    callerWith(key) {
      const mark = [TOKEN_MARK, PERSON_MARK].find((each) => key.startsWith(each));
      if (mark === undefined) return { key };
      const issuer = issuers[mark];
      return issuer === undefined ? null : { key, issuer };
    },
    async callerFault(tenant, { key, issuer }) {
      if (issuer !== undefined)
        return Object.values(issuers).includes(issuer)
          ? null
          : `the issuer of its caller, ${issuer}, is not configured any more`;
      if (key === ENVIRONMENT_KEY) return null;
      const end = endOfKey(await findKey(key), tenant, now());
      return end === null ? null : `the key of its caller ${end}`;
    },
    async endOf({ key, issuer }) {
      if (issuer !== undefined) return now() + personMs;
      const { expires_at: expiresAt = null } = (await findKey(key)) ?? {};
      return expiresAt === null ? null : Date.parse(expiresAt);
    },
  };
}
