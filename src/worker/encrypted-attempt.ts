// What an attempt of an encrypted directive reads and says: opened with a key of this worker before the call, sealed after it.
// Must never let anything of the call leave the attempt in clear.
import {
  encodedIn,
  encryptedFields,
  encryptedNote,
  type PayloadCodec,
  PayloadUnreadable,
} from '../contract/encrypted.ts';
import { directiveSchema, type Directive } from '../contract/directive.ts';
import { errorEnvelope, type ErrorEnvelope } from '../contract/error-envelope.ts';
import { fieldErrors } from '../contract/field-error.ts';
import { findJsonHazard } from '../contract/json-guard.ts';
import { isObject } from '../contract/json-object.ts';
import { errorResult, type Result } from '../contract/result.ts';
import { sealFor, type Seal, sealResult } from '../encryption/encrypted-result.ts';
import { decryptValue } from '../encryption/payload-value.ts';
import type { Execution } from '../executors/definition.ts';
import type { Envelope } from '../journal/envelope.ts';
import type { Said } from './pending-reports.ts';
import { boundError } from './result-bound.ts';

/** The keys of this worker. */
export interface WorkerKeys {
  /** null: it has none. */
  readonly codec: PayloadCodec | null;
  /** Where they come from, for who has to set them. */
  readonly setting: string;
}

export const NO_KEYS: WorkerKeys = { codec: null, setting: 'encryption.keys_env' };

export type Opened =
  | { kind: 'opened'; directive: Directive; seal: Seal }
  | { kind: 'unreadable'; execution: Execution };

/** Another directive of the request, as it was accepted; null: there is none. */
export type ReadEnvelope = (id: string) => Promise<Envelope | null>;

export function isEncrypted(directive: Directive): boolean {
  return encryptedFields(directive).length > 0;
}

/** Of an encrypted directive, under the id that its sender knows. */
export async function openDirective(
  { codec, setting }: WorkerKeys,
  directive: Directive,
  read: ReadEnvelope,
): Promise<Opened> {
  const fields = encryptedFields(directive);
  const keyId = fields[0]?.encoded.key_id ?? '';
  if (codec === null) return unreadable(keyMissing(keyId, setting));
  const place = { request: directive.request_id, id: await firstId(directive, read) };
  const opened: Record<string, unknown> = { ...directive };
  try {
    for (const { field, encoded } of fields) {
      opened[field] = await decryptValue(codec, encoded, { ...place, field });
      if (findJsonHazard(opened[field]) !== null || encodedIn(opened[field]) !== null)
        throw new PayloadUnreadable('damaged', keyId, { ...place, field });
    }
  } catch (error) {
    return unreadable(faultOf(error, keyId, setting));
  }
  const { request_id: request, id } = directive;
  return checked(opened, sealFor(codec, keyId, { request, id }));
}

/** What was not seen at the acceptance is checked now; what is wrong with it only its sender may know. */
async function checked(opened: unknown, seal: Seal): Promise<Opened> {
  const parsed = directiveSchema.safeParse(opened);
  if (parsed.success) return { kind: 'opened', directive: parsed.data, seal };
  const details = { errors: fieldErrors(parsed.error) };
  const error = errorEnvelope('validation_error', 'The decrypted directive is not valid', details);
  return {
    kind: 'unreadable',
    execution: await sealExecution(seal, { result: errorResult(error), unsent: true }),
  };
}

function unreadable(error: ErrorEnvelope): Opened {
  return { kind: 'unreadable', execution: { result: errorResult(error), unsent: true } };
}

function faultOf(error: unknown, keyId: string, setting: string): ErrorEnvelope {
  if (error instanceof PayloadUnreadable && error.reason === 'key_missing')
    return keyMissing(error.keyId, setting);
  const message = `The directive cannot be decrypted with the key "${keyId}": it was changed, or encrypted for another one`;
  return errorEnvelope('decryption_failed', message, { key_id: keyId });
}

function keyMissing(keyId: string, setting: string): ErrorEnvelope {
  const message = `The directive is encrypted with the key "${keyId}", which this worker does not have`;
  const fix = `add the key to the variable that ${setting} names, in the environment of every worker`;
  return errorEnvelope('decryption_key_missing', message, { key_id: keyId, setting, fix });
}

/** More redrives of one directive nobody makes. */
const MOST_REDRIVES = 64;

/**
 * The id that its sender gave it. A redrive repeats what was encrypted for another id: of the same request, for the same tool or model,
 * with the same content; whoever copies it for another tool does not get it opened.
 */
async function firstId(directive: Directive, read: ReadEnvelope): Promise<string> {
  let last = directive;
  for (let redrives = 0; redrives < MOST_REDRIVES; redrives += 1) {
    const from = last.metadata['redrive_of'];
    const id = isObject(from) && from['request_id'] === directive.request_id ? from['id'] : undefined;
    const stored = typeof id === 'string' ? await read(id) : null;
    if (stored === null) break;
    const before = stored.directive;
    if (sameWork(before) !== sameWork(directive)) break;
    last = before;
  }
  return last.id;
}

function sameWork(directive: Directive): string {
  const { type, tool_name, server, model, model_alias } = directive as Partial<Record<string, unknown>>;
  const fields = encryptedFields(directive).map(({ field, encoded }) => [field, encoded.data]);
  return JSON.stringify([type, tool_name, server, model, model_alias, fields]);
}

/** Small enough that what is cut of an error is cut before it is encrypted. */
const LARGEST_ERROR_BYTES = 8_192;

/** What the service itself adds beside a result, none of it from the call. */
const OPEN_METADATA: ReadonlySet<string> = new Set([
  'server',
  'tool',
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
  'sampling',
  'unreported',
]);

/** The same execution, of which only its sender can read more than how it went. */
export async function sealExecution(seal: Seal, execution: Execution): Promise<Execution> {
  const { asks, content: _content, result, rejected = [], metadata = {}, ...rest } = execution;
  const note = encryptedNote(seal.keyId);
  const said = Object.entries(metadata);
  const secret = Object.fromEntries(said.filter(([name]) => !OPEN_METADATA.has(name)));
  const beside = {
    ...(execution.content === undefined ? {} : { content: execution.content }),
    ...(Object.keys(secret).length === 0 ? {} : { metadata: secret }),
  };
  return {
    ...rest,
    result: await sealResult(seal, bounded(asks === undefined ? result : cannotAsk()), beside),
    content: note,
    rejected: rejected.map((each) => ({ ...each, type: null, message: note })),
    metadata: Object.fromEntries(said.filter(([name]) => OPEN_METADATA.has(name))),
  };
}

function bounded(result: Result): Result {
  return result.ok ? result : { ...result, error: boundError(result.error, LARGEST_ERROR_BYTES) };
}

/** Who would answer reads the question in the journal, where nothing of the call may be. */
function cannotAsk(): Result {
  const message = 'The tool asks a person, and nobody can be asked about an encrypted call';
  return errorResult(errorEnvelope('executor', message));
}

/** What is said while the attempt runs. */
export async function sealSaid(seal: Seal, said: Said): Promise<Said> {
  const data = said.data as Readonly<Record<string, unknown>>;
  const { delta, message, metadata } = data;
  const sealed = {
    ...data,
    ...(delta === undefined ? {} : { delta: await seal(delta, 'delta') }),
    ...(message === undefined
      ? {}
      : {
          message: encryptedNote(seal.keyId),
          metadata: { ...Object(metadata), message: await seal(message, 'message') },
        }),
  };
  return { type: said.type, data: sealed as unknown as Said['data'] };
}
