// The canonical result of a directive, and how other spellings of a result are read.
// Must never let a reply of unknown shape pass as a success.
import * as z from 'zod';
import { type ErrorEnvelope, errorEnvelope, errorEnvelopeSchema, normalizeError } from './error-envelope.ts';
import { findJsonHazard } from './json/json-guard.ts';
import { isObject } from './json/json-object.ts';
import { jsonSafe } from './json/json-safe.ts';
import { wellFormed } from './json/well-formed.ts';

const effectsSchema = z.array(z.unknown());

/** Schema of the result of a directive. */
export const resultSchema = z.discriminatedUnion('ok', [
  z.object({
    ok: z.literal(true).describe('Whether the directive succeeded: it did.'),
    payload: z.unknown().describe('Result, any JSON value.'),
    effects: effectsSchema.describe("Control directives of a tool's result."),
  }),
  z.object({
    ok: z.literal(false).describe('Whether the directive succeeded: it did not.'),
    error: errorEnvelopeSchema.describe('Error that ended the directive.'),
    effects: effectsSchema.describe("Control directives of a tool's result."),
  }),
]);

/** Result of a directive: a payload or an error. */
export type Result = z.infer<typeof resultSchema>;

/**
 * Creates the result of a success.
 * @param payload Any JSON value; undefined becomes null.
 * @param effects Control directives. Default: none.
 */
export function okResult(payload: unknown, effects: unknown[] = []): Result {
  return { ok: true, payload: payload === undefined ? null : payload, effects };
}

/**
 * Creates the result of a failure.
 * @param error Error envelope.
 * @param effects Control directives. Default: none.
 */
export function errorResult(error: ErrorEnvelope, effects: unknown[] = []): Result {
  return { ok: false, error, effects };
}

/** Most levels of nesting of a result; every JSON reader on its way, ours and the callers', follows so many. */
export const DEEPEST_RESULT = 512;

/** Error for a reply that is not a result. */
export interface ResultFallback {
  /** The error type for a value of unknown shape. Default `invalid_result`. */
  type?: string;
  message?: string;
}

/** Bounds of a payload that is not plain JSON; a JSON payload passes unchanged, at any size. */
const PAYLOAD_BOUNDS = { depth: 32, entries: 10_000, characters: 1_000_000, values: 100_000 };

/** Effects read one by one when they are not plain JSON. */
const MAX_ODD_EFFECTS = 1000;

/** The result in `value`, in any accepted spelling; anything else becomes an error result that shows the value. */
export function normalizeResult(value: unknown, fallback: ResultFallback = {}): Result {
  try {
    return readTuple(value) ?? readObject(value) ?? invalidResult(value, fallback);
  } catch {
    return invalidResult(value, fallback);
  }
}

/** `["ok", payload, effects?]` and `["error", reason, effects?]`. */
function readTuple(value: unknown): Result | null {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) return null;
  const [tag, content, effects] = value as unknown[];
  if (tag === 'ok') return okResult(travelling(content), effectList(effects));
  if (tag === 'error') return errorResult(normalizeError(content), effectList(effects));
  return null;
}

/** `{ok: true, payload}` and `{ok: false, error}`, with or without `effects`. */
function readObject(value: unknown): Result | null {
  if (!isObject(value)) return null;
  const { ok, payload, error, effects } = value;
  if (ok === true && 'payload' in value) return okResult(travelling(payload), effectList(effects));
  if (ok === false && 'error' in value) return errorResult(normalizeError(error), effectList(effects));
  return null;
}

function invalidResult(value: unknown, fallback: ResultFallback): Result {
  const message = fallback.message ?? 'Invalid result envelope';
  return errorResult(errorEnvelope(fallback.type ?? 'invalid_result', message, { result: jsonSafe(value) }));
}

function effectList(effects: unknown): unknown[] {
  if (effects === undefined || effects === null) return [];
  const list: unknown[] = Array.isArray(effects) ? effects : [effects];
  return findJsonHazard(list) === null
    ? wellFormed(list)
    : Array.from(list.slice(0, MAX_ODD_EFFECTS), travelling);
}

/** The value itself, in well-formed Unicode, when it is JSON, else a bounded JSON copy. */
function travelling(value: unknown): unknown {
  return findJsonHazard(value) === null ? wellFormed(value) : jsonSafe(value, PAYLOAD_BOUNDS);
}
