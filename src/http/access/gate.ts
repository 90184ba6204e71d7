// Lets callers in: compares the key that a request brings with those of the installation.
// Must never say why a key is refused, nor do less work for one that it does not know.
import { SCOPES } from '../../contract/access/access.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import { hasExpired, type KeyRecord } from './key-records.ts';
import * as keyText from './key-text.ts';
import { looksLikeToken, type VerifiedToken, type VerifyToken } from './jwt.ts';
import type { KnownKeys } from './known-keys.ts';
import { type Principal, UNLIMITED } from './principal.ts';
import type { SessionKeys } from './sessions.ts';

export type Admission =
  /** No key is required. */
  | { readonly kind: 'open' }
  | { readonly kind: 'admitted'; readonly principal: Principal }
  /** `detail`: for a person. Default: that of the reason. */
  | { readonly kind: 'refused'; readonly reason: 'missing' | 'wrong'; readonly detail?: string };

export interface Gate {
  /** `authorization`: the header. Waits only when what is known is too old; rejects when Redis does not answer then. */
  admit(authorization: string | undefined): Admission | Promise<Admission>;
  /** Like `admit`, for routes that are open to everyone: a token is not checked, and does not count. */
  admitPublic(authorization: string | undefined): Admission | Promise<Admission>;
  /** The lookup that sessions of browsers use; they represent a key. */
  readonly sessionKeys: SessionKeys;
  /** Whether anybody may do anything, as far as is known: without waiting. */
  readonly isOpen: boolean;
}

export interface GateOptions {
  readonly known: KnownKeys;
  /** The key of the environment, which may do everything; null: none. */
  readonly adminKey: string | null;
  /** Checks the tokens of an issuer; null: there is none. */
  readonly verifyToken: VerifyToken | null;
  /** Whether a key is required even where none exists. Otherwise keys are required from the first key on. */
  readonly closed: boolean;
  /** Whether keys that all were revoked before this start no longer count. */
  readonly reopens: boolean;
  /** A key was used. Called for each request. */
  readonly onUse: (id: string) => void;
  readonly now?: () => number;
}

const OPEN: Admission = { kind: 'open' };
const MISSING: Admission = { kind: 'refused', reason: 'missing' };
const WRONG: Admission = { kind: 'refused', reason: 'wrong' };

/** The key of the environment, as it is shown. */
export const ENVIRONMENT_KEY = 'environment';

const ADMIN: Principal = {
  id: ENVIRONMENT_KEY,
  name: ENVIRONMENT_KEY,
  tenant: DEFAULT_TENANT,
  scopes: new Set(SCOPES),
  ...UNLIMITED,
};

const BEARER = /^Bearer +(?<token>[\x21-\x7E]{1,8192}) *$/i;

/** How keys are compared. */
type Comparison = Pick<typeof keyText, 'digestOf' | 'sameDigest'>;

export function createGate(options: GateOptions, { digestOf, sameDigest }: Comparison = keyText): Gate {
  const { known, adminKey, verifyToken, closed, reopens, onUse, now = Date.now } = options;
  const adminDigest = adminKey === null ? keyText.NO_DIGEST : digestOf(adminKey);
  // Once a key was needed, the last revocation does not open the doors again.
  let isClosed = closed || adminKey !== null || verifyToken !== null;

  function needsKey(): boolean {
    isClosed ||= known.size > 0 || (known.wereUsed && !reopens);
    return isClosed;
  }

  function admitKnown(authorization: string | undefined): Admission {
    if (!needsKey()) return OPEN;
    if (authorization === undefined) return MISSING;
    const token = tokenOf(authorization);
    return token === undefined ? WRONG : admitToken(token);
  }

  /** Both comparisons are made for every key, so that the time tells nothing. */
  function admitToken(token: string): Admission {
    const digest = digestOf(token);
    const record = known.find(keyText.keyIdOf(token) ?? '');
    const isKey = sameDigest(digest, record?.digest ?? keyText.NO_DIGEST);
    if (sameDigest(digest, adminDigest)) return { kind: 'admitted', principal: ADMIN };
    if (!isKey || record === undefined || hasExpired(record, now())) return WRONG;
    onUse(record.id);
    return { kind: 'admitted', principal: principalOf(record) };
  }

  function admitKey(authorization: string | undefined): Admission | Promise<Admission> {
    if (known.isFresh) return admitKnown(authorization);
    return known.refresh().then(() => admitKnown(authorization));
  }

  /** Where tokens count. Undefined: it is something else. */
  function jwtOf(authorization: string | undefined): string | undefined {
    if (verifyToken === null || authorization === undefined) return undefined;
    const token = tokenOf(authorization);
    return token !== undefined && looksLikeToken(token) ? token : undefined;
  }

  async function findForSession(id: string): ReturnType<SessionKeys['find']> {
    if (!known.isFresh) await known.refresh();
    if (!needsKey()) return 'open';
    if (id === ENVIRONMENT_KEY)
      return adminKey === null
        ? null
        : { digest: adminDigest, admission: { kind: 'admitted', principal: ADMIN }, used: () => {} };
    const record = known.find(id);
    if (record === undefined || hasExpired(record, now())) return null;
    const used = (): void => onUse(record.id);
    return { digest: record.digest, admission: { kind: 'admitted', principal: principalOf(record) }, used };
  }

  const sessionKeys: SessionKeys = {
    async admitKey(text) {
      const admission = await admitKey(`Bearer ${text}`);
      return admission.kind === 'admitted' ? admission.principal : null;
    },
    admitToken(text): Promise<VerifiedToken | null> | null {
      const token = jwtOf(`Bearer ${text}`);
      return verifyToken === null || token === undefined ? null : verifyToken(token);
    },
    find: findForSession,
    async hasKeys() {
      if (!known.isFresh) await known.refresh();
      return adminKey !== null || known.size > 0;
    },
  };

  return {
    sessionKeys,
    admit(authorization) {
      // A token needs nothing from Redis.
      const token = jwtOf(authorization);
      if (verifyToken === null || token === undefined) return admitKey(authorization);
      return verifyToken(token).then((found) =>
        found === null ? WRONG : { kind: 'admitted', principal: found.principal },
      );
    },
    admitPublic: (authorization) => (jwtOf(authorization) === undefined ? admitKey(authorization) : WRONG),
    get isOpen() {
      return !needsKey();
    },
  };
}

function tokenOf(authorization: string): string | undefined {
  return BEARER.exec(authorization)?.groups?.['token'];
}

/** A record is read anew after each change, and never altered. */
const principals = new WeakMap<KeyRecord, Principal>();

export function principalOf(record: KeyRecord): Principal {
  const known = principals.get(record);
  if (known !== undefined) return known;
  const { id, name, tenant, scopes } = record;
  // One that is limited to some tools must not reach all others by an agent.
  const others = [record.tools, record.agents, record.models].some((each) => each !== undefined) ? [] : null;
  const { tools = others, agents = others, models = others } = record;
  const { per_minute: perMinute = null, per_day: perDay = null } = record;
  const { tokens_per_day: tokensPerDay = null, money_per_day: moneyPerDay = null } = record;
  const limits = { tools, agents, models, perMinute, perDay, tokensPerDay, moneyPerDay };
  const shown = record.mcp_tools === 'search' ? { prefersSearch: true } : {};
  const principal = { id, name, tenant, scopes: new Set(scopes), ...limits, ...shown };
  principals.set(record, principal);
  return principal;
}
