// The logins of callers at MCP servers, joined from the configuration, the store and the access of the API; nothing of them exists where
// no server asks for them.
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/error.ts';
import { isPersonal } from '../config/servers.ts';
import { createHolders } from '../features/host-login/holder.ts';
import { createHostRecords } from '../features/host-login/records.ts';
import { createCallLogins } from '../features/personal-logins/call-logins.ts';
import { createLoginPages, LASTS_MS } from '../features/personal-logins/login.ts';
import { createPersonalLogins, type PersonalLogins } from '../features/personal-logins/logins.ts';
import { createOwnLogins } from '../features/personal-logins/own-logins.ts';
import { loginRoutes } from '../features/personal-logins/routes.ts';
import { createWaitingCalls } from '../features/personal-logins/waiting.ts';
import { createLoginWaker } from '../features/personal-logins/waker.ts';
import type { AccessKey } from '../contract/access/access.ts';
import type { PersonalLoginClient } from '../contract/access/personal-login.ts';
import { ENVIRONMENT_KEY } from '../http/access/gate.ts';
import { createKeyRecords } from '../http/access/key-records.ts';
import { digestOf } from '../http/access/key-text.ts';
import { currentCaller } from '../http/access/caller.ts';
import { PERSON_MARK, TOKEN_MARK } from '../http/access/principal.ts';
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';
import type { ClientOf } from '../http/access/callers-client.ts';
import type { ApiFeature } from '../http/api.ts';
import type { LoginDoor } from '../http/routes/oidc.ts';
import type { LoginStore } from '../mcp/oauth/login-store.ts';
import { createSeal } from '../mcp/oauth/seal.ts';
import type { Startable } from '../platform/lifecycle.ts';
import { confirmations } from '../queue/durability.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { CallLogins } from '../worker/attempt/claimed.ts';
import { accountOf } from '../store/request/envelope.ts';
import { keySpace } from '../store/keys.ts';
import type { Access } from './access.ts';
import { loginsOn } from './roles/logins.ts';
import { httpServerWithAuth } from './roles/mcp-servers.ts';
import type { Store } from './store.ts';

/** Stores of accounts that a process keeps at hand. */
const MOST_STORES = 1_000;

/** null: no server asks callers for logins. Throws `ConfigError` without a key to seal them with. */
export function personalLoginsOn(connection: RedisConnection, config: Config): PersonalLogins | null {
  const names = [...config.mcpServers].flatMap(([name, server]) => (isPersonal(server) ? [name] : []));
  if (names.length === 0) return null;
  const stores = new Map<string, LoginStore>();
  const storeOf = (account: string): LoginStore => {
    const known = stores.get(account);
    if (known !== undefined) return known;
    const made = loginsOn(connection, config, account);
    if (made === null) throw new Error('personal logins have no key');
    if (stores.size >= MOST_STORES) stores.clear();
    stores.set(account, made);
    return made;
  };
  if (config.tokenKeys.length === 0) {
    const message = `is not set, with which the logins of callers at ${names[0]} are sealed`;
    const fix = 'Set it to the same value in every process, as `openssl rand -base64 32` prints one.';
    throw new ConfigError('environment', [{ path: 'ADJUTANT_TOKEN_KEY', message }], { fix });
  }
  const { jwt, oidc, personal_logins: rules } = config.access;
  const issuers = {
    ...(jwt === undefined ? {} : { [TOKEN_MARK]: jwt.issuer }),
    ...(oidc === undefined ? {} : { [PERSON_MARK]: oidc.issuer }),
  };
  const confirm = confirmations(connection, config.durability);
  const { find: findKey } = createKeyRecords(connection, keySpace(config.prefix), confirm);
  return createPersonalLogins(
    new Map(names.map((name) => [name, httpServerWithAuth(name, config)])),
    storeOf,
    { findKey, issuers, personMs: rules?.person_login_ms ?? 0 },
  );
}

/** null: no server asks callers for logins. */
export function callLoginsOf(
  { connection, keys }: Pick<Store, 'connection' | 'keys'>,
  config: Config,
): CallLogins | null {
  const logins = personalLoginsOn(connection, config);
  const { personal_logins: rules } = config.access;
  if (logins === null || rules === undefined) return null;
  const waiting = createWaitingCalls(connection, keys.personalLogins);
  return createCallLogins({ logins, waiting, publicUrl: rules.public_url, waitMs: rules.wait_ms });
}

export interface PersonalLoginsOfApi {
  readonly feature: ApiFeature;
  readonly waking: Startable;
  readonly own: PersonalLoginClient;
  /** Removes the logins of a revoked key, which no call uses any more. */
  forgetKey(key: Pick<AccessKey, 'id' | 'tenant'>): Promise<void>;
  /** The cookie of a person who has come back from the issuer to the page of a login. */
  readonly forLogin: NonNullable<LoginDoor['forHost']>;
}

/** null: no server asks callers for logins. */
export function personalPagesOf(
  store: Pick<Store, 'connection' | 'keys' | 'records'>,
  { gate, persons, audit, login }: Access,
  clientOf: ClientOf,
  { config, onError }: { readonly config: Config; readonly onError: (error: Error) => void },
): PersonalLoginsOfApi | null {
  const { connection, keys } = store;
  const logins = personalLoginsOn(connection, config);
  const { personal_logins: rules } = config.access;
  const [first, ...others] = config.tokenKeys;
  if (logins === null || rules === undefined || first === undefined) return null;
  const waker = createLoginWaker({
    logins,
    waiting: createWaitingCalls(connection, keys.personalLogins),
    journal: store.records.journal,
    answer: async (tenant, requestId, inputId, body) => clientOf(tenant).answer(requestId, inputId, body),
    onError,
  });
  const pages = createLoginPages({
    publicUrl: rules.public_url,
    logins,
    records: createHostRecords(connection, keys.personalLogins),
    holders: createHolders({ keys: gate.sessionKeys, persons, lastsMs: { key: LASTS_MS, person: LASTS_MS } }),
    seal: createSeal([first, ...others]),
    audit,
    issuer: login === null ? null : { oidc: login.oidc, name: login.name },
    // A process that dies before leaves it to the loop.
    onStored: async (place) => waker.wake(place).catch(onError),
  });
  const own = createOwnLogins({ logins, publicUrl: rules.public_url, audit, caller: currentCaller });

  async function forget({ tenant, id }: Pick<AccessKey, 'id' | 'tenant'>): Promise<void> {
    const store = logins?.storeOf(accountOf(tenant, { key: id }));
    const servers = [...(logins?.servers.keys() ?? [])];
    await Promise.all(servers.map(async (server) => store?.remove(server)));
  }

  /** Another key of the environment is another caller: it does not get the logins of the one before. */
  async function endReplaced(): Promise<void> {
    if (config.adminKey === null) return;
    const seal = digestOf(`logins:${digestOf(config.adminKey)}`);
    const place = `${keys.personalLogins}environment`;
    const before = await connection.get(place);
    // First what ends, so that a death between repeats it.
    if (before !== null && before !== seal) await forget({ tenant: DEFAULT_TENANT, id: ENVIRONMENT_KEY });
    // A Redis that is full keeps no API from its start; the next one repeats it.
    if (before !== seal) await connection.set(place, seal).catch(onError);
  }

  return {
    feature: loginRoutes(pages),
    waking: {
      ...waker,
      async start() {
        await endReplaced();
        await waker.start();
      },
    },
    own,
    forLogin: pages.fromIssuer,
    // The key is revoked all the same: no call uses its logins any more.
    forgetKey: async (key) => forget(key).catch(onError),
  };
}
