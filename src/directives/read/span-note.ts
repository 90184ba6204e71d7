// Notes of spans under which others hang, in the sweep index: a process that dies before they are sent leaves them to a sweeper.
// Must never be written after the work below the spans may have begun, nor hold content.
import type { Announcement } from '../../store/request/journal.ts';
import type { SweepIndex } from '../../store/index/sweep-index.ts';
import type { SpanRecord } from '../../platform/telemetry/traces/span.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import { traceContext } from '../../platform/telemetry/traces/trace-context.ts';
import { FIRST_LOOK_MS } from '../../queue/entrance.ts';
import type { Prepared } from '../prepare.ts';

/** Begins the entry of a note; no identifier begins so. */
export const SPAN_ENTRY = '@spans/';

export interface SpanNote {
  /** The process that reports the spans; one that is on no list counts as dead at the first check. */
  by: string;
  /** Milliseconds since the epoch, by the clock of that process. */
  at: number;
  /** Context of the turn that sends; null: no run sends. */
  version: number | null;
  /** The context under which the spans of `sent` are. */
  under: string;
  sent: { id: string; lane: string; type: string }[];
  /** Those of `sent` have been sent: only what is above them is left. */
  isSent: boolean;
  /** Above them, as they would be reported. */
  spans: readonly SpanRecord[];
}

/** A note on its way: written with the announcements, gone when its spans are. */
export interface PendingNote {
  announcements: readonly Announcement[];
  /** The spans are reported, but for a POST that is still open. */
  release(): void;
  /** Nothing was accepted. */
  forget(): void;
}

export interface NotedSpans extends Pick<SpanNote, 'under'> {
  prepared: readonly Prepared[];
  version?: number;
  spans?: readonly SpanRecord[];
}

export type SpanNotes = ReturnType<typeof createSpanNotes>;

export const NO_NOTE: PendingNote = { announcements: [], release: () => {}, forget: () => {} };

export function createSpanNotes(spans: Spans, index: Pick<SweepIndex, 'announce' | 'forget'>) {
  /** `NO_NOTE`: the trace is not recorded, or nothing hangs under its spans. */
  function noteOf(
    requestId: string,
    { under, prepared, version, spans: above = [] }: NotedSpans,
  ): PendingNote {
    if (spans.under(under) === null) return NO_NOTE;
    const { spanId } = traceContext(under);
    const entered = spans.begun(spanId);
    const noted = entered === null ? above : [entered, ...above];
    const sent = sentOf(prepared);
    if (noted.length + sent.length === 0) return NO_NOTE;
    const { process: by } = spans;
    const note = { by, at: Date.now(), version: version ?? null, under, sent, isSent: false, spans: noted };
    const id = entryOf(note);
    const forget = (): void => index.forget({ requestId, id });
    const release = (): void =>
      spans.whenSent(sent.length === 0 ? spanId : null, () => {
        if (spans.begun(spanId) !== null && sent.length > 0) keepOpen(requestId, spanId, note);
        forget();
      });
    return { announcements: [{ id, afterMs: FIRST_LOOK_MS }], release, forget };
  }

  /** The POST waits for a result. Should its process die now, the spans under it are not reported again. */
  function keepOpen(requestId: string, spanId: string, { sent, ...note }: SpanNote): void {
    const ref = { requestId, id: entryOf({ ...note, sent: sent.slice(0, 1), isSent: true }) };
    index.announce([ref], FIRST_LOOK_MS).catch(() => {});
    spans.whenSent(spanId, () => index.forget(ref));
  }

  return { noteOf };
}

export const NO_NOTES: SpanNotes = { noteOf: () => NO_NOTE };

function sentOf(prepared: readonly Prepared[]): SpanNote['sent'] {
  return prepared
    .filter(({ span }) => span?.kind === 'producer')
    .map(({ acceptance: { id, lane, type } }) => ({ id, lane: lane ?? '', type }));
}

function entryOf(note: SpanNote): string {
  return `${SPAN_ENTRY}${JSON.stringify(note)}`;
}

/** null: it is not in our form. */
export function readNote(entryId: string): SpanNote | null {
  try {
    return JSON.parse(entryId.slice(SPAN_ENTRY.length)) as SpanNote;
  } catch {
    return null;
  }
}
