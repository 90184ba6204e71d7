// Access to the API of this process: its keys in Redis, the subscription to their changes, and whether it may listen at
// all. An API listens beyond loopback without keys only where the operator allows it.
import type { Logger } from 'pino';
import { type Audit, createAudit } from '../http/access/audit.ts';
import { createGate, type Gate } from '../http/access/gate.ts';
import { createTokenCheck, type KnowsTenant, type TokenTrouble } from '../http/access/jwt.ts';
import { createKeyBudget, createKeyCount, type SpendBudget } from '../http/access/key-budget.ts';
import { createKeyRecords, type KeyRecords } from '../http/access/key-records.ts';
import { createKeyService, type KeyService } from '../http/access/key-service.ts';
import { createKeyUses } from '../http/access/key-uses.ts';
import { createKnownKeys, type KnownKeys } from '../http/access/known-keys.ts';
import { createOtherTenants, type OtherTenants } from '../http/access/other-tenants.ts';
import { createPersons, type Persons } from '../http/access/persons.ts';
import { createSessionRecords } from '../http/access/session-records.ts';
import { createSessions, type Sessions } from '../http/access/sessions.ts';
import { createViewTokens, type ViewTokens } from '../http/access/view-tokens.ts';
import type { LoginDoor } from '../http/routes/oidc.ts';
import { isLoopback } from '../http/allowed-host.ts';
import type { Config } from '../config/config.ts';
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';
import { OTHER_TENANTS } from '../contract/access/tenant-limits.ts';
import { createAuditLog } from '../store/access/audit-log.ts';
import { createSubscriptions } from '../store/log/subscriptions.ts';
import type { Startable } from '../platform/lifecycle.ts';
import type { SeenTenants } from '../directives/sweep/seen-tenants.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { Store } from './store.ts';
import { createLoginSeal } from '../http/access/login-seal.ts';
import { createOidcLogin } from '../http/access/oidc.ts';
import { createSpentLogins } from '../http/access/spent-logins.ts';
import { sharedSecret } from '../store/access/shared-secret.ts';

/** The tenants of all keys are seen before a key is let in. */
function noting({ version, read }: Pick<KeyRecords, 'version' | 'read'>, tenants: SeenTenants) {
  return {
    version,
    async read(extent: Parameters<typeof read>[0]) {
      const table = await read(extent);
      for (const { tenant } of table.keys.values()) tenants.see(tenant);
      return table;
    },
  };
}

export interface Access extends Startable {
  readonly gate: Gate;
  readonly sessions: Sessions;
  readonly persons: Persons;
  readonly login: LoginDoor | null;
  readonly audit: Audit;
  readonly others: OtherTenants;
  readonly spend: SpendBudget;
  readonly keys: KeyService & Pick<ViewTokens, 'viewToken'>;
  readonly views: ViewTokens;
}

export interface AccessOptions {
  readonly config: Pick<Config, 'host' | 'adminKey' | 'insecure' | 'access' | 'tenants'>;
  readonly logger: Logger;
  readonly onError: (error: Error) => void;
}

/** An API that would be open to everyone. Recognised by its name where a start is explained. */
class NoKeys extends Error {
  override readonly name = 'NoKeys';
  readonly fix =
    'Set ADJUTANT_ADMIN_KEY, as `openssl rand -hex 32` prints one; or make a key with the scope admin while it listens on 127.0.0.1. ' +
    'With --insecure or ADJUTANT_INSECURE=1 it starts and lets everyone in.';
}

const SET_ADMIN_KEY =
  'Set ADJUTANT_ADMIN_KEY, as `openssl rand -hex 32` prints one, and start the API again.';

