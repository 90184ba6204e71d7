// The logins at MCP servers that an installation keeps: sealed with the key of the environment, in its Redis.
// Must never hold a login, nor put the key anywhere.
import type { Config } from '../../config/config.ts';
import type { ServerLogin } from '../../contract/tool/tool-listing.ts';
import { createLoginRecords, type LoginRecords } from '../../store/access/login-records.ts';
import { keySpace } from '../../store/keys.ts';
import type { LoginSummary } from '../../mcp/oauth/login.ts';
import { createLoginStore, type LoginStore } from '../../mcp/oauth/login-store.ts';
import { createSeal } from '../../mcp/oauth/seal.ts';
import { confirmations } from '../../queue/durability.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';

/** The service itself, whose logins are shared by all callers. No account has its name. */
const PRINCIPAL = 'default';

/** Names of the servers that cannot be called without a stored login. */
export function serversWithLogin({ mcpServers }: Pick<Config, 'mcpServers'>): string[] {
  return [...mcpServers].flatMap(([name, server]) =>
    server.kind === 'http' && server.auth !== undefined ? [name] : [],
  );
}

export function needsLogins(config: Pick<Config, 'mcpServers' | 'tokenKeys'>): boolean {
  return config.tokenKeys.length > 0 && serversWithLogin(config).length > 0;
}

/** null: there is no key. `principal`: the account whose logins they are. Default: those of the service. */
export function loginsOn(
  connection: RedisConnection,
  { prefix, tokenKeys, durability }: Pick<Config, 'prefix' | 'tokenKeys' | 'durability'>,
  principal = PRINCIPAL,
): LoginStore | null {
  const [first, ...others] = tokenKeys;
  if (first === undefined) return null;
  return createLoginStore({
    records: loginRecordsOn(connection, { prefix, durability }, principal),
    seal: createSeal([first, ...others]),
    principal,
  });
}

/** Sealed: without a key they can only be removed. */
export function loginRecordsOn(
  connection: RedisConnection,
  { prefix, durability }: Pick<Config, 'prefix' | 'durability'>,
  principal = PRINCIPAL,
): LoginRecords {
  return createLoginRecords(connection, keySpace(prefix), principal, confirmations(connection, durability));
}

/** As the catalog shows it. */
export function listedLogin({
  issuer,
  clientId,
  account,
  scope,
  expiresAt,
  renewable,
}: LoginSummary): ServerLogin {
  return {
    issuer,
    client_id: clientId,
    ...(account === null ? {} : { account }),
    ...(scope === null ? {} : { scope }),
    ...(expiresAt === null ? {} : { expires_at: new Date(expiresAt).toISOString() }),
    renewable,
  };
}
