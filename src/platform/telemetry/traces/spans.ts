// The seam of tracing: what the rest of the service asks, and the answer where nothing is traced.
// Must never throw, wait, or cost anything where tracing is off.
import type { ContentLimit } from './content.ts';
import type { SpanParent } from './span-place.ts';
import type { SpanRecord, SpanRole } from './span.ts';

export interface Spans {
  /** The context with the decision whether its trace is recorded, where it is not decided yet. */
  decided(traceparent: string): string;
  /** Parent of spans in this context; null: none are made. */
  under(traceparent: string): SpanParent | null;
  report(span: SpanRecord): void;
  /** A span that is reported later, while others may be under it. */
  begin(span: SpanRecord): void;
  /** The begun span of this id; null: this process has none. */
  begun(spanId: string | null): SpanRecord | null;
  /** Calls `done` when what was reported until now, and the begun span `spanId`, was sent or given up. */
  whenSent(spanId: string | null, done: () => void): void;
  /** The name of the process among those who are there; '': it is on no list. */
  readonly process: string;
  /** Milliseconds since the epoch, with fractions. */
  now(): number;
  /** Whether spans show prompts, arguments and results. */
  readonly content: ContentLimit;
}

/** The same spans, reported as those of `role`. */
export function spansOfRole(spans: Spans, role: SpanRole): Spans {
  return {
    ...spans,
    report: (span) => spans.report({ role, ...span }),
    begin: (span) => spans.begin({ role, ...span }),
  };
}

export const NO_SPANS: Spans = {
  decided: (traceparent) => traceparent,
  under: () => null,
  report: () => {},
  begin: () => {},
  begun: () => null,
  whenSent: () => {},
  process: '',
  now: () => 0,
  content: { bytes: 0 },
};
