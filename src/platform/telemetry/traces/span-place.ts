// Places of spans in a trace. Ids are derived from what a span is about, so that any process can name a span of another.
// Must never read a clock or draw a random number.
import { hash } from 'node:crypto';
import type { SpanPlace } from './span.ts';

/** Parent of a span: its trace, and the span above it. */
export interface SpanParent {
  readonly traceId: string;
  /** null: there is none, the span is the first of its trace. */
  readonly spanId: string | null;
}

/** The same parts give the same id, in every process and at every repeat. */
export function derivedSpanId(traceId: string, ...parts: readonly (string | number)[]): string {
  const id = hash('sha256', `${traceId}/${parts.join('/')}`, 'hex').slice(0, 16);
  return id === NO_SPAN ? `${NO_SPAN.slice(1)}1` : id;
}

/** The same parts give the same trace, in every process and at every repeat. */
export function derivedTraceId(...parts: readonly (string | number)[]): string {
  return `${hash('sha256', JSON.stringify(parts), 'hex').slice(0, 31)}1`;
}

const NO_SPAN = '0'.repeat(16);

export function placeUnder(
  { traceId, spanId }: SpanParent,
  ...parts: readonly (string | number)[]
): SpanPlace {
  return { traceId, spanId: derivedSpanId(traceId, spanId ?? '', ...parts), parentId: spanId };
}

/** The context that what is called from this span continues. */
export function traceparentOf({ traceId, spanId }: Pick<SpanPlace, 'traceId' | 'spanId'>): string {
  return `00-${traceId}-${spanId}-01`;
}
