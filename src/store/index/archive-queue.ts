// The requests that are to be archived: a superset of the closed ones that are not yet, ordered by when to do it.
// Must never be trusted: the journal says whether a request is closed, and the archive what it holds.
import { isPassing } from '../../contract/tool/server-read.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';

/** One request that a process has taken. `failedBefore`: it was tried, and could not be archived. */
export interface DueRequest {
  readonly requestId: string;
  /** Its score since it was taken: tells whether it was noted since. */
  readonly takenAs: string;
  readonly failedBefore: boolean;
  /**
   * `perhaps`: it was noted before its acceptance, or the acceptance is unknown. `once_more`: the same, and it did not
   * exist.
   */
  readonly expected: 'there' | 'perhaps' | 'once_more';
}

export interface DueRequests {
  /** Milliseconds since the epoch, by the clock of Redis. */
  readonly now: number;
  readonly entries: readonly DueRequest[];
  /** More may be due. */
  readonly more: boolean;
}

/** Notes the requests of directives and runs that end. */
export type NoteEnded = (requestIds: Iterable<string>, expected?: 'there' | 'perhaps') => Promise<void>;

export type ArchiveQueue = ReturnType<typeof createArchiveQueue>;

/** The marks in the fraction of a millisecond of the score. An eighth belongs to index-take.lua. */
const MARKS = { there: 0, failed: 0.25, perhaps: 0.5, once_more: 0.75 } as const;
/**
 * Entries that a process took and did not finish, because it died, are due again after this time: several times before
 * a request expires.
 */
const LONGEST_HOLD_MS = 120_000;
const HOLDS_IN_RETENTION = 4;

export interface ArchiveQueueOptions {
  /** From the end to the archiving, by the clock of the process that notes it. Default: 0. */
  readonly afterMs?: number | undefined;
  /** How long a request stays readable after its close, milliseconds. */
  readonly retentionMs: number;
}

export function createArchiveQueue(
  connection: RedisConnection,
  keys: KeySpace,
  { afterMs = 0, retentionMs }: ArchiveQueueOptions,
) {
  const run = prepareScripts(connection);
  const holdMs = Math.min(LONGEST_HOLD_MS, Math.round(retentionMs / HOLDS_IN_RETENTION));

  /** Called before the end is forgotten elsewhere: what rejects here is repeated by the sweeper. */
  const note: NoteEnded = async (requestIds, expected = 'there') => {
    const wanted = [...new Set(requestIds)].filter((id) => !isPassing(id));
    const at = Date.now() + afterMs + MARKS[expected];
    if (wanted.length > 0) await connection.zadd(keys.archive, ...wanted.flatMap((id) => [at, id]));
  };

  return {
    note,
    async take(limit: number): Promise<DueRequests> {
      const [now, more, ...reply] = await run('index-take', [keys.archive], [limit, holdMs, '']);
      const entries = Array.from({ length: reply.length / 3 }, (_, index) => {
        const [requestId, takenAs, mark] = reply.slice(3 * index, 3 * index + 3).map(String);
        return {
          requestId: requestId ?? '',
          takenAs: takenAs ?? '',
          failedBefore: Number(mark) === MARKS.failed,
          expected: expectedBy(Number(mark)),
        };
      });
      return { now: Number(now), entries, more: more === 1 };
    },
    /** Takes it for so much longer than requests are taken for, as it is large; at most for half of its retention. */
    async hold(entry: DueRequest, longerMs: number): Promise<DueRequest> {
      const [seconds = 0] = await connection.time();
      const until = Number(seconds) * 1_000 + Math.min(holdMs + longerMs, retentionMs / 2);
      const takenAs = String(Math.round(until));
      await run('index-put-off', [keys.archive], [entry.requestId, entry.takenAs, takenAs]);
      return { ...entry, takenAs };
    },
    async done({ requestId, takenAs }: DueRequest): Promise<void> {
      await run('archive-done', [keys.archive], [requestId, takenAs]);
    },
    /** It could not be archived, or is not there; `at`: when to try again, by the clock of Redis. */
    async putOff(
      { requestId, takenAs }: DueRequest,
      at: number,
      why: keyof typeof MARKS = 'failed',
    ): Promise<void> {
      await run('index-put-off', [keys.archive], [requestId, takenAs, Math.round(at) + MARKS[why]]);
    },
    /** A closed request stays readable for `ms` from now, unless it does so for longer. An open one has no such time, and gets none. */
    async keep(requestId: string, ms: number): Promise<void> {
      const names = keys.request(requestId);
      // @guard archive-held
      await Promise.all(names.map((name) => connection.pexpire(name, Math.max(1, Math.round(ms)), 'GT')));
    },
    async size(): Promise<number> {
      return connection.zcard(keys.archive);
    },
  };
}

function expectedBy(mark: number): DueRequest['expected'] {
  if (mark === MARKS.perhaps) return 'perhaps';
  return mark === MARKS.once_more ? 'once_more' : 'there';
}
