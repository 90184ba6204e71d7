// Reads requests from the journal as rows of the list: many small ones at once, the others one by one.
// Must never let one that cannot be read hold up the others.
import { asError } from '../../platform/lifecycle.ts';
import type { ReadFacts } from './request-facts.ts';
import { type IndexRow, type RequestFacts, rowOf } from './row.ts';
import type { ReadSmall } from './small-requests.ts';

export interface RowReaderParts {
  /** Those that it knows are not read by `readFacts`. */
  readSmall: ReadSmall;
  readFacts: ReadFacts;
  /** Part of `rowOf`. Default: 0. */
  listedMs?: number | undefined;
  onError: (error: Error) => void;
}

export interface ReadRows {
  rows: IndexRow[];
  /** There are no such requests any more. */
  gone: string[];
  /** They could not be read. */
  failed: string[];
}

export type RowReader = (requestIds: readonly string[]) => Promise<ReadRows>;

export function createRowReader({ readSmall, readFacts, listedMs, onError }: RowReaderParts): RowReader {
  async function readOne(requestId: string, small: RequestFacts | null, into: ReadRows): Promise<void> {
    try {
      const facts = small ?? (await readFacts(requestId));
      if (facts === null) into.gone.push(requestId);
      else into.rows.push(rowOf(facts, listedMs));
    } catch (error) {
      onError(asError(error));
      into.failed.push(requestId);
    }
  }

  return async (requestIds) => {
    const small = await readSmall(requestIds).catch((error: unknown) => {
      onError(asError(error));
      return [];
    });
    const read: ReadRows = { rows: [], gone: [], failed: [] };
    await Promise.all(requestIds.map((requestId, at) => readOne(requestId, small[at] ?? null, read)));
    return read;
  };
}
