// The logins of callers at the servers that are called with them: read from the shared store, and whether one can be used.
// Must never read the login of another account than the one that is named.
import type { HttpTransportOptions, McpServerOptions, OAuthOptions } from '../../mcp/server-options.ts';
import { isOver, misfitOf } from '../../mcp/oauth/login.ts';
import { type LoginStore, type StoredLogin, unlessUnreadable } from '../../mcp/oauth/login-store.ts';

export type PersonalServer = McpServerOptions & {
  readonly transport: HttpTransportOptions & { readonly auth: OAuthOptions };
};

/** The place of one login. */
export interface LoginPlace {
  readonly account: string;
  readonly server: string;
}

export interface PersonalLogins {
  readonly servers: ReadonlyMap<string, PersonalServer>;
  readonly storeOf: (account: string) => LoginStore;
  /** null: none, or one that cannot be used. */
  read(place: LoginPlace): Promise<StoredLogin | null>;
}

export function createPersonalLogins(
  servers: PersonalLogins['servers'],
  storeOf: PersonalLogins['storeOf'],
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
  };
}
