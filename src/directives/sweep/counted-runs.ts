// Removes ended runs from the index that counts them: an engine that dies as it ends one, or notes its turn after
// another engine has ended it, leaves it there. Never removes a run that continues.
import type { RunActivityIndex } from '../../store/run/run-activity-index.ts';
import type { RunJournal } from '../../store/run/run-journal.ts';

export interface CountedRunsParts {
  runs: Pick<RunJournal, 'head'>;
  /** Default: runs are not counted. */
  activity?: Pick<RunActivityIndex, 'note' | 'listed'>;
}

/** Checks some of the listed runs, others each time. */
export function createCountedRuns({ runs, activity }: CountedRunsParts): () => Promise<void> {
  return async () => {
    const listed = (await activity?.listed()) ?? [];
    const heads = await Promise.all(listed.map((requestId) => runs.head(requestId)));
    for (const [at, requestId] of listed.entries())
      // @guard counted-live
      if (heads[at]?.ended !== false) activity?.note(requestId, null);
  };
}
