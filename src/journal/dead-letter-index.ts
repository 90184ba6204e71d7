// The index of dead letters: which directives ended in an error, by when.
// Must never hold the directives themselves; the journal does, until their retention is over.
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';
import { prepareScripts } from './scripts.ts';
import type { DirectiveRef } from './sweep-index.ts';

/** An entry with what a filter needs, so that filtering reads no journal. */
export interface DeadEntry extends DirectiveRef {
  lane: string | null;
  errorType: string;
  /** Milliseconds since the epoch, by the clock of Redis. */
  endedAt: number;
}

export type DeadLetterIndex = ReturnType<typeof createDeadLetterIndex>;

/** Entries that one script drops, so that it holds nobody up. */
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

export function createDeadLetterIndex(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);
  return {
    /** Lists it as of now, by the clock of Redis; one that is listed already keeps its instant. */
    async add(entry: Omit<DeadEntry, 'endedAt'>): Promise<void> {
      await run('dead-add', [keys.dead], [memberOf(entry), MOST_LISTED]);
    },
    async remove(entry: Omit<DeadEntry, 'endedAt'>): Promise<boolean> {
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
    /** Drops entries whose directives are no longer readable, by the clock of Redis. */
    async expire(retentionMs: number): Promise<void> {
      let dropped = MOST_DROPPED;
      while (dropped === MOST_DROPPED) {
        const [count] = await run('dead-expire', [keys.dead], [retentionMs, MOST_DROPPED]);
        dropped = Number(count);
      }
    },
    size: (): Promise<number> => connection.zcard(keys.dead),
  };
}
