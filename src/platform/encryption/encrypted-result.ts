// The end of an encrypted directive, encrypted with its key: by the worker that writes it, and opened by the holder of
// the key. Never leaves text of a tool or a model in clear, nor changes what decides about the directive.
import {
  ANSWERED,
  type EncodedPayload,
  encodedIn,
  encryptedNote,
  type PayloadCodec,
  type PayloadPlace,
} from '../../contract/encrypted/encrypted.ts';
import { ERROR_TYPES, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { FINISH_REASONS } from '../../contract/model/finish-reason.ts';
import { isObject, ownMember } from '../../contract/json/json-object.ts';
import type { Result } from '../../contract/result.ts';
import { usageSchema } from '../../contract/model/usage.ts';
import { decryptValue, type EncryptedForm, encryptValue } from './payload-value.ts';

type Members = Record<string, unknown>;

/** Encrypts the answers of one directive, with the key of its arguments. */
export interface Seal {
  readonly keyId: string;
  /** Type of the directive. */
  readonly type: string;
  (value: unknown, field: string): Promise<EncryptedForm>;
  /** A digest that confirms no guess of the text to readers without the key. */
  digest(text: string, field: string): Promise<string>;
}

export function sealFor(
  codec: PayloadCodec,
  keyId: string,
  { request, id, type }: Pick<PayloadPlace, 'request' | 'id'> & { readonly type: string },
): Seal {
  const placeOf = (field: string): PayloadPlace => ({ request, id, field, call: ANSWERED });
  const seal = async (value: unknown, field: string): Promise<EncryptedForm> =>
    encryptValue(codec, value, placeOf(field), keyId);
  const digest = async (text: string, field: string): Promise<string> =>
    codec.digest(new TextEncoder().encode(text), placeOf(field), keyId);
  return Object.assign(seal, { keyId, type, digest });
}

export const RESULT_FIELD = 'result';
const ERROR_FIELD = 'error';

const usageCounts = usageSchema.partial();

/** Public members of a model's answer: duration and cost. A tool's answer has none: all of it is the tool's own. */
function openMembers(type: string, payload: unknown): Members {
  if (!type.startsWith('llm_') || !isObject(payload)) return {};
  const usage = usageCounts.safeParse(payload['usage']);
  const { duration_ms, finish_reason } = payload;
  return {
    ...(usage.success ? { usage: usage.data } : {}),
    ...(typeof duration_ms === 'number' ? { duration_ms } : {}),
    ...((FINISH_REASONS as readonly unknown[]).includes(finish_reason) ? { finish_reason } : {}),
  };
}

/** Public details of an error: those that decide whether and when another attempt follows. */
function openDetails(type: string, { retry_after_ms: wait, limited_by: by, outcome }: Members): Members {
  return {
    ...(typeof wait === 'number' ? { retry_after_ms: wait } : {}),
    ...(outcome === 'unknown' ? { outcome } : {}),
    ...(by === 'configuration' && type.startsWith('llm_') ? { limited_by: by } : {}),
  };
}

/** Public type of an error: a type of a tool or provider is as secret as its message. */
function openType(type: string): string {
  return (ERROR_TYPES as readonly string[]).includes(type) ? type : 'tool_error';
}

/** Messages of these types for readers without the key, the same for every directive. */
const OPEN_NOTES: Readonly<Record<string, string>> = {
  unknown_tool: 'its server has no tool of the name, which is in clear in the directive',
  unknown_model: 'its model is not known by the name, which is in clear in the directive',
  validation_error: 'what was encrypted does not fit the schema of the tool',
  timeout: 'no answer came in time',
};

function noteOf(keyId: string, type: string): string {
  const more = ownMember(OPEN_NOTES, type);
  return `${encryptedNote(keyId)}${more === undefined ? '' : `; ${more}`}`;
}

/** Details of an error that the service adds after it was sealed. */
const ADDED_DETAILS = [
  'retry_after_ms',
  'outcome',
  'limited_by',
  'not_retried',
  'delay_ms',
  'pauses',
  'paused_ms',
];

/** `beside`: what goes with the payload, and is as secret. */
export async function sealResult(seal: Seal, result: Result, beside: Members): Promise<Result> {
  if (!result.ok) return { ...result, error: await sealError(seal, result.error), effects: [] };
  const { payload, effects } = result;
  const form = await seal({ ...beside, payload, effects }, RESULT_FIELD);
  return { ok: true, payload: { ...form, ...openMembers(seal.type, payload) }, effects: [] };
}

export async function sealError(
  seal: Seal,
  { type, message, details, retryable }: ErrorEnvelope,
): Promise<ErrorEnvelope> {
  const form = await seal({ type, message, details }, ERROR_FIELD);
  const open = openDetails(seal.type, details);
  const note = noteOf(seal.keyId, type);
  return { type: openType(type), message: note, details: { ...open, ...form }, retryable };
}

function picked(value: unknown, names: readonly string[]): Members {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
}

/** The decrypted result, and the values sealed with it. `beside`: empty where the result is not encrypted. */
export async function openResult(
  open: (encoded: EncodedPayload, field: string) => Promise<unknown>,
  result: Result,
): Promise<{ result: Result; beside: Members }> {
  if (!result.ok) return { result: { ...result, error: await openError(open, result.error) }, beside: {} };
  const encoded = encodedIn(result.payload);
  if (encoded === null) return { result, beside: {} };
  const value = await open(encoded, RESULT_FIELD);
  if (!isObject(value)) return { result, beside: {} };
  const { payload, effects, ...beside } = value;
  return { result: { ok: true, payload, effects: Array.isArray(effects) ? effects : [] }, beside };
}

export async function openError(
  open: (encoded: EncodedPayload, field: string) => Promise<unknown>,
  error: ErrorEnvelope,
): Promise<ErrorEnvelope> {
  const encoded = encodedIn(error.details);
  if (encoded === null) return error;
  const value = await open(encoded, ERROR_FIELD);
  if (!isObject(value)) return error;
  const { type, message, details } = value;
  return {
    ...error,
    type: isAsSealed(error.type, type) ? type : error.type,
    message: String(message),
    details: { ...Object(details), ...picked(error.details, ADDED_DETAILS) },
  };
}

/** The service may have made another one of it since, as `outcome_unknown`. */
function isAsSealed(type: string, sealed: unknown): sealed is string {
  return typeof sealed === 'string' && sealed !== '' && openType(sealed) === type;
}

/** Opens the answers of one directive. */
export function openerFor(codec: PayloadCodec, { request, id }: Pick<PayloadPlace, 'request' | 'id'>) {
  return async (encoded: EncodedPayload, field: string): Promise<unknown> =>
    decryptValue(codec, encoded, { request, id, field, call: ANSWERED });
}
