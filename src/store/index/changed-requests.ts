// The requests that have changed and whose rows of the search index are still to be written.
// Must never hold up who changes a request: what no script notes with its change is gathered, and the sweeper makes a lost note again.
import { isPassing } from '../../contract/tool/server-read.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';

export type ChangedRequests = ReturnType<typeof createChangedRequests>;

/** The entries that an indexer has taken. */
export interface TakenChanges {
  /** Their score since then. */
  heldUntil: string;
  changes: { requestId: string }[];
}

const FLUSH_DELAY_MS = 20;
const FLUSH_BATCH = 256;
/** After Redis has refused some. */
const RETRY_DELAY_MS = 1_000;
/** While Redis refuses them; the sweeper notes those above it, as it does those of a process that died. */
const MOST_GATHERED = 50_000;
/** Changes of a request within this time are indexed once, milliseconds. */
export const INDEX_DELAY_MS = 400;
/** Entries that a process took and did not finish, because it died, are due again after this time. */
const HOLD_MS = 10_000;
/** A change that was noted before it was made has been made by then. */
const AHEAD_MS = 5_000;
/** Indexers are never so far behind, milliseconds. */
const OVERDUE_MS = 60_000;

export interface ChangedRequestsOptions {
  /** false: there is no list, and nothing is noted for it. Default: true. */
  readonly isListed?: boolean | undefined;
}

export function createChangedRequests(
  connection: RedisConnection,
  keys: KeySpace,
  { isListed = true }: ChangedRequestsOptions = {},
) {
  const run = prepareScripts(connection);
  const key = keys.changedRequests;
  const taking = [key, keys.takenChanges];
  let gathered = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let isRefused = false;

  /** For a script that notes the request with its change: how long after it the row is due, milliseconds; null: it is not listed. */
  const rowAfterMs = (requestId: string): number | null =>
    isListed && !isPassing(requestId) ? INDEX_DELAY_MS : null;

  /**
   * Notes a change that would not be noted again, and that is made in another slot: `note` follows it. Never rejects.
   */
  async function noteAhead(requestId: string): Promise<void> {
    if (rowAfterMs(requestId) !== null) await noteAll([requestId], AHEAD_MS).catch(() => {});
  }

  /** Returns at once; see `flush`. */
  function note(requestId: string): void {
    if (rowAfterMs(requestId) === null || gathered.size >= MOST_GATHERED) return;
    gathered.add(requestId);
    if (gathered.size >= FLUSH_BATCH && !isRefused) void flush().catch(() => {});
    else flushLater();
  }

  function flushLater(): void {
    const delayMs = isRefused ? RETRY_DELAY_MS : FLUSH_DELAY_MS;
    timer ??= setTimeout(() => void flush().catch(() => {}), delayMs).unref();
  }

  /** Writes what was noted, and resolves when Redis has it. */
  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const ids = [...gathered];
    gathered = new Set();
    if (ids.length === 0) return;
    try {
      await noteAll(ids);
      isRefused = false;
    } catch (error) {
      putBack(ids);
      throw error;
    }
  }

  /** Redis has not taken them; on a connection that is closed it never will. */
  function putBack(ids: readonly string[]): void {
    isRefused = true;
    if (connection.status === 'end') return;
    for (const id of ids.slice(0, MOST_GATHERED - gathered.size)) gathered.add(id);
    flushLater();
  }

  /** Rejects when Redis does not take it. */
  async function noteAll(requestIds: readonly string[], afterMs = INDEX_DELAY_MS): Promise<void> {
    for (let first = 0; first < requestIds.length; first += FLUSH_BATCH)
      await run('change-note', [key], [afterMs, ...requestIds.slice(first, first + FLUSH_BATCH)]);
  }

  async function take(limit: number): Promise<TakenChanges> {
    const [heldUntil, ...due] = (await run('change-take', taking, [limit, HOLD_MS])).map(String);
    return { heldUntil: String(heldUntil), changes: due.map((requestId) => ({ requestId })) };
  }

  /** Those that have changed meanwhile stay. */
  async function done(heldUntil: string, requestIds: readonly string[]): Promise<void> {
    if (requestIds.length > 0) await run('change-done', taking, [heldUntil, INDEX_DELAY_MS, ...requestIds]);
  }

  /** How old the oldest change is that no row shows, what an indexer is about to write among it, milliseconds. */
  async function lagMs(now: number): Promise<number> {
    const [[, dueAt], [, takenDueAt]] = await Promise.all([
      connection.zrange(key, '0', '0', 'WITHSCORES'),
      connection.zrange(keys.takenChanges, '0', '0', 'WITHSCORES'),
    ]);
    const oldest = Math.min(Number(dueAt ?? Infinity), Number(takenDueAt ?? Infinity));
    return oldest === Infinity ? 0 : Math.max(0, Math.round(now - (oldest - INDEX_DELAY_MS)));
  }

  /** Drops entries that were not indexed for so long that they never will be: the list is turned off. */
  async function dropOverdue(): Promise<void> {
    const [seconds = 0] = await connection.time();
    for (const set of taking)
      await connection.zremrangebyscore(set, '-inf', Number(seconds) * 1_000 - OVERDUE_MS);
  }

  const size = (): Promise<number> => connection.zcard(key);

  return { isListed, rowAfterMs, note, noteAhead, flush, noteAll, take, done, lagMs, size, dropOverdue };
}
