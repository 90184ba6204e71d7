// What follows the end of a directive outside its request: a failed one becomes a dead letter, then the sweeper forgets it.
// Must never forget before the dead letter is written: what is not forgotten is settled by the sweeper.
import type { DeadLetterIndex } from './dead-letter-index.ts';
import type { DirectiveRef, SweepIndex } from './sweep-index.ts';

export interface EndedDirective extends DirectiveRef {
  lane: string | null;
  /** null: it succeeded. */
  errorType: string | null;
}

export type EndRecorder = ReturnType<typeof createEndRecorder>;

/** A caller's own wish is no failure to look into. */
const NO_DEAD_LETTER: ReadonlySet<string> = new Set(['cancelled']);

export function createEndRecorder(index: SweepIndex, dead: DeadLetterIndex) {
  async function bury({
    requestId,
    id,
    lane,
    errorType,
  }: EndedDirective & { errorType: string }): Promise<void> {
    await dead.add({ requestId, id, lane, errorType });
  }

  /** Returns at once; an error leaves the entry to the sweeper. */
  function record(ended: EndedDirective): void {
    const { errorType } = ended;
    if (errorType === null || NO_DEAD_LETTER.has(errorType)) index.forget(ended);
    else
      bury({ ...ended, errorType })
        .then(() => index.forget(ended))
        .catch(() => {});
  }

  /** Of a directive that nobody had taken: its ring may still be on its way, so that the sweeper looks once more. */
  async function recordUntaken(ended: EndedDirective & { errorType: string }, lookAt: number): Promise<void> {
    await bury(ended);
    await index.lookOnceMore(ended, lookAt);
  }

  return { record, recordUntaken, flush: () => index.flush() };
}
