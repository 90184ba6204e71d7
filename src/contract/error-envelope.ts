// The one form of an error on the wire: its schema, its vocabulary and whether a retry may help.
// Must never hold a value that is not JSON, and never throw on any input.
import * as z from 'zod';
import { isObject } from './json/json-object.ts';
import { type JsonValue, boundedText, jsonSafe } from './json/json-safe.ts';

/** Errors that tend to pass. `supervisor`: the work could not even be started. */
const RETRYABLE_TYPES: ReadonlySet<string> = new Set([
  'timeout',
  'transient',
  'transient_error',
  'rate_limited',
  'provider_error',
  'network',
  'supervisor',
]);

const NO_WORDS: ReadonlySet<string> = new Set(['', '0', 'false', 'no', 'off']);
const HINT_KEYS = ['retry', 'retryable?', 'retryable'];

/** Whether an error of this type may succeed in another attempt. */
function isRetryableType(type: unknown): boolean {
  return typeof type === 'string' && RETRYABLE_TYPES.has(type);
}

/** Explicit boolean `retryable` of an error; undefined: none. */
function explicitRetryable(error: Readonly<Record<string, unknown>>): boolean | undefined {
  for (const key of ['retryable?', 'retryable']) {
    if (typeof error[key] === 'boolean') return error[key];
  }
  return undefined;
}

/** In order: a hint in the details, the nested reason or the message read as a type, the type itself. */
function retryableByHint(type: string, message: unknown, details: unknown): boolean {
  const hint = hintOf(details) ?? hintOf(memberOf(details, 'reason'));
  if (hint !== undefined) return hint;
  return isRetryableType(reasonType(details)) || isRetryableType(message) || isRetryableType(type);
}

function reasonType(details: unknown): unknown {
  const reason = memberOf(details, 'reason');
  return typeof reason === 'string' ? reason : memberOf(reason, 'type');
}

function hintOf(details: unknown): boolean | undefined {
  for (const key of HINT_KEYS) {
    const hint = memberOf(details, key);
    if (hint !== undefined && hint !== null) return isYes(hint);
  }
  return undefined;
}

