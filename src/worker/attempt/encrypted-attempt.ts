// An attempt of an encrypted directive: opened with a key of this worker before the call, encrypted after it. No
// content of the call leaves the attempt in clear.
import { setImmediate } from 'node:timers/promises';
import {
  callOf,
  encodedIn,
  encryptedFields,
  encryptedNote,
  mixtureOf,
  PayloadUnreadable,
} from '../../contract/encrypted/encrypted.ts';
import {
  completeDirective,
  CONTEXT_STATE,
  type Directive,
  directiveSchema,
  withoutCallersState,
} from '../../contract/directive/directive.ts';
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { fieldErrors } from '../../contract/json/field-error.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';
import { crowdedDirective } from '../../contract/directive/list-bounds.ts';
import type { FieldError } from '../../contract/problem.ts';
import { errorResult, type Result } from '../../contract/result.ts';
import { sealFor, type Seal, sealResult } from '../../platform/encryption/encrypted-result.ts';
import { isKeyOf, type PayloadKeys } from '../../platform/encryption/payload-keys.ts';
import { decryptValue } from '../../platform/encryption/payload-value.ts';
import type { Execution } from '../executors/definition.ts';
import type { Said } from '../record/pending-reports.ts';
import { boundError } from '../record/result-bound.ts';

export type Opened =
  /** `note`: for the metadata of its result. */
  | { kind: 'opened'; directive: Directive; seal: Seal; note: Metadata }
  | { kind: 'unreadable'; execution: Execution };

/**
 * The owner of the directive, and the id that its sender gave it: a redrive repeats a directive that was encrypted
 * under another id.
 */
export interface SealedPlace {
  readonly tenant: string;
  readonly id: string;
  /** The same as in `Envelope`. */
  readonly callersContext: boolean;
}

export function isEncrypted(directive: Directive): boolean {
  return encryptedFields(directive).length > 0;
}

/** An encrypted directive, opened under the id that its sender knows. */
export async function openDirective(
  keys: PayloadKeys,
  directive: Directive,
  { tenant, id: sealedAs, callersContext }: SealedPlace,
): Promise<Opened> {
  const { codec, setting } = keys;
  const fields = encryptedFields(directive);
  const keyId = fields[0]?.encoded.key_id ?? '';
  if (codec === null) return unreadable(keyMissing(keyId, setting));
  // @guard encrypted-tenant
  if (!isKeyOf(keys, tenant, keyId)) return unreadable(keyOfOthers(keyId, tenant));
  // @guard encrypted-mixture
  if (mixtureOf(directive).length > 0) return unreadable(notReadable(keyId));
  const { request_id: request, id, type } = directive;
  const names = fields.map(({ field }) => field);
  const place = { request, id: sealedAs, call: callOf(directive, names) };
  const opened: Record<string, unknown> = { ...directive };
  try {
    for (const { field, encoded } of fields)
      opened[field] = await decryptValue(codec, encoded, { ...place, field });
  } catch (error) {
    const isMissing = error instanceof PayloadUnreadable && error.reason === 'key_missing';
    return unreadable(isMissing ? keyMissing(error.keyId, setting) : notReadable(keyId));
  }
  const read = await checked(opened, names, sealFor(codec, keyId, { request, id, type }));
  return read.kind === 'opened' && callersContext ? withoutState(read) : read;
}

/** The content that could not be read at the acceptance is checked now; a fault is disclosed to its sender only. */
async function checked(
  opened: Record<string, unknown>,
  fields: readonly string[],
  seal: Seal,
): Promise<Opened> {
  // Each step reads all of it, and others have their turn between two.
  await setImmediate();
  const hazards = fields.flatMap((field) => hazardsOf(field, opened[field]));
  const crowded = crowdedDirective(opened);
  if (crowded) hazards.push(crowded);
  if (hazards.length > 0) return invalid(hazards, seal);
  await setImmediate();
  const parsed = directiveSchema.safeParse(opened);
  if (parsed.success) return { kind: 'opened', directive: parsed.data, seal, note: {} };
  return invalid(fieldErrors(parsed.error), seal);
}

/** Tools take `state` for the runtime's. Only the sender can read that it was removed. */
function withoutState(read: Extract<Opened, { kind: 'opened' }>): Opened {
  const { id, request_id } = read.directive;
  const without = withoutCallersState(read.directive);
  if (without === read.directive) return read;
  return {
    ...read,
    directive: completeDirective(without, { id, request_id }),
    note: { ignored: [CONTEXT_STATE] },
  };
}

function hazardsOf(field: string, value: unknown): FieldError[] {
  const hazard = findJsonHazard(value);
  if (hazard !== null) return [{ ...hazard, path: `${field}${hazard.path === '' ? '' : `.${hazard.path}`}` }];
  return encodedIn(value) === null ? [] : [{ path: field, message: 'is encrypted twice' }];
}

