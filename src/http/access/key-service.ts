// The operations of an operator on keys: create, list and revoke. Never shows a key a second time.
import {
  type AccessKey,
  createKeyBodySchema,
  type AccessClient,
  type ParsedKey,
} from '../../contract/access/access.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import { readInput } from '../../contract/json/read-input.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../contract/problem.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { PersonalLoginClient } from '../../contract/access/personal-login.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { AuditLog } from '../../store/access/audit-log.ts';
import { auditText } from './audit.ts';
import type { ChargeKey } from './key-budget.ts';
import { currentCaller } from './caller.ts';
import { currentTenant } from './callers-client.ts';
import {
  hasExpired,
  type EntryOfChange,
  type KeyRecord,
  type KeyRecords,
  type KeyTable,
  MOST_KEYS,
  shownKey,
} from './key-records.ts';
import { newKey } from './key-text.ts';
import type { KnownKeys } from './known-keys.ts';

export interface KeyServiceOptions {
  readonly records: KeyRecords;
  readonly log: Pick<AuditLog, 'page'>;
  readonly known: KnownKeys;
  readonly charge: ChargeKey;
  /** Whether anybody may do anything, until the first key is made. */
  readonly isOpen: () => boolean;
  /** Whether keys can be made without one of Redis: with the key of the environment, or through an issuer. */
  readonly hasOtherAdmin: boolean;
  readonly now?: () => number;
}

/** Calls about keys and the audit log. */
export type KeyService = Omit<AccessClient, keyof PersonalLoginClient | 'viewToken'>;

export function createKeyService(options: KeyServiceOptions): KeyService {
  const { records, known, charge, isOpen, hasOtherAdmin, log, now = Date.now } = options;

  async function change<T>(call: () => Promise<T>): Promise<T> {
    const answer = await whileAvailable(call);
    // This process knows at once; the others are told.
    known.doubt(false);
    return answer;
  }

  /**
   * The version under which another key of the tenant fits; the keys of one tenant must leave capacity for the others.
   * null: the limit is reached.
   */
  async function versionWithRoom(tenant: string): Promise<string | null> {
    if (tenant === DEFAULT_TENANT) return null;
    const { keys, version } = await whileAvailable(() => records.read());
    const own = [...keys.values()].filter((key) => key.tenant === tenant);
    if (own.length >= MOST_KEYS_OF_TENANT) throw full(MOST_KEYS_OF_TENANT, ` of the tenant "${tenant}"`);
    return version;
  }

  async function put(record: KeyRecord, entry: EntryOfChange): Promise<void> {
    for (let left = MOST_DECISIONS; left > 0; left -= 1) {
      const version = await versionWithRoom(record.tenant);
      // Two that make the last one of a tenant at once decide over the same keys: the second decides again.
      const verdict = await change(() => records.put(record, version, entry));
      if (verdict === 'done') return;
      if (verdict === 'full') throw full();
    }
    throw changesAllTheTime();
  }

  return {
    async create(body) {
      const parsed = parsedKey(body, now());
      if (isOpen() && !parsed.scopes.includes('admin')) throw refusedAt('invalid_body', [FIRST_KEY]);
      if (isOpen() && parsed.expires_at !== undefined) throw refusedAt('invalid_body', [FIRST_KEY_LASTS]);
      const { id, text, digest } = newKey();
      const tenant = tenantOfNew(parsed, isOpen());
      const record = recordOf({ ...parsed, tenant }, { id, digest, at: now() });
      await charge(currentTenant());
      await put(record, entryOf('create_key', id));
      return { key: text, ...shownKey(record, undefined) };
    },
    async list() {
      const [{ keys }, uses] = await whileAvailable(() => Promise.all([records.read(), records.uses()]));
      const shown = [...keys.values()].filter(isManaged).map((each) => shownKey(each, uses.get(each.id)));
      return { keys: shown.toSorted((left, right) => left.created_at.localeCompare(right.created_at)) };
    },
    async revoke(id, { force = false } = {}): Promise<AccessKey> {
      const mayBeLast = force || hasOtherAdmin;
      const entry = entryOf('revoke_key', id);
      for (let left = MOST_DECISIONS; left > 0; left -= 1) {
        const { keys, version } = await whileAvailable(() => records.read());
        const found = keys.get(id);
        const record = found !== undefined && isManaged(found) ? found : undefined;
        if (record === undefined) throw unknownKey(id);
        if (!mayBeLast && isLastAdmin(keys, id, now())) throw lastAdmin(id);
        // Two that revoke the last two at once decide over the same keys: the second decides again.
        const verdict = await change(() => records.remove(id, mayBeLast ? null : version, entry));
        if (verdict === 'done') return shownKey(record, undefined);
        if (verdict === 'absent') throw unknownKey(id);
      }
      throw changesAllTheTime();
    },
    async audit({ log: name = 'changes', before = null, limit = DEFAULT_PAGE } = {}) {
      return whileAvailable(() => log.page({ tenant: currentTenant(), log: name, before, limit }));
    },
  };
}