function isYes(hint: unknown): boolean {
  if (hint === false || hint === 0) return false;
  return typeof hint !== 'string' || !NO_WORDS.has(hint.trim().toLowerCase());
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** Schema of an error envelope. */
export const errorEnvelopeSchema = z.object({
  type: z.string().min(1).describe('Type of the error, such as `timeout`.'),
  message: z.string().describe('Explanation of the error for a person.'),
  details: z.record(z.string(), z.unknown()).describe('Further fields of the error, depending on its type.'),
  retryable: z.boolean().describe('Whether the same directive may succeed in another attempt.'),
});

/** Error in the one form of the contract: type, message, details and whether a retry may help. */
export type ErrorEnvelope = z.infer<typeof errorEnvelopeSchema>;

/** Every error type the service itself writes. Tools and providers may name others. */
export const ERROR_TYPES = [
  'timeout',
  'rate_limited',
  'provider_error',
  'network',
  'auth',
  'validation_error',
  'validation',
  'not_found',
  'unknown_tool',
  'unknown_model',
  'tool_error',
  'exception',
  'executor',
  'internal_error',
  'invalid_result',
  'cancelled',
  'deadline_exceeded',
  'expired',
  'outcome_unknown',
  'payload_lost',
  'policy_denied',
  'webhook_failed',
  'worker_lost',
  'llm_error',
  'execution_error',
  // For runs that end, and calls that are answered, before any work is done.
  'denied',
  'approval_expired',
  'budget_exceeded',
  'budget_spent',
  'decryption_failed',
  'decryption_key_missing',
  'duplicate_calls',
  'incomplete_response',
  'invalid_options',
  'queue_overflow',
  'request_full',
  'spawn_failed',
  'not_recorded',
  'stalled',
  'stopped',
  'strategy_error',
  'unknown_strategy',
] as const;

type Details = Record<string, unknown>;

interface Fallback {
  readonly type: string;
  readonly message: string;
  readonly extraDetails: Details;
}

/**
 * A string spelled like this counts as a type, since JSON has no atoms. This keeps the type of a foreign error, and
 * normalising a normal error changes nothing.
 */
const NAME_PATTERN = /^[a-z][a-z0-9_]{0,63}$/;
const MAX_UNWRAPS = 64;

/** An envelope that the service writes; its type alone decides whether it is retryable. */
export function errorEnvelope(type: string, message: string, details: Details = {}): ErrorEnvelope {
  return envelope(type, message, details, isRetryableType(type));
}

/** Any failure as an envelope. The first matching rule decides. */
export function normalizeError(
  reason: unknown,
  fallbackType = 'execution_error',
  fallbackMessage = 'Execution failed',
  extraDetails: Details = {},
): ErrorEnvelope {
  const fallback = { type: fallbackType, message: fallbackMessage, extraDetails };
  try {
    return fromReason(unwrapped(reason), fallback);
  } catch {
    return fromUnknown(reason, fallback);
  }
}

/** Whether another attempt could help; never for a success. Takes a result or an error in any spelling. */
export function isRetryable(resultOrError: unknown): boolean {
  try {
    return readRetryable(resultOrError);
  } catch {
    return false;
  }
}

function readRetryable(value: unknown): boolean {
  const error = Array.isArray(value) && value[0] === 'error' ? (value[1] as unknown) : value;
  if (typeof error === 'string') return isRetryableType(error);
  if (!isMap(error) || error['ok'] === true) return false;
  if (error['ok'] === false && 'error' in error) return readRetryable(error['error']);
  const explicit = explicitRetryable(error);
  const type = error['type'] ?? error['code'];
  return (
    explicit ?? retryableByHint(typeof type === 'string' ? type : '', error['message'], error['details'])
  );
}

/** Rule 8: `["error", reason]` becomes its reason, however often it was wrapped. */
function unwrapped(reason: unknown): unknown {
  let inner = reason;
  for (let unwraps = 0; unwraps < MAX_UNWRAPS; unwraps += 1) {
    if (!Array.isArray(inner) || inner.length !== 2 || inner[0] !== 'error') return inner;
    inner = inner[1];
  }
  return inner;
}

function fromReason(reason: unknown, fallback: Fallback): ErrorEnvelope {
  if (reason instanceof Error) return fromException(reason, fallback);
  if (Array.isArray(reason)) return fromTuple(reason, fallback);
  if (isMap(reason)) return fromMap(reason, fallback);
  if (typeof reason === 'string' && NAME_PATTERN.test(reason)) return fromName(reason, fallback);
  return fromUnknown(reason, fallback);
}

/** Rules 1 to 3 and 7: a map with a message. */
function fromMap(map: Details, fallback: Fallback): ErrorEnvelope {
  const message = map['message'];
  const named = typeof map['type'] === 'string' ? map['type'] : map['code'];
  if ('message' in map && typeof named === 'string') return fromTypedMap(named, map, fallback);
  if (message === undefined || message === null) return fromUnknown(map, fallback);
  const { message: _message, details: own, ...rest } = map;
  const details = { ...rest, ...detailsOf(own), ...fallback.extraDetails };
  const explicit = explicitRetryable(map);
  const retryable = explicit ?? retryableByHint(fallback.type, message, details);
  return envelope(fallback.type, messageText(message), withoutHints(details), retryable);
}

function fromTypedMap(named: string, map: Details, fallback: Fallback): ErrorEnvelope {
  const isName = NAME_PATTERN.test(named);
  const type = isName ? named : fallback.type;
  const reported = isName ? {} : { reported_type: named };
  const details = { ...reported, ...detailsOf(map['details']), ...fallback.extraDetails };
  const retryable = explicitRetryable(map) ?? retryableByHint(type, map['message'], details);
  return envelope(type, messageText(map['message']), details, retryable);
}

/** Rules 4 and 5: an exception keeps its message, its class and its own fields, never its stack. */
function fromException(error: Error, fallback: Fallback): ErrorEnvelope {
  const { name, message: _message, stack: _stack, ...fields } = Object(jsonSafe(error)) as Details;
  const named = name === 'Error' ? {} : { name };
  const details = { ...named, ...fields, ...fallback.extraDetails };
  return envelope(
    fallback.type,
    messageText(error.message || null),
    details,
    explicitRetryable(fields) ?? false,
  );
}

/** Rules 9 to 12: tuples, as arrays of two. */
function fromTuple(tuple: readonly unknown[], fallback: Fallback): ErrorEnvelope {
  const [name, value] = tuple;
  if (tuple.length !== 2 || typeof name !== 'string') return fromUnknown(tuple, fallback);
  const extra = fallback.extraDetails;
  if (name === 'unknown_tool') return envelope(name, messageText(value), extra, false);
  if (typeof value === 'string' && NAME_PATTERN.test(name)) return errorEnvelope(name, value, extra);
  if (name === 'validation') {
    return envelope(name, 'Tool validation failed', { details: value, ...extra }, false);
  }
  if (name === 'timeout' && isMap(value)) return timeoutEnvelope({ ...value, ...extra });
  return fromUnknown(tuple, fallback);
}

/** Rule 13: a bare name; `timeout` is rule 12. */
function fromName(name: string, fallback: Fallback): ErrorEnvelope {
  if (name === 'timeout') return timeoutEnvelope(fallback.extraDetails);
  const details = { reason: name, ...fallback.extraDetails };
  return envelope(fallback.type, name, details, isRetryableType(name));
}

/** Rules 6 and 14: only the value itself is known. */
function fromUnknown(reason: unknown, fallback: Fallback): ErrorEnvelope {
  const details = { reason: jsonSafe(reason), ...Object(jsonSafe(fallback.extraDetails)) } as Details;
  return envelope(fallback.type, fallback.message, details, isRetryableType(fallback.type));
}

function timeoutEnvelope(details: Details): ErrorEnvelope {
  return envelope('timeout', 'Tool execution timed out', details, true);
}

function envelope(type: string, message: string, details: Details, retryable: boolean): ErrorEnvelope {
  const safe = jsonSafe(details);
  return { type: type || 'execution_error', message: boundedText(message), details: asMap(safe), retryable };
}

function asMap(value: JsonValue): Details {
  return isObject(value) ? value : { details: value };
}

function detailsOf(details: unknown): Details {
  if (details === undefined || details === null) return {};
  return isMap(details) ? details : { details };
}

/** The envelope carries them beside the details. */
function withoutHints(details: Details): Details {
  const { retryable: _retryable, 'retryable?': _spelling, ...rest } = details;
  return rest;
}

function messageText(message: unknown): string {
  if (typeof message === 'string') return message;
  if (message === undefined || message === null) return 'Execution failed';
  return boundedText(JSON.stringify(jsonSafe(message)), 2048);
}

/** A plain object, which the rules call a map. The keys of other objects mean nothing. */
function isMap(value: unknown): value is Details {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
