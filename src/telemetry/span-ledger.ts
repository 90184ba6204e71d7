// Which spans have begun and are not reported yet, and what waits until the reported ones were sent or given up.
// Must never keep a begun span for ever: nobody promises to report it.
import type { SpanRecord } from './span.ts';

interface Begun {
  readonly span: SpanRecord;
  /** What waits for its report. */
  readonly waiting: (() => void)[];
}

export interface SpanLedger {
  begin(span: SpanRecord): void;
  begun(spanId: string | null): SpanRecord | null;
  /** Before `span` is handed to the export. */
  reported(span: SpanRecord): void;
  /** So many have been sent, or are lost. */
  gone(count: number): void;
  /** `done` follows what was reported until now, and the begun span `spanId`. */
  whenSent(spanId: string | null, done: () => void): void;
}

/** A request that is answered later than this many others is not noted any longer. */
const MOST_BEGUN = 10_000;

export function createSpanLedger(): SpanLedger {
  const begun = new Map<string, Begun>();
  const waiting: { after: number; done: () => void }[] = [];
  let [reported, gone] = [0, 0];

  function wait(done: () => void): void {
    if (gone >= reported) done();
    else waiting.push({ after: reported, done });
  }

  return {
    begin(span) {
      begun.set(span.place.spanId, { span, waiting: [] });
      if (begun.size > MOST_BEGUN) begun.delete(begun.keys().next().value ?? '');
    },
    begun: (spanId) => begun.get(spanId ?? '')?.span ?? null,
    reported({ place: { spanId } }) {
      reported += 1;
      const entry = begun.get(spanId);
      if (entry === undefined) return;
      begun.delete(spanId);
      for (const done of entry.waiting) wait(done);
    },
    gone(count) {
      gone += count;
      const still = waiting.findIndex(({ after }) => after > gone);
      for (const { done } of waiting.splice(0, still === -1 ? waiting.length : still)) done();
    },
    whenSent(spanId, done) {
      const entry = begun.get(spanId ?? '');
      if (entry === undefined) wait(done);
      else entry.waiting.push(done);
    },
  };
}