async function invalid(errors: readonly FieldError[], seal: Seal): Promise<Opened> {
  const error = errorEnvelope('validation_error', 'The decrypted directive is not valid', { errors });
  return {
    kind: 'unreadable',
    execution: await sealExecution(seal, { result: errorResult(error), unsent: true }),
  };
}

function unreadable(error: ErrorEnvelope): Opened {
  return { kind: 'unreadable', execution: { result: errorResult(error), unsent: true } };
}

function notReadable(keyId: string): ErrorEnvelope {
  const message = `The directive cannot be decrypted with the key "${keyId}": it was changed, or encrypted for another one, or the client has another key under this name`;
  return errorEnvelope('decryption_failed', message, { key_id: keyId });
}

function keyMissing(keyId: string, setting: string): ErrorEnvelope {
  const message = `The directive is encrypted with the key "${keyId}", which this worker does not have`;
  const fix = `add the key to the variable that ${setting} names, in the environment of every worker`;
  return errorEnvelope('decryption_key_missing', message, { key_id: keyId, setting, fix });
}

function keyOfOthers(keyId: string, tenant: string): ErrorEnvelope {
  const setting = 'encryption.tenants';
  const message = `The directive is encrypted with the key "${keyId}", which is no key of the tenant "${tenant}"`;
  const fix = `use a key of the tenant, or name this one under ${setting} in the configuration of every worker`;
  return errorEnvelope('decryption_key_missing', message, { key_id: keyId, setting, fix });
}

type Metadata = Record<string, unknown>;

/** Small enough that what is cut of an error is cut before it is encrypted. */
const LARGEST_ERROR_BYTES = 8_192;

/** The members that the service itself adds beside a result, none of them from the call. */
const OPEN_OF_TOOLS: ReadonlySet<string> = new Set(['server', 'tool']);
const OPEN_OF_MODELS: ReadonlySet<string> = new Set([
  'model',
  'provider',
  'requested_model',
  'requested_alias',
  'fallbacks',
  'budget',
  'scripted',
  'finish_reason',
  'repaired',
  'cost',
  'usage_so_far',
]);

/** The same execution, of which only its sender can read more than how it went. */
export async function sealExecution(seal: Seal, execution: Execution): Promise<Execution> {
  const { asks, content: _content, result, rejected = [], metadata = {}, ...rest } = execution;
  const note = encryptedNote(seal.keyId);
  const open = openMetadata(seal.type, metadata);
  const secret = Object.fromEntries(
    Object.entries(metadata).filter(([name]) => open[name] !== metadata[name]),
  );
  const beside = {
    ...(execution.content === undefined ? {} : { content: execution.content }),
    ...(Object.keys(secret).length === 0 ? {} : { metadata: secret }),
  };
  return {
    ...rest,
    result: await sealResult(seal, bounded(asks === undefined ? result : cannotAsk()), beside),
    content: note,
    rejected: rejected.map((each) => ({ ...each, type: null, message: note })),
    metadata: open,
  };
}

function openMetadata(type: string, metadata: Metadata): Metadata {
  const names = type === 'tool_exec' ? OPEN_OF_TOOLS : OPEN_OF_MODELS;
  const { sampling } = metadata;
  return {
    ...Object.fromEntries(Object.entries(metadata).filter(([name]) => names.has(name))),
    ...(sampling === undefined ? {} : { sampling: withoutReason(sampling) }),
  };
}

/** Why no model answered may be in a provider's words. */
function withoutReason(sampling: unknown): Metadata {
  const { refusal: _refusal, ...counts } = Object(sampling) as Metadata;
  return counts;
}

function bounded(result: Result): Result {
  return result.ok ? result : { ...result, error: boundError(result.error, LARGEST_ERROR_BYTES) };
}

/** An answer would need the question in the journal, which must not hold content of the call. */
function cannotAsk(): Result {
  const message = 'The tool asks a person, which an encrypted call does not allow';
  return errorResult(errorEnvelope('executor', message));
}

/** Encrypts a signal of a running attempt. */
export async function sealSaid(seal: Seal, said: Said): Promise<Said> {
  const data = said.data as Readonly<Record<string, unknown>>;
  const { delta, message, metadata, arguments_digest: digest } = data;
  if (said.type === 'ai.llm.raw') {
    const text = await seal(data['text'], 'text');
    return { type: said.type, data: { ...data, text } as unknown as Said['data'] };
  }
  const sealed = {
    ...data,
    ...(delta === undefined ? {} : { delta: await seal(delta, 'delta') }),
    ...(typeof digest === 'string' ? { arguments_digest: await seal.digest(digest, 'arguments') } : {}),
    ...(message === undefined
      ? {}
      : {
          message: encryptedNote(seal.keyId),
          metadata: { ...Object(metadata), message: await seal(message, 'message') },
        }),
  };
  return { type: said.type, data: sealed as unknown as Said['data'] };
}
