// Writes the rows of requests that have changed: takes them, reads each from the journal, writes, forgets the change.
// Must never forget a change before its row is written.
import { asError, createLoop, type Startable } from '../lifecycle.ts';
import type { ChangedRequests } from '../journal/changed-requests.ts';
import type { ReadFacts } from './request-facts.ts';
import type { ReadSmall } from './small-requests.ts';
import { type IndexRow, type RequestFacts, rowOf } from './row.ts';
import type { SearchIndex } from './search-index.ts';

export interface IndexerParts {
  changes: Pick<ChangedRequests, 'take' | 'done'>;
  index: Pick<SearchIndex, 'write' | 'trim'>;
  /** Those that it knows are not read by `readFacts`. */
  readSmall: ReadSmall;
  readFacts: ReadFacts;
  onError: (error: Error) => void;
}

/** Time between two looks at what has changed, milliseconds. */
const LOOK_EVERY_MS = 250;
const TAKEN_AT_ONCE = 100;
/** How often the rows of forgotten requests are dropped, milliseconds. */
const TRIM_EVERY_MS = 5_000;
/** How long a stop waits for what is being written, milliseconds: another process does it again. */
const LONGEST_STOP_MS = 1_000;

export type Indexer = Startable & { indexDue(): Promise<number> };

export function createIndexer({ changes, index, readSmall, readFacts, onError }: IndexerParts): Indexer {
  let trimAt = 0;

  /** Returns how many were due. */
  async function indexDue(): Promise<number> {
    const taken = await changes.take(TAKEN_AT_ONCE);
    const ids = taken.changes.map(({ requestId }) => requestId);
    if (ids.length === 0) return 0;
    const read = await readAll(ids);
    const rows = read.flatMap(({ row }) => row ?? []);
    await index.write(
      rows,
      read.flatMap(({ gone }) => gone ?? []),
    );
    await changes.done(
      taken.heldUntil,
      read.flatMap(({ failed, requestId }) => (failed ? [] : [requestId])),
    );
    return ids.length;
  }

  async function readAll(ids: readonly string[]): Promise<ReadOne[]> {
    const small = await readSmall(ids).catch((error: unknown) => {
      onError(asError(error));
      return [];
    });
    return Promise.all(ids.map((requestId, at) => readOne(requestId, small[at] ?? null)));
  }

  /** One that cannot be read comes again, and holds up no other. */
  async function readOne(requestId: string, small: RequestFacts | null): Promise<ReadOne> {
    try {
      const facts = small ?? (await readFacts(requestId));
      return facts === null ? { requestId, gone: requestId } : { requestId, row: rowOf(facts) };
    } catch (error) {
      onError(asError(error));
      return { requestId, failed: true };
    }
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

interface ReadOne {
  requestId: string;
  row?: IndexRow;
  /** There is no such request any more. */
  gone?: string;
  failed?: true;
}
