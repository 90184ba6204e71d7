// The effects of the end of a directive outside its request: a failed one becomes a dead letter, then the sweeper
// forgets it. Never forgets a directive before its dead letter is written: the sweeper writes a missing one.
import { INQUIRY_PATTERN } from '../../contract/identifiers.ts';
import { isPassing } from '../../contract/tool/server-read.ts';
import type { DeadLetterIndex } from './dead-letter-index.ts';
import type { SweepIndex } from './sweep-index.ts';
import type { DirectiveRef } from '../refs.ts';

export interface EndedDirective extends DirectiveRef {
  lane: string | null;
  /** null: it succeeded. */
  errorType: string | null;
}

export type EndRecorder = ReturnType<typeof createEndRecorder>;

/** A cancellation by the caller is no failure that an operator has to examine. */
const NO_DEAD_LETTER: ReadonlySet<string> = new Set(['cancelled']);

export function createEndRecorder(index: SweepIndex, dead: DeadLetterIndex) {
  async function bury({
    requestId,
    id,
    lane,
    errorType,
  }: EndedDirective & { errorType: string }): Promise<void> {
    // Who reads has its error at once, and its request is gone within a minute; an inquiry leaves the dead letter to the lost call.
    if (isPassing(requestId) || INQUIRY_PATTERN.test(id)) return;
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

  /**
   * Records the end of a directive whose task is still to be cancelled: the sweeper continues to check it, and writes a
   * missing dead letter.
   */
  function recordUnfinished(ended: EndedDirective): void {
    const { errorType } = ended;
    if (errorType === null || NO_DEAD_LETTER.has(errorType)) return;
    bury({ ...ended, errorType }).catch(() => {});
  }

  /**
   * Records the end of a directive that no worker had taken: its job may still arrive, so the sweeper checks once more.
   */
  async function recordUntaken(ended: EndedDirective & { errorType: string }, lookAt: number): Promise<void> {
    await bury(ended);
    await index.lookOnceMore(ended, lookAt);
  }

  return { record, recordUnfinished, recordUntaken, flush: () => index.flush() };
}
