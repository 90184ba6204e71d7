// Notes requests for the list again where whoever changed them may have died, one that waits on no more than now and then.
// Must never keep back the note of what may be new: only that of a repeated look at what still waits.
import { type DirectiveRecord, dueFrom } from '../journal/records.ts';
import { SHORTEST_LOOK_MS, type SweepDecision } from './sweep-decision.ts';

/** A request with many that wait is noted this often by one process, not at each look at one of them: its row is read from all of it. */
const REPEAT_MS = 60_000;
/** Beyond it they are noted again. */
const MOST_KNOWN = 10_000;

export type RepeatNote = (
  requestId: string,
  record: DirectiveRecord,
  seen: { kind: SweepDecision['kind']; now: number },
) => void;

/** `clock`: milliseconds. Default: the process' own. */
export function createRepeatedNotes(
  note: (requestId: string) => void,
  clock = () => performance.now(),
): RepeatNote {
  const notedAt = new Map<string, number>();
  return (requestId, record, { kind, now }) => {
    const at = clock();
    if (waitsOn(record, kind, now) && at - (notedAt.get(requestId) ?? -Infinity) < REPEAT_MS) return;
    if (notedAt.size >= MOST_KNOWN) notedAt.clear();
    notedAt.set(requestId, at);
    note(requestId);
  };
}

/** It has been looked at before, and nothing becomes of it now. */
function waitsOn(record: DirectiveRecord, kind: SweepDecision['kind'], now: number): boolean {
  return (kind === 'enqueue' || kind === 'look_again') && now - dueFrom(record) > 2 * SHORTEST_LOOK_MS;
}
