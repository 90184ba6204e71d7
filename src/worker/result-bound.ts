// Keeps results within a size that the log, its readers and a model can bear.
// Must never cut a result without saying so in the result itself.
import { errorEnvelope } from '../contract/error-envelope.ts';
import { errorResult, type Result } from '../contract/result.ts';

export interface ResultBound {
  /** The largest payload, bytes of its JSON. */
  bytes: number;
  /** What becomes of a larger one: a preview with a mark, or an error. */
  overflow: 'truncate' | 'refuse';
}

const PREVIEW_CHARACTERS = 4_096;

/** What was cut: its size in bytes, and all of it as JSON. */
export interface Truncated {
  bytes: number;
  json: string;
}

/** A result whose payload fits. `reference`: where the whole of it can be had. */
export function boundResult(
  result: Result,
  { bytes, overflow }: ResultBound,
  reference: string,
): { result: Result; truncated: Truncated | null } {
  if (!result.ok) return { result, truncated: null };
  const json = JSON.stringify(result.payload) ?? 'null';
  // A character is at least one byte and at most three: most results are decided by their length alone.
  if (json.length * 3 <= bytes) return { result, truncated: null };
  const size = Buffer.byteLength(json);
  if (size <= bytes) return { result, truncated: null };
  if (overflow === 'refuse') return { result: tooLarge(size, bytes), truncated: null };
  const payload = {
    truncated: true,
    bytes: size,
    limit_bytes: bytes,
    reference,
    preview: json.slice(0, PREVIEW_CHARACTERS),
  };
  return { result: { ...result, payload }, truncated: { bytes: size, json } };
}

function tooLarge(size: number, bytes: number): Result {
  const message = `the result has ${size} bytes, the limit is ${bytes}`;
  return errorResult(errorEnvelope('invalid_result', message, { bytes: size, limit_bytes: bytes }));
}
