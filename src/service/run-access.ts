// Joins, over one store, what begins a run and what sends it signals: for clients, and for what the turns of runs request.
// Must never take a turn.
import { createRunNotifier } from '../agents/run-notifier.ts';
import { createRunStarter } from '../agents/run-start.ts';
import type { Spender } from '../contract/model/budget.ts';
import type { Capacity } from '../directives/capacity.ts';
import type { Store } from './store.ts';

export interface RunAccessOptions {
  /** null: a run that is under way is not refused its children. */
  capacity: Capacity | null;
  /** Option of `StoreOptions`. */
  requestBytes: number;
  /** Part of `RunStarterParts`. */
  caller?: (() => Spender | undefined) | undefined;
}

export function runAccess(
  { records, queue, catalog, limitsOf, endNotices, spans }: Store,
  options: RunAccessOptions,
) {
  const { runs, index, journal } = records;
  const notifier = createRunNotifier(runs, queue.wakeRun, index);
  const { agents } = catalog;
  return {
    starter: createRunStarter({
      runs,
      index,
      keptMs: journal.keptMs,
      cancelRun: notifier.cancel,
      agents,
      entrance: queue.entrance,
      notes: queue.notes,
      spans,
      limitsOf,
      endNotices,
      ...options,
    }),
    notifier,
  };
}
