// W3C trace context: reads, creates and derives `traceparent` values.
// Must never let an invalid header reach a signal.
import { randomHex } from './random-pool.ts';

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && TRACEPARENT.test(value);
}

/** A new root context, sampled. */
export function newTraceparent(): string {
  const bytes = randomHex(24);
  return `00-${bytes.slice(0, 32)}-${bytes.slice(32)}-01`;
}

/** A new span in the trace of `parent`, or a new root when `parent` is not valid. */
export function childTraceparent(parent: string | undefined): string {
  if (!isTraceparent(parent)) return newTraceparent();
  return `${parent.slice(0, 36)}${randomHex(8)}${parent.slice(52)}`;
}
