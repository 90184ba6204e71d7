// Goes through the dead letters that match a filter, oldest first.
// Must never hold more of them than one page.
import type { DeadLetterFilter } from '../contract/dead-letter.ts';
import type { DeadEntry, DeadLetterIndex } from '../journal/dead-letter-index.ts';

const SCAN = 200;

/** Matching entries from position `offset`, with the position after each. */
export async function* scan(
  dead: DeadLetterIndex,
  filter: DeadLetterFilter,
  offset: number,
): AsyncGenerator<{ entry: DeadEntry; next: number }> {
  for (let position = offset; ; position += SCAN) {
    const entries = await dead.page(position, SCAN);
    for (const [index, entry] of entries.entries()) {
      if (matches(entry, filter)) yield { entry, next: position + index + 1 };
    }
    if (entries.length < SCAN) return;
  }
}

function matches(entry: DeadEntry, { lane, error_type }: DeadLetterFilter): boolean {
  return (
    (lane === undefined || entry.lane === lane) &&
    (error_type === undefined || entry.errorType === error_type)
  );
}
