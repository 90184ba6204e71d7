// The records of the authorization server in Redis: codes, tokens and grants by the hash of their text, each with its end.
// Must never keep a token's text, nor a token that outlives its grant: a grant that is gone ends all that it gave.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { digestOf } from '../../http/access/key-text.ts';

/** A payload of the library `oidc-provider`. */
export interface StoredPayload {
  grantId?: string;
  consumed?: unknown;
  [member: string]: unknown;
}

/** The adapter that the library asks for, one for each kind of record. */
export interface RecordAdapter {
  upsert(id: string, payload: StoredPayload, expiresInSeconds?: number): Promise<void>;
  find(id: string): Promise<StoredPayload | undefined>;
  consume(id: string): Promise<void>;
  destroy(id: string): Promise<void>;
  revokeByGrantId(grantId: string): Promise<void>;
  findByUid(uid: string): Promise<undefined>;
  findByUserCode(code: string): Promise<undefined>;
}

/** Calls in a minute: of all addresses, and of one, whose flood leaves capacity for others. */
export interface MostInMinute {
  readonly all: number;
  /** Behind a proxy that `http.trusted_proxies` does not name, all callers have one address. */
  readonly address: number;
}

export interface HostRecords {
  adapter(kind: string): RecordAdapter;
  /** Whether this is at most the `most`th call for `what` within the time, over all processes. */
  within(what: string, most: number, windowMs: number): Promise<boolean>;
  /** Whether an address may make another call for `what` in this minute, over all processes. */
  isSpare(what: string, address: string, most: MostInMinute): Promise<boolean>;
  /** The answer that renews a login is about to be sent: from now on the repeat of its refresh token counts as theft. */
  answered(refreshToken: string): Promise<void>;
  /** A registered client is kept for as long as one of its logins. */
  keepClient(clientId: string, untilAt: number): Promise<void>;
  put(kind: string, id: string, value: string, lastsMs: number): Promise<void>;
  get(kind: string, id: string): Promise<string | null>;
  /** false: it was not there any more. Of several calls one gets true. */
  remove(kind: string, id: string): Promise<boolean>;
}

/** The reason why a code or token may not be used now, for the error that the library answers. */
export class UseRefused extends Error {
  override readonly name = 'UseRefused';
  /** Whether it may be used later. */
  readonly isForNow: boolean;

  constructor(message: string, isForNow: boolean) {
    super(message);
    this.isForNow = isForNow;
  }
}

/**
 * Hosts renew one token in parallel calls, and ask again for a lost answer: for so long after the first answer a repeat is no theft.
 * Before it none is: a process may have died after it had used the token.
 */
const REPEAT_MS = 30_000;
/** How long the repeat of a used refresh token is noticed, milliseconds: the records of used ones must not add up until their login ends. */
const NOTICED_MS = 259_200_000;
/** Most renewals of one login in an hour. */
const MOST_RENEWALS = 100;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** A client that was registered and never used. */
const UNUSED_MS = HOUR_MS;
/** Above it the oldest of them are forgotten; those that are used are not among them. */
const MOST_UNUSED = 1_000;

