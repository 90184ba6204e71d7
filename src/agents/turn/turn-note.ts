// The note of a turn's spans: its own, those of what it sends, and with the last turn the run's.
// Must never say what a turn that was not written says: the sweeper checks its version.
import type { Prepared } from '../../directives/prepare.ts';
import { NO_NOTE, type PendingNote, type SpanNotes } from '../../directives/read/span-note.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import { isLastTurn, runSpan, turnSpan, type WrittenTurn } from '../run-spans.ts';
import type { EngineCore } from './transition.ts';

export interface TurnNoteParts {
  spans: Spans;
  notes: SpanNotes;
  core: EngineCore;
}

/** `under`: the context of the turn. */
export function turnNote(
  { spans, notes, core }: TurnNoteParts,
  { run, folded, startedAt }: Omit<WrittenTurn, 'endedAt'>,
  under: string,
  prepared: readonly Prepared[],
): PendingNote {
  const parent = spans.under(run.traceparent);
  if (parent === null) return NO_NOTE;
  const endedAt = spans.now();
  const turn = turnSpan(parent, { run, folded, startedAt, endedAt });
  const last = isLastTurn(run, folded)
    ? [runSpan(parent, { run, view: core.view(run.spec, folded.document), endedAt })]
    : [];
  return notes.noteOf(run.requestId, {
    under,
    prepared,
    version: run.version + 1,
    spans: [turn, ...last],
  });
}
