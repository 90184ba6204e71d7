// W3C trace context: reads, creates and derives `traceparent` values.
// Must never let an invalid header reach a signal.
import { randomHex } from '../random-pool.ts';

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && TRACEPARENT.test(value);
}

/** The parts of a valid traceparent. */
export interface TraceContext {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

export function traceContext(traceparent: string): TraceContext {
  const isSampled = (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1;
  return { traceId: traceIdOf(traceparent), spanId: traceparent.slice(36, 52), isSampled };
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

/**
 * A new trace, of a process that records no spans. It is not decided yet whether it is recorded; its span id says so: it
 * mirrors the trace id, and no span has it.
 */
export function newTraceparent(traceId: string = randomHex(16)): string {
  return `00-${traceId}-${undecidedSpanId(traceId)}-01`;
}

export function isUndecided({ traceId, spanId }: TraceContext): boolean {
  return spanId === undecidedSpanId(traceId);
}

const NO_SPAN = '0'.repeat(16);

/** The second half of the trace id, its bytes from the last to the first. */
function undecidedSpanId(traceId: string): string {
  let mirrored = '';
  for (let end = 32; end > 16; end -= 2) mirrored += traceId.slice(end - 2, end);
  return mirrored === NO_SPAN ? '1'.padStart(16, '0') : mirrored;
}

/** A new span in the trace of `parent`, or a new root when `parent` is not valid. */
export function childTraceparent(parent: string | undefined): string {
  if (!isTraceparent(parent)) return newTraceparent();
  return `${parent.slice(0, 36)}${randomHex(8)}${parent.slice(52)}`;
}
