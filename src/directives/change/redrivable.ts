// The dead letters that a redrive would execute: those with a record, and not redriven already. Never changes anything.
import type { DeadEntry } from '../../store/index/dead-letter-index.ts';
import type { Journal } from '../../store/request/journal.ts';
import { successorId } from './successor-id.ts';

export type Redrivable = (entries: readonly DeadEntry[]) => Promise<DeadEntry[]>;

const AT_ONCE = 50;

export function createRedrivable(journal: Pick<Journal, 'directive'>): Redrivable {
  async function isRedrivable({ requestId, id }: DeadEntry): Promise<boolean> {
    const [record, successor] = await Promise.all([
      journal.directive(requestId, id),
      journal.directive(requestId, successorId(id)),
    ]);
    return record !== null && successor === null;
  }

  return async (entries) => {
    const found: DeadEntry[] = [];
    for (let first = 0; first < entries.length; first += AT_ONCE) {
      const some = entries.slice(first, first + AT_ONCE);
      const answers = await Promise.all(some.map(isRedrivable));
      found.push(...some.filter((_, at) => answers[at]));
    }
    return found;
  };
}
