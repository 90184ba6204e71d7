// Keeps results within a size and a depth that the log, its readers and a model can bear.
// Must never cut a result without saying so in the result itself.
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { boundedText, jsonSafe } from '../../contract/json/json-safe.ts';
import { DEEPEST_RESULT, errorResult, type Result } from '../../contract/result.ts';
import { isDeeperThan } from '../../contract/json/json-guard.ts';
import type { Execution } from '../executors/definition.ts';

export interface ResultBound {
  /** The largest payload, bytes of its JSON. */
  bytes: number;
  /** The treatment of a larger result: a preview with a mark, or an error. */
  overflow: 'truncate' | 'refuse';
}

const PREVIEW_CHARACTERS = 4_096;

/** The result that was cut: its size in bytes, and all of it as JSON. */
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
  if (!result.ok) return { result: { ...result, error: boundError(result.error, bytes) }, truncated: null };
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

/** Tried one after the other; the last one fits into anything that is configured. */
const ERROR_BOUNDS = [
  { characters: 4_096, entries: 50, values: 500 },
  { characters: 128, entries: 10, values: 20 },
];
const LONGEST_MESSAGE = 1_024;
/** Details that decide what happens next. */
const DECISIVE = ['retry_after_ms', 'outcome'];

/** An error whose JSON fits into `bytes`; `details.truncated_bytes` is the size of one that was cut. */
export function boundError(error: ErrorEnvelope, bytes: number): ErrorEnvelope {
  const size = sizeOf(error);
  if (size <= bytes) return error;
  const kept = Object.fromEntries(Object.entries(error.details).filter(isDecisive));
  for (const bounds of ERROR_BOUNDS) {
    const details = { ...(jsonSafe(error.details, bounds) as object), ...kept, truncated_bytes: size };
    const cut = { ...error, message: boundedText(error.message, LONGEST_MESSAGE), details };
    if (sizeOf(cut) <= bytes) return cut;
  }
  const { type, retryable } = error;
  const message = boundedText(error.message, 128);
  return { type, message, retryable, details: { ...kept, truncated_bytes: size } };
}

function isDecisive([name, value]: [string, unknown]): boolean {
  return DECISIVE.includes(name) && (typeof value === 'number' || value === 'unknown');
}

function sizeOf(error: ErrorEnvelope): number {
  const json = JSON.stringify(error);
  return json.length * 3 <= 1_024 ? json.length : Buffer.byteLength(json);
}

function tooLarge(size: number, bytes: number): Result {
  const message = `the result has ${size} bytes, the limit is ${bytes}`;
  return errorResult(errorEnvelope('invalid_result', message, { bytes: size, limit_bytes: bytes }));
}

/** The execution as it is, or with an `invalid_result` in place of a result that no log can hold. */
export function recordable(execution: Execution): Execution {
  const { result, metadata, usage } = execution;
  if (isDeeperThan(result, DEEPEST_RESULT) || isDeeperThan(usage, DEEPEST_RESULT))
    return unrecordable(`it is nested deeper than ${DEEPEST_RESULT} levels`);
  if (!isDeeperThan(metadata, DEEPEST_RESULT)) return execution;
  const { metadata: _tooDeep, ...rest } = execution;
  return rest;
}

/** The end of an attempt whose answer came and cannot be recorded: a repeat would bring the same. */
export function unrecordable(reason: string): Execution {
  const message = `The result cannot be recorded: ${reason}`;
  return { result: errorResult(errorEnvelope('invalid_result', message)) };
}