const DEFAULT_PAGE = 100;
const MOST_KEYS_OF_TENANT = 100;

/**
 * An administrator of the default tenant manages all keys; those of other tenants do not exist for an administrator of
 * one tenant.
 */
function isManaged({ tenant }: KeyRecord): boolean {
  const own = currentTenant();
  return own === DEFAULT_TENANT || tenant === own;
}

function entryOf(action: 'create_key' | 'revoke_key', id: string): EntryOfChange {
  return { tenant: currentTenant(), text: auditText(currentCaller(), action, { target: id }) };
}

/** The tenant of the new key. Throws the refusal. */
function tenantOfNew({ tenant }: ParsedKey, isFirst: boolean): string {
  const own = currentTenant();
  const wanted = tenant ?? own;
  if (isFirst && wanted !== DEFAULT_TENANT) throw refusedAt('invalid_body', [FIRST_KEY_TENANT]);
  if (own === DEFAULT_TENANT || wanted === own) return wanted;
  const detail = `A key of the tenant "${own}" makes keys of its own tenant only.`;
  throw new DirectiveRefused(problem('forbidden', { detail }));
}
/** A decision is made again when an administrator has made or revoked another key meanwhile. */
const MOST_DECISIONS = 20;

const FIRST_KEY = {
  path: 'scopes',
  message: 'must hold "admin" for the first key: without one, keys could no longer be made or revoked',
};

const FIRST_KEY_TENANT = {
  path: 'tenant',
  message: `must be absent or "${DEFAULT_TENANT}" for the first key: only that tenant makes keys for all`,
};

const FIRST_KEY_LASTS = {
  path: 'expires_at',
  message: 'must be absent for the first key: after it, no other key could be made',
};

/** Whether, without this key, no caller could ever again make keys of all tenants. */
function isLastAdmin(keys: KeyTable['keys'], id: string, now: number): boolean {
  const admins = [...keys.values()].filter(isOperator);
  if (!admins.some((key) => key.id === id && !hasExpired(key, now))) return false;
  return !admins.some((key) => key.id !== id && key.expires_at === null);
}

function isOperator({ scopes, tenant }: KeyRecord): boolean {
  return tenant === DEFAULT_TENANT && scopes.includes('admin');
}

function parsedKey(body: unknown, now: number): ParsedKey {
  const parsed = readInput(createKeyBodySchema, body, 'invalid_body');
  const { expires_at: expiresAt } = parsed;
  if (expiresAt === undefined || Date.parse(expiresAt) > now) return parsed;
  throw refusedAt('invalid_body', [{ path: 'expires_at', message: 'must be in the future' }]);
}

function recordOf(
  { scopes, expires_at: expiresAt, ...rest }: ParsedKey & { tenant: string },
  { id, digest, at }: { id: string; digest: string; at: number },
): KeyRecord {
  const created = { created_at: new Date(at).toISOString(), created_by: currentCaller()?.name ?? null };
  return { id, ...rest, scopes: [...new Set(scopes)], ...created, expires_at: expiresAt ?? null, digest };
}

function full(most = MOST_KEYS, whose = ''): DirectiveRefused {
  const detail = `There are ${most} keys${whose}, and there may not be more: revoke some.`;
  return new DirectiveRefused(problem('keys_full', { detail }));
}

function changesAllTheTime(): ServiceUnavailable {
  return new ServiceUnavailable('The keys change all the time', { retryAfterMs: 1_000 });
}

function lastAdmin(id: string): DirectiveRefused {
  const detail = `${id} is the last key with the scope admin that does not expire: without it, keys could not be made or revoked.`;
  return new DirectiveRefused(problem('last_admin_key', { detail }));
}

function unknownKey(id: string): DirectiveRefused {
  return new DirectiveRefused(problem('not_found', { detail: `There is no key ${id}.` }));
}
