// The end of a directive and the turn that reads it as one write: the worker and the engine are of one process, and the run is at hand.
// Must never keep an end from being written: where the turn cannot go with it, the caller writes it alone.
import type { ComingEnd, EndedWithTurn } from '../journal/journal.ts';
import { commit, hasMoreToDo, nextTurn, type TurnParts, type WriteTurn } from './turn.ts';
import { measureTurn } from './turn-measures.ts';
import type { Turn } from './turn-record.ts';

export interface EndTaken {
  ended: EndedWithTurn;
  /** There is another turn to take. */
  again: boolean;
}

/** null: nothing was written. Rejects where Redis may have written it. */
export async function endWithTurn(
  parts: TurnParts,
  requestId: string,
  end: ComingEnd,
): Promise<EndTaken | null> {
  let isSent = false;
  try {
    const run = parts.store.withEnd(requestId, end.signal);
    // What is left to do outside the request comes before the turn.
    if (run === null || run.document === null || run.document.outbox.length > 0) return null;
    const readAt = performance.now();
    const startedAt = parts.spans.now();
    const turn: Turn = { folded: nextTurn(parts, run, []), spec: null };
    const write: WriteTurn = (written, together) => {
      isSent = true;
      return parts.store.commit(run, written, together, end);
    };
    const verdict = await commit(parts, run, turn, startedAt, write);
    const { ended: reply } = verdict;
    if (reply === undefined) return null;
    if (verdict.kind !== 'committed') return { ended: { reply, isRead: false }, again: false };
    measureTurn(parts, run, turn, readAt);
    return { ended: { reply, isRead: true }, again: verdict.more || hasMoreToDo(run, turn) };
  } catch (error) {
    if (isSent) throw error;
    return null;
  }
}