export function createHostRecords(
  connection: RedisConnection,
  prefix: string,
  now: () => number = Date.now,
): HostRecords {
  const keyOf = (kind: string, id: string): string => `${prefix}${kind}:${digestOf(id)}`;
  const usedKey = (kind: string, id: string): string => `${keyOf(kind, id)}:used`;
  const answeredKey = (id: string): string => `${keyOf('RefreshToken', id)}:answered`;
  const unused = `${prefix}unused`;

  async function within(what: string, most: number, windowMs: number): Promise<boolean> {
    const key = `${prefix}pace:${what}`;
    const [count] = checked(await connection.multi().incr(key).pexpire(key, windowMs, 'NX').exec());
    return Number(count) <= most;
  }

  /** Clients that no login uses: a flood of registrations pushes out its own. */
  async function noteUnused(key: string): Promise<void> {
    checked(await connection.multi().zadd(unused, now(), key).pexpire(unused, UNUSED_MS).exec());
    const over = (await connection.zcard(unused)) - MOST_UNUSED;
    const members = over > 0 ? await connection.zpopmin(unused, over) : [];
    const keys = members.filter((_, index) => index % 2 === 0);
    if (keys.length > 0) await connection.unlink(...keys);
  }

  const grantOf = async (kind: string, id: string): Promise<string | undefined> => {
    const text = await connection.get(keyOf(kind, id));
    return text === null ? undefined : (JSON.parse(text) as StoredPayload).grantId;
  };

  const adapter = (kind: string): RecordAdapter => ({
    async upsert(id, payload, expiresInSeconds) {
      const key = keyOf(kind, id);
      const isClient = kind === 'Client';
      const lastsMs = isClient ? UNUSED_MS : (expiresInSeconds ?? 0) * 1_000;
      if (lastsMs <= 0) return;
      // The id is the token itself.
      const { jti: _jti, ...kept } = payload;
      await connection.set(key, JSON.stringify(kept), 'PX', lastsMs);
      if (isClient) await noteUnused(key);
    },
    async find(id) {
      const names = [keyOf(kind, id), usedKey(kind, id), answeredKey(id)];
      const [text = null, used = null, answered = null] = await connection.mget(names);
      if (text === null) return undefined;
      const payload = { ...(JSON.parse(text) as StoredPayload), ...(kind !== 'Client' && { jti: id }) };
      const isLost = answered === null || now() - Number(answered) < REPEAT_MS;
      // @guard lost-renewal
      const isRepeat = kind === 'RefreshToken' && isLost;
      return used === null || isRepeat ? payload : { ...payload, consumed: Math.floor(Number(used) / 1_000) };
    },
    async consume(id) {
      const key = keyOf(kind, id);
      const leftMs = Math.min(NOTICED_MS, Math.max(1, await connection.pttl(key)));
      // The mark outlives what it marks: a used one is never fresh again.
      const marked = connection.multi().set(usedKey(kind, id), now(), 'PX', leftMs + REPEAT_MS, 'NX');
      const [first] = checked(await marked.pexpire(key, leftMs, 'LT').exec());
      if (first === null && kind !== 'RefreshToken') throw new UseRefused('it was used already', false);
      const grant = kind === 'RefreshToken' ? await grantOf(kind, id) : undefined;
      if (grant === undefined) return;
      if (await within(`renew:${digestOf(grant)}`, MOST_RENEWALS, HOUR_MS)) return;
      throw new UseRefused('this login was renewed too often within the hour', true);
    },
    async destroy(id) {
      const isToken = kind === 'AccessToken' || kind === 'RefreshToken';
      const grant = isToken ? await grantOf(kind, id) : undefined;
      // The grant first, and all in one step: no death between leaves a token that is usable.
      const keys = [keyOf(kind, id), ...(grant === undefined ? [] : [keyOf('Grant', grant)])];
      await connection.unlink(...keys);
    },
    async revokeByGrantId(grantId) {
      await connection.unlink(keyOf('Grant', grantId));
    },
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  });

  return {
    adapter,
    within,
    async isSpare(what, address, most) {
      // Addresses are counted in 4,096 groups: a stranger may have any number of them.
      const group = digestOf(address).slice(0, 3);
      // First: a refused call of a flood is not counted for all.
      if (!(await within(`${what}:${group}`, most.address, MINUTE_MS))) return false;
      return within(what, most.all, MINUTE_MS);
    },
    async answered(refreshToken) {
      const lastsMs = NOTICED_MS + REPEAT_MS;
      await connection.set(answeredKey(refreshToken), now(), 'PX', lastsMs, 'NX');
    },
    async keepClient(clientId, untilAt) {
      const key = keyOf('Client', clientId);
      checked(await connection.multi().zrem(unused, key).pexpireat(key, untilAt, 'GT').exec());
    },
    async put(kind, id, value, lastsMs) {
      await connection.set(keyOf(kind, id), value, 'PX', lastsMs);
    },
    get: async (kind, id) => connection.get(keyOf(kind, id)),
    remove: async (kind, id) => (await connection.unlink(keyOf(kind, id))) === 1,
  };
}

function checked(results: [error: Error | null, result: unknown][] | null): unknown[] {
  for (const [error] of results ?? []) if (error !== null) throw error;
  return (results ?? []).map(([, result]) => result);
}
