// Goes through the dead letters that match a filter, oldest first.
// Must never hold more of them than one page.
import type { DeadLetterFilter } from '../../contract/directive/dead-letter.ts';
import type { DeadEntry, DeadLetterIndex } from '../../store/index/dead-letter-index.ts';

const SCAN = 200;

/**
 * Matching entries of the tenant from position `offset`, with the position after each. `removed`: how many of the entries seen
 * so far have left the list, so that those behind them have moved up.
 */
export async function* scan(
  { dead, tenant }: { dead: DeadLetterIndex; tenant: string },
  filter: DeadLetterFilter,
  offset: number,
  removed: () => number = () => 0,
): AsyncGenerator<{ entry: DeadEntry; next: number }> {
  for (let seen = offset; ; seen += SCAN) {
    const position = seen - removed();
    const entries = await dead.page(tenant, position, SCAN);
    for (const [index, entry] of entries.entries()) {
      if (matches(entry, filter)) yield { entry, next: position + index + 1 };
    }
    if (entries.length < SCAN) return;
  }
}

function matches(entry: DeadEntry, { lane, error_type, since, until }: DeadLetterFilter): boolean {
  return (
    (lane === undefined || entry.lane === lane) &&
    (error_type === undefined || entry.errorType === error_type) &&
    (since === undefined || entry.endedAt >= Date.parse(since)) &&
    (until === undefined || entry.endedAt < Date.parse(until))
  );
}
