// The index of dead letters: which directives ended in an error, by when.
// Must never hold the directives themselves; the journal does, until their retention is over.
import type { RedisConnection } from '../redis.ts';
import type { KeySpace } from './keys.ts';
import type { DirectiveRef } from './sweep-index.ts';

/** An entry with what a filter needs, so that filtering reads no journal. */
export interface DeadEntry extends DirectiveRef {
  lane: string | null;
  errorType: string;
  /** Milliseconds since the epoch. */
  endedAt: number;
}

export type DeadLetterIndex = ReturnType<typeof createDeadLetterIndex>;

/** Identifiers hold no '/', lanes no tab; a tool may name any type of error. */
function memberOf({ requestId, id, lane, errorType }: Omit<DeadEntry, 'endedAt'>): string {
  return [`${requestId}/${id}`, lane ?? '', errorType.replaceAll(/[\t\n]/g, ' ')].join('\t');
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

export function createDeadLetterIndex(connection: RedisConnection, keys: KeySpace) {
  return {
    async add(entry: DeadEntry): Promise<void> {
      await connection.zadd(keys.dead, entry.endedAt, memberOf(entry));
    },
    async remove(entry: DeadEntry): Promise<boolean> {
      return (await connection.zrem(keys.dead, memberOf(entry))) === 1;
    },
    /** Entries from position `offset`, oldest first. */
    async page(offset: number, limit: number): Promise<DeadEntry[]> {
      const reply = await connection.zrange(
        keys.dead,
        String(offset),
        String(offset + limit - 1),
        'WITHSCORES',
      );
      const entries: DeadEntry[] = [];
      for (let index = 0; index < reply.length; index += 2) {
        entries.push(entryOf(reply[index] ?? '', Number(reply[index + 1])));
      }
      return entries;
    },
    /** Drops entries whose directives are no longer readable. */
    async expire(before: number): Promise<void> {
      await connection.zremrangebyscore(keys.dead, '-inf', `(${before}`);
    },
    size: (): Promise<number> => connection.zcard(keys.dead),
  };
}
