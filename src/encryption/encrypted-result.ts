// What ends an encrypted directive, encrypted with its key: by the worker that writes it, and back by who has the key.
// Must never leave in clear what a tool or a model said, nor change what decides how the directive goes on.
import {
  type EncodedPayload,
  encodedIn,
  encryptedNote,
  type PayloadCodec,
  type PayloadPlace,
} from '../contract/encrypted.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { isObject } from '../contract/json-object.ts';
import type { Result } from '../contract/result.ts';
import { decryptValue, type EncryptedForm, encryptValue } from './payload-value.ts';

type Members = Record<string, unknown>;

/** Encrypts for the places of one directive, with the key of its arguments. */
export interface Seal {
  readonly keyId: string;
  (value: unknown, field: string): Promise<EncryptedForm>;
}

export function sealFor(
  codec: PayloadCodec,
  keyId: string,
  { request, id }: Omit<PayloadPlace, 'field'>,
): Seal {
  const seal = async (value: unknown, field: string): Promise<EncryptedForm> =>
    encryptValue(codec, value, { request, id, field }, keyId);
  return Object.assign(seal, { keyId });
}

export const RESULT_FIELD = 'result';
const ERROR_FIELD = 'error';

/** Of an answer, what everybody may know: how long it took and what it cost. */
const OPEN_MEMBERS = ['usage', 'duration_ms', 'finish_reason', 'model'];
/** Of an error, what decides whether and when there is another attempt. */
const OPEN_DETAILS = ['retry_after_ms', 'outcome', 'limited_by', 'not_retried'];

/** `beside`: what goes with the payload, and is as secret. */
export async function sealResult(seal: Seal, result: Result, beside: Members): Promise<Result> {
  if (!result.ok) return { ...result, error: await sealError(seal, result.error), effects: [] };
  const { payload, effects } = result;
  const form = await seal({ ...beside, payload, effects }, RESULT_FIELD);
  return { ok: true, payload: { ...picked(payload, OPEN_MEMBERS), ...form }, effects: [] };
}

async function sealError(
  seal: Seal,
  { type, message, details, retryable }: ErrorEnvelope,
): Promise<ErrorEnvelope> {
  const form = await seal({ message, details }, ERROR_FIELD);
  const open = picked(details, OPEN_DETAILS);
  return { type, message: encryptedNote(seal.keyId), details: { ...open, ...form }, retryable };
}

function picked(value: unknown, names: readonly string[]): Members {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
}

/** What was sealed with a result, and the result in clear. `beside`: empty where the result is not encrypted. */
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
  const { message, details } = value;
  return {
    ...error,
    message: String(message),
    details: { ...Object(details), ...picked(error.details, OPEN_DETAILS) },
  };
}

/** Opens the places of one directive. */
export function openerFor(codec: PayloadCodec, { request, id }: Omit<PayloadPlace, 'field'>) {
  return async (encoded: EncodedPayload, field: string): Promise<unknown> =>
    decryptValue(codec, encoded, { request, id, field });
}
