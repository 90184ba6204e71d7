// The index of dead letters: which directives ended in an error, by when.
// Must never hold the directives themselves; the journal does, until their retention is over.
import { DEFAULT_TENANT, tenantOf } from '../../contract/access/tenant.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import type { DirectiveRef } from '../refs.ts';

/** An entry with what a filter needs, so that filtering reads no journal. */
export interface DeadEntry extends DirectiveRef {
  lane: string | null;
  errorType: string;
  /** Milliseconds since the epoch, by the clock of Redis. */
  endedAt: number;
}

/** A place in the list: behind the entry of this instant and name. */
export type DeadPlace = Pick<DeadEntry, 'endedAt' | 'requestId' | 'id'>;

export interface DeadPage {
  readonly entries: readonly DeadEntry[];
  /** Nothing lies beyond it. */
  readonly isLast: boolean;
}

export type DeadLetterIndex = ReturnType<typeof createDeadLetterIndex>;

/** Entries that one script drops, so that it does not block Redis. */
const MOST_DROPPED = 1_000;
/** The newest that are listed; older ones are still in their requests. */
const MOST_LISTED = 100_000;
const LONGEST_TYPE = 128;

/** Identifiers hold no '/', lanes no tab; a tool may name any type of error. */
function memberOf({ requestId, id, lane, errorType }: Omit<DeadEntry, 'endedAt'>): string {
  const type = errorType.slice(0, LONGEST_TYPE).replaceAll(/[\t\n]/g, ' ');
  return [`${requestId}/${id}`, lane ?? '', type].join('\t');
}

function entryOf(member: string, endedAt: number): DeadEntry {
  const [name = '', lane = '', errorType = ''] = member.split('\t');
  const slash = name.indexOf('/');
  return {
    requestId: name.slice(0, slash),
    id: name.slice(slash + 1),
    lane: lane || null,
    errorType,
    endedAt,
  };
}

/** `reply`: of a range with scores. */
function entriesIn(reply: readonly string[]): DeadEntry[] {
  const entries: DeadEntry[] = [];
  for (let index = 0; index < reply.length; index += 2)
    entries.push(entryOf(reply[index] ?? '', Number(reply[index + 1])));
  return entries;
}

/** Entries of one instant are in the order of their names, as in Redis. */
function isBeyond(entry: DeadPlace, from: DeadPlace, order: 'oldest' | 'newest'): boolean {
  if (entry.endedAt !== from.endedAt) return true;
  const [name, passed] = [entry, from].map(({ requestId, id }) => `${requestId}/${id}`) as [string, string];
  return order === 'oldest' ? name > passed : name < passed;
}

/** A tenant without dead letters is forgotten this long after its last one, so that none is being listed meanwhile. */
const KNOWN_FOR_MS = 60_000;

export function createDeadLetterIndex(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);

  async function tenants(): Promise<readonly string[]> {
    return [DEFAULT_TENANT, ...(await connection.zrange(keys.deadTenants, '0', '-1'))];
  }

  const sizeOf = (tenant: string): Promise<number> => connection.zcard(keys.dead(tenant));

  async function expireOf(tenant: string, retentionMs: number): Promise<void> {
    let dropped = MOST_DROPPED;
    while (dropped === MOST_DROPPED) {
      const [count] = await run('dead-expire', [keys.dead(tenant)], [retentionMs, MOST_DROPPED]);
      dropped = Number(count);
    }
    if (tenant === DEFAULT_TENANT || (await sizeOf(tenant)) > 0) return;
    const listedAt = Number((await connection.zscore(keys.deadTenants, tenant)) ?? 0);
    if (listedAt < Date.now() - KNOWN_FOR_MS) await connection.zrem(keys.deadTenants, tenant);
  }

  return {
    /** Those that may have dead letters. */
    tenants,
    /** Lists it as of now, by the clock of Redis; one that is listed already keeps its instant. */
    async add(entry: Omit<DeadEntry, 'endedAt'>): Promise<void> {
      const tenant = tenantOf(entry.requestId);
      // First: of a tenant that nobody knows, nothing would be dropped.
      if (tenant !== DEFAULT_TENANT) await connection.zadd(keys.deadTenants, String(Date.now()), tenant);
      await run('dead-add', [keys.dead(tenant)], [memberOf(entry), MOST_LISTED]);
    },
    async remove(entry: Omit<DeadEntry, 'endedAt'>): Promise<boolean> {
      return (await connection.zrem(keys.dead(tenantOf(entry.requestId)), memberOf(entry))) === 1;
    },
    /** Entries of a tenant beyond a place, at most `limit`; null: from the beginning. */
    async page(
      tenant: string,
      order: 'oldest' | 'newest',
      from: DeadPlace | null,
      limit: number,
    ): Promise<DeadPage> {
      const first = from?.endedAt ?? (order === 'oldest' ? '-inf' : '+inf');
      for (let offset = 0; ; offset += limit) {
        const place = ['WITHSCORES', 'LIMIT', offset, limit] as const;
        const reply =
          order === 'oldest'
            ? await connection.zrangebyscore(keys.dead(tenant), first, '+inf', ...place)
            : await connection.zrevrangebyscore(keys.dead(tenant), first, '-inf', ...place);
        const entries = entriesIn(reply);
        const isLast = entries.length < limit;
        const beyond = entries.filter((entry) => from === null || isBeyond(entry, from, order));
        if (beyond.length > 0 || isLast) return { entries: beyond, isLast };
      }
    },
    /** Drops entries whose directives are no longer readable, by the clock of Redis. */
    async expire(retentionMs: (tenant: string) => number): Promise<void> {
      for (const tenant of await tenants()) await expireOf(tenant, retentionMs(tenant));
    },
    /** Number of the tenant's entries. Default: of all tenants. */
    async size(tenant?: string): Promise<number> {
      if (tenant !== undefined) return sizeOf(tenant);
      const sizes = await Promise.all((await tenants()).map(sizeOf));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
  };
}
