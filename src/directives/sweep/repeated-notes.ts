// Notes requests for the list again where the process that changed them may have died. Only the note of a repeated
// check of waiting work is thinned out, never one that may be new.
import { type DirectiveRecord, dueFrom } from '../../store/request/records.ts';
import { SHORTEST_LOOK_MS, type SweepDecision } from './sweep-decision.ts';

/** A request with many that wait is noted this often by one process, not at each check of one of them: its row is read from all of it. */
const REPEAT_MS = 60_000;
/** Beyond it they are noted again. */
const MOST_KNOWN = 10_000;

export type RepeatNote = (
  requestId: string,
  record: DirectiveRecord,
  seen: { kind: SweepDecision['kind']; now: number },
) => void;

export interface RepeatedNotesOptions {
  /** Whether the list has the request as it is: then a repeated check notes nothing. Default: unknown. */
  readonly isListed?: ((requestId: string) => Promise<boolean>) | undefined;
  /** Milliseconds. Default: the process' own clock. */
  readonly clock?: () => number;
}

export function createRepeatedNotes(
  note: (requestId: string) => void,
  { isListed, clock = () => performance.now() }: RepeatedNotesOptions = {},
): RepeatNote {
  const notedAt = new Map<string, number>();

  async function noteUnlessListed(requestId: string): Promise<void> {
    if (!(await isListed?.(requestId).catch(() => false))) note(requestId);
  }

  return (requestId, record, { kind, now }) => {
    const at = clock();
    const isRepeated = waitsOn(record, kind, now);
    if (isRepeated && at - (notedAt.get(requestId) ?? -Infinity) < REPEAT_MS) return;
    if (notedAt.size >= MOST_KNOWN) notedAt.clear();
    notedAt.set(requestId, at);
    if (isRepeated && isListed) void noteUnlessListed(requestId);
    else note(requestId);
  };
}

/** It has been looked at before, and nothing becomes of it now. */
function waitsOn(record: DirectiveRecord, kind: SweepDecision['kind'], now: number): boolean {
  return (kind === 'enqueue' || kind === 'look_again') && now - dueFrom(record) > 2 * SHORTEST_LOOK_MS;
}
