// Archives one request: reads it, compresses it into a file, and stores that under the name that follows from it.
// Must never store what was read of an open request, nor of one that changed meanwhile.
import type { DueRequest } from '../../store/index/archive-queue.ts';
import type { RequestRecord } from '../../store/request/records.ts';
import type { ArchiveStore } from './archive-store.ts';
import { closedOnOrAfter, folderOf, versionName } from './object-name.ts';
import { RecordChanged, recordLines, type RecordSource } from './record-lines.ts';
import { withSpooled } from './spool.ts';
import type { TimeLimit } from './time-limit.ts';

export interface ArchiveParts {
  readonly source: RecordSource;
  readonly store: ArchiveStore;
  /** How long after its close a request may be kept that cannot be archived, milliseconds. */
  readonly longestMs: (requestId: string) => number;
  /** For reading one request, and for storing it, which takes longer as it is larger: then the next one has its turn. */
  readonly inTime: TimeLimit;
}

/**
 * `over`: nothing is to be archived now. `lost`: the request is gone, and the archive does not hold it. `missing`: it is not there yet,
 * as what ends when it is accepted is noted before.
 */
export type ArchiveVerdict = 'stored' | 'present' | 'over' | 'lost' | 'missing';

/** Time limit of `inTime`. */
export const LONGEST_MS = 100_000;
/** Less is part of the time for which a process has taken a request anyhow. */
const LONG_MS = 10_000;

/** Drafts that may never have been accepted. */
// @guard archive-early-note
const NOT_THERE = { perhaps: 'missing', once_more: 'over' } as const;

/** Rejects when it is not known whether it is stored. */
export async function archiveRequest(
  parts: ArchiveParts,
  due: DueRequest,
  stop: AbortSignal,
  hold: HoldLonger,
): Promise<ArchiveVerdict> {
  const what = `${parts.store.place}, with ${folderOf(due.requestId)},`;
  return parts.inTime(what, async (limit, moved) => {
    const takesLonger: HoldLonger = async (longerMs) => {
      moved(longerMs);
      if (longerMs > LONG_MS) await hold(longerMs);
    };
    return archived(parts, due, AbortSignal.any([stop, limit]), takesLonger);
  });
}

/** So that no other process takes it meanwhile. */
export type HoldLonger = (longerMs: number) => Promise<void>;

async function archived(
  parts: ArchiveParts,
  { requestId, expected }: DueRequest,
  signal: AbortSignal,
  takesLonger: HoldLonger,
): Promise<ArchiveVerdict> {
  const { source, store } = parts;
  const found = await source.journal.requestInPieces(requestId);
  if (found === null) return expected === 'there' ? gone(parts, requestId) : NOT_THERE[expected];
  const { record, directives } = found;
  const { createdAt, closedAt, sequence } = record;
  // Its next end notes it again.
  if (record.status !== 'closed' || closedAt === null) return 'over';
  const lines = recordLines(source, { requestId, record, closedAt, directives });
  const name = versionName({ createdAt, closedAt, sequence });
  try {
    return await withSpooled(store.spoolFolder, lines, signal, async (spooled) => {
      await takesLonger(store.longerMs(spooled.bytes));
      return store.put(folderOf(requestId), name, spooled, signal);
    });
  } catch (error) {
    if (error instanceof RecordChanged) return changed(parts, requestId, record, error);
    throw error;
  }
}

/** One that died after it had stored the request did not remove its note. */
async function gone({ store, longestMs }: ArchiveParts, requestId: string): Promise<ArchiveVerdict> {
  const name = await store.newestName(folderOf(requestId));
  // A version from long before is that of an earlier use of the id.
  const isStored = name !== null && closedOnOrAfter(name, Date.now() - longestMs(requestId));
  return isStored ? 'over' : 'lost';
}

/** Why it could not be read as it was. */
async function changed(
  parts: ArchiveParts,
  requestId: string,
  was: RequestRecord,
  error: RecordChanged,
): Promise<ArchiveVerdict> {
  const is = await parts.source.journal.head(requestId);
  if (is === null) return gone(parts, requestId);
  if (is.createdAt !== was.createdAt) return 'lost';
  // A part of it is missing: it is about to expire, or damaged. Or it got a score meanwhile, and is read again.
  if (is.status === 'closed' && is.closedAt === was.closedAt) throw error;
  // Its next end notes it again.
  return 'over';
}
