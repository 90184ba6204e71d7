// The end of a directive whose request is full: what happened, in so few bytes that it always fits.
// Must never grow beyond END_BYTES of include-record.lua, whatever a server said.
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { Result } from '../../contract/result.ts';
import type { SignalMetadata } from '../../store/log/terminal-signal.ts';
import { boundError } from './result-bound.ts';

const LARGEST_ERROR_BYTES = 768;
const LONGEST_TEXT = 128;
/** In the order of their worth. */
const KEPT = ['effect', 'server', 'model', 'duration_ms', 'redeliveries', 'result_truncated_bytes'];

/** `held`: bytes of the request. A result was got, and may have changed the world: its loss is an error. */
export function smallEnd(result: Result, held: number): ErrorEnvelope {
  if (!result.ok) return boundError(result.error, LARGEST_ERROR_BYTES);
  const bytes = Buffer.byteLength(JSON.stringify(result.payload) ?? 'null');
  const message = `the call succeeded, and its result of ${bytes} bytes does not fit into its request any more`;
  const details = { bytes, limit: 'request_bytes', request_bytes: held };
  return { ...errorEnvelope('invalid_result', message, details), retryable: false };
}

export function smallMetadata(metadata: SignalMetadata): SignalMetadata {
  const isSmall = (value: unknown): boolean =>
    typeof value === 'number' || (typeof value === 'string' && value.length <= LONGEST_TEXT);
  return Object.fromEntries(
    KEPT.filter((name) => isSmall(metadata[name])).map((name) => [name, metadata[name]]),
  );
}
