// Writes the rows of requests that have changed: takes them, reads each from the journal, writes, forgets the change.
// Must never forget a change before its row is written.
import { createLoop, type Startable } from '../../platform/lifecycle.ts';
import type { ChangedRequests } from '../index/changed-requests.ts';
import type { RowReader } from './row-reader.ts';
import type { SearchIndex } from './search-index.ts';

export interface IndexerParts {
  changes: Pick<ChangedRequests, 'take' | 'done'>;
  index: Pick<SearchIndex, 'write' | 'trim'>;
  read: RowReader;
  onError: (error: Error) => void;
}

/** Time between two reads of the changes, milliseconds. */
const LOOK_EVERY_MS = 250;
const TAKEN_AT_ONCE = 100;
/** How often the rows of forgotten requests are dropped, milliseconds. */
const TRIM_EVERY_MS = 5_000;
/** How long a stop waits for what is being written, milliseconds: another process does it again. */
const LONGEST_STOP_MS = 1_000;

export type Indexer = Startable & { indexDue(): Promise<number> };

export function createIndexer({ changes, index, read, onError }: IndexerParts): Indexer {
  let trimAt = 0;

  /** Returns how many were due. */
  async function indexDue(): Promise<number> {
    const taken = await changes.take(TAKEN_AT_ONCE);
    const ids = taken.changes.map(({ requestId }) => requestId);
    if (ids.length === 0) return 0;
    const { rows, gone, failed } = await read(ids);
    await index.write(rows, gone);
    const unread = new Set(failed);
    await changes.done(
      taken.heldUntil,
      ids.filter((requestId) => !unread.has(requestId)),
    );
    return ids.length;
  }

  async function look(): Promise<void> {
    while ((await indexDue()) === TAKEN_AT_ONCE && !loop.stopping.aborted);
    if (performance.now() < trimAt) return;
    trimAt = performance.now() + TRIM_EVERY_MS;
    await index.trim();
  }

  const loop = createLoop({
    name: 'search index',
    work: look,
    everyMs: LOOK_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return { ...loop, indexDue };
}