/** `listening`: a connection for subscriptions only. */
export function createAccess(store: Store, listening: RedisConnection, options: AccessOptions): Access {
  const { connection, keys: names } = store;
  const { config, onError } = options;
  const records = createKeyRecords(connection, names, store.queue.confirm);
  const known = createKnownKeys(noting(records, store.tenants));
  const log = createAuditLog(connection, names);
  const audit = createAudit(log, onError);
  const { adminKey, insecure, host } = config;
  const closed = !isLoopback(host) && !insecure;
  const { jwt, oidc, host_login: hosts } = config.access;
  const knowsTenant = (name: string): boolean =>
    name === DEFAULT_TENANT || (name !== OTHER_TENANTS && config.tenants.has(name));
  const verifyToken = jwt === undefined ? null : createTokenCheck(jwt, tokenLog(options.logger), knowsTenant);
  const onUse = createKeyUses(records, onError);
  const isClosed = closed || oidc !== undefined || hosts !== undefined;
  const gate = createGate({ known, adminKey, verifyToken, closed: isClosed, reopens: insecure, onUse });
  // Another issuer or audience is another one to believe: sessions of the one before end with it.
  const persons = createPersons(
    {
      jwt: jwt === undefined ? null : `${jwt.issuer}\n${jwt.audience}`,
      oidc: oidc === undefined ? null : `${oidc.issuer}\n${oidc.client_id}`,
    },
    knowsTenant,
  );
  const sessionParts = { keys: gate.sessionKeys, persons, records: createSessionRecords(connection, names) };
  const views = createViewTokens({
    keys: gate.sessionKeys,
    secret: async () => sharedSecret(connection, names.seal),
  });
  const hasOtherAdmin = adminKey !== null || hasIssuer(config);
  const charge = createKeyCount(connection, names);
  const changes = createSubscriptions({ listening, publishing: connection });
  const hear = { hear: () => known.doubt(false), missed: () => known.doubt(true) };
  return {
    name: 'access',
    gate,
    login: oidc === undefined ? null : createLogin(store, oidc, { knowsTenant, logger: options.logger }),
    sessions: createSessions({ ...sessionParts, audit }),
    persons,
    audit,
    others: createOtherTenants(audit),
    spend: createKeyBudget(connection, names, store.limitsOf),
    keys: {
      ...createKeyService({ records, known, log, charge, isOpen: () => gate.isOpen, hasOtherAdmin }),
      viewToken: views.viewToken,
    },
    views,
    async start() {
      changes.open('plain', names.accessChanges, hear).catch(onError);
      await known.refresh();
      requireKeys(known, options);
    },
    stop: async () => changes.close(),
  };
}

const LOG_EACH_MS = 60_000;

/** Logs each of the two at most once a minute: callers without a key must not fill the log. */
function tokenLog(logger: Logger): TokenTrouble {
  const nextAt = { refused: 0, away: 0 };
  return (reason, { jwksUrl }) => {
    const kind = jwksUrl === undefined ? 'refused' : 'away';
    const at = performance.now();
    if (at < nextAt[kind]) return;
    nextAt[kind] = at + LOG_EACH_MS;
    if (jwksUrl === undefined) logger.warn({ reason }, 'a token of a caller is refused');
    else logger.warn({ reason, jwks_url: jwksUrl }, 'the keys of the issuer of tokens cannot be read');
  };
}

/** Issuers whose tokens or logins may hold `admin`. */
function hasIssuer({ access: { jwt, oidc } }: Pick<Config, 'access'>): boolean {
  return jwt !== undefined || oidc !== undefined;
}

function requireKeys(known: KnownKeys, { config, logger }: AccessOptions): void {
  const { size, wereUsed } = known;
  const { host, adminKey, insecure } = config;
  const hasAdmin = adminKey !== null || hasIssuer(config) || known.mayAdmin(Date.now());
  const isClosed = size > 0 || (wereUsed && !insecure);
  if (isClosed && !hasAdmin)
    logger.warn({ fix: SET_ADMIN_KEY, keys: size }, 'no key may make or revoke keys');
  if (isLoopback(host) || adminKey !== null || hasIssuer(config) || size > 0) return;
  if (!insecure) throw new NoKeys(`the API would listen on ${host}, a non-loopback interface, without keys`);
  logger.warn({ host }, 'everyone who reaches this address may do everything: no key is asked for');
}

const SHED_EACH_MS = 1_000;

function createLogin(
  { connection, keys }: Store,
  rules: NonNullable<Config['access']['oidc']>,
  { knowsTenant, logger }: { knowsTenant: KnowsTenant; logger: Logger },
): LoginDoor {
  const seal = createLoginSeal(async () => sharedSecret(connection, keys.seal));
  const spend = createSpentLogins(connection, keys);
  let nextAt = -Infinity;
  const onTrouble = (reason: string): void => {
    // A caller without an account must not fill the log.
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + SHED_EACH_MS;
    logger.warn({ reason, issuer: rules.issuer }, 'a login at the issuer failed');
  };
  return {
    oidc: createOidcLogin({ rules, seal, spend, knowsTenant, onTrouble }),
    seal,
    name: rules.name ?? new URL(rules.issuer).host,
    base: rules.redirect_base,
    sessionMs: rules.session_ms,
    endsAtIssuer: rules.post_logout === 'issuer',
  };
}
