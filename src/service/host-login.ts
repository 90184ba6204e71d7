// The login of MCP hosts, joined from the store and the access of the API; nothing of it exists where it is not configured.
import type { ClientOf } from '../http/access/callers-client.ts';
import { allows } from '../http/access/principal.ts';
import type { HostTokens } from '../http/access-check.ts';
import type { ApiFeature } from '../http/api.ts';
import type { LoginDoor } from '../http/routes/oidc.ts';
import type { Config } from '../config/config.ts';
import { createAuthorizationServer } from '../features/host-login/authorization-server.ts';
import { createHolders } from '../features/host-login/holder.ts';
import { createHostLoginPages } from '../features/host-login/login.ts';
import { createHostRecords } from '../features/host-login/records.ts';
import { hostLoginRoutes } from '../features/host-login/routes.ts';
import { createHostTokens } from '../features/host-login/tokens.ts';
import { sharedSecret } from '../store/access/shared-secret.ts';
import type { Access } from './access.ts';
import type { Store } from './store.ts';

export interface HostLoginOfApi {
  readonly feature: ApiFeature;
  /** null: tokens come from the issuer of `access.jwt`. */
  readonly tokens: HostTokens | null;
  /** The login of the console, which people use for hosts too. */
  readonly login: LoginDoor | null;
}

interface HostLoginOptions {
  readonly config: Pick<Config, 'access'>;
  readonly onError: (error: Error) => void;
}

/** null: it is not configured. */
export function hostLoginOf(
  { connection, keys }: Pick<Store, 'connection' | 'keys'>,
  { gate, persons, audit, login }: Access,
  clientOf: ClientOf,
  { config, onError }: HostLoginOptions,
): HostLoginOfApi | null {
  const { host_login: rules, jwt } = config.access;
  if (rules === undefined) return null;
  const { public_url: publicUrl, scopes } = rules;
  if (rules.authorization_server === 'jwt') {
    const issuer = jwt?.issuer ?? publicUrl;
    return { feature: hostLoginRoutes({ publicUrl, issuer, scopes, own: null }), tokens: null, login };
  }
  const records = createHostRecords(connection, keys.hostLogins);
  const lastsMs = { key: rules.key_login_ms, person: rules.person_login_ms };
  const holders = createHolders({ keys: gate.sessionKeys, persons, lastsMs });
  const server = createAuthorizationServer({
    rules: {
      publicUrl,
      scopes,
      tokenMs: rules.token_ms,
      documents: { privateAddresses: rules.private_addresses },
    },
    records,
    holders,
    secret: async () => sharedSecret(connection, keys.seal),
    onError,
  });
  const pages = createHostLoginPages({
    publicUrl,
    server,
    records,
    holders,
    audit,
    issuer: login === null ? null : { oidc: login.oidc, name: login.name },
    async toolsOf({ tenant, tools: patterns }) {
      const { tools } = await clientOf(tenant).tools({ remembered: true });
      return tools.map(({ name }) => name).filter((name) => allows(patterns, name));
    },
  });
  return {
    feature: hostLoginRoutes({ publicUrl, issuer: publicUrl, scopes, own: { server, pages, records } }),
    tokens: createHostTokens({ records, holders }, publicUrl),
    login: login === null ? null : { ...login, forHost: pages.fromIssuer },
  };
}
