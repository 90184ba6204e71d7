// Opens the stored parts of an encrypted run, for the engine that makes its turn. Never opens with a key of another
// tenant, nor reads clear text where a worker or a client encrypts.
import {
  encodedIn,
  type EncodedPayload,
  type PayloadCodec,
  PayloadUnreadable,
} from '../../contract/encrypted/encrypted.ts';
import {
  childSecretsSchema,
  DECISION,
  encodedMessages,
  historyPlace,
  INPUT,
  runPlaceOf,
  runSecretsSchema,
  startPlace,
} from '../../contract/encrypted/encrypted-run.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';
import { errorResult } from '../../contract/result.ts';
import { TERMINAL_RUN_STATUSES } from '../../contract/run/run.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { toolContent } from '../../contract/tool/tool-content.ts';
import { decryptSealed } from '../../platform/encryption/decrypted-signal.ts';
import { encodedOf, openRunSignal, SEEN_FIELD } from '../../platform/encryption/encrypted-run.ts';
import { codecOfTenant, type PayloadKeys } from '../../platform/encryption/payload-keys.ts';
import { decryptValue } from '../../platform/encryption/payload-value.ts';
import { isEnd, type End } from '../../platform/encryption/sealed-signal.ts';
import type { PayloadStore } from '../../store/request/payload-store.ts';
import { truncatedBytes } from '../../store/request/whole-result.ts';
import type { RunFailure } from '../turn/broken-run.ts';
import { type RunSeal, SPEC_FIELD, STATE_FIELD } from './run-seal.ts';
import { askedOf } from '../run-start.ts';
import type { ReadTexts, StoredSpec } from '../turn/stored-text.ts';
import type { JsonObject, RunDocument } from '../turn/transition.ts';

/** A run in clear, and with what it is encrypted: `seal` null: with nothing. */
export type OpenedRun =
  | { kind: 'opened'; read: ReadTexts; seal: RunSeal | null }
  | { kind: 'locked'; failure: RunFailure };

export type OpenRun = (requestId: string, read: ReadTexts) => Promise<OpenedRun>;

/** For readers who only view a run: it stays as it is stored. */
export const asStored: OpenRun = async (_requestId, read) => ({ kind: 'opened', read, seal: null });

/** `payloads`: what is too large for the log. */
export function createRunVault(keys: PayloadKeys, payloads: Pick<PayloadStore, 'get'>): OpenRun {
  return async (requestId, read) => {
    const { spec } = read;
    const encoded = encodedIn(spec.sealed ?? spec.encrypted);
    if (encoded === null) return { kind: 'opened', read, seal: null };
    const tenant = tenantOf(requestId);
    if (keys.codec === null) return locked(read, keyMissing(encoded.key_id, keys.setting));
    const codec = codecOfTenant(keys.codec, keys, tenant);
    await codec.nextStep?.();
    const seal = { codec, keyId: encoded.key_id, request: ownId(requestId) };
    const whole: WholePayload = async (id) => payloads.get(requestId, id);
    try {
      return await opened(seal, read, { encoded, whole });
    } catch (error) {
      if (!(error instanceof PayloadUnreadable)) throw error;
      const isMissing = error.reason === 'key_missing';
      return locked(read, isMissing ? keyMissing(error.keyId, keys.setting) : damaged(error.keyId));
    }
  };
}

async function opened(
  seal: RunSeal,
  read: ReadTexts,
  { encoded, whole }: { encoded: EncodedPayload; whole: WholePayload },
): Promise<OpenedRun> {
  const spec = await openSpec(seal, read.spec, encoded);
  if (spec === null) return locked(read, invalid());
  const [document, signals] = await Promise.all([
    read.document === null ? null : openDocument(seal, read.document),
    Promise.all(read.signals.map(async (signal) => openSignal(seal, signal, whole))),
  ]);
  return { kind: 'opened', read: { ...read, spec, document, signals }, seal };
}

/** null: what its sender encrypted is no start of a run. */
async function openSpec(
  { codec, request }: RunSeal,
  { encrypted, sealed, ...spec }: StoredSpec,
  encoded: EncodedPayload,
): Promise<StoredSpec | null> {
  const place =
    sealed === undefined ? startPlace({ ...spec, request_id: request }) : runPlaceOf(request, SPEC_FIELD);
  const value = await decryptValue(codec, encoded, place);
  if (sealed !== undefined) {
    const { query, messages, overrides } = value as Pick<StoredSpec, 'query' | 'messages' | 'overrides'>;
    return { ...spec, query, messages, overrides: { ...spec.overrides, ...overrides } };
  }
  const schema = spec.parent === null ? runSecretsSchema : childSecretsSchema;
  const secrets = findJsonHazard(value) === null ? schema.safeParse(value) : null;
  if (secrets?.success !== true || encrypted === undefined) return null;
  const { overrides, ...asked } = secrets.data;
  return { ...spec, ...askedOf(asked), overrides: { ...spec.overrides, ...defined(overrides) } };
}

function defined(overrides: object): object {
  return Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
}

/** An engine that could not open the run has written it: it says nothing of the run. */
function isEndInClear({ sealed, status }: RunDocument): boolean {
  // @guard encrypted-run-document
  return encodedIn(sealed) === null && TERMINAL_RUN_STATUSES.has(status);
}

async function openDocument({ codec, keyId, request }: RunSeal, document: RunDocument): Promise<RunDocument> {
  const { sealed, ...rest } = document;
  const encoded = encodedIn(sealed);
  if (isEndInClear(document)) return rest;
  const { messages } = document.inner;
  const seen = Array.isArray(messages) ? encodedMessages(messages as object[]) : null;
  if (encoded === null || seen === null)
    throw new PayloadUnreadable('damaged', keyId, runPlaceOf(request, STATE_FIELD));
  const [state, shown] = await Promise.all([
    decryptValue(codec, encoded, runPlaceOf(request, STATE_FIELD)),
    decryptValue(codec, seen, runPlaceOf(request, SEEN_FIELD)),
  ]);
  const { inner, outbox } = state as { inner: JsonObject; outbox: RunDocument['outbox'] };
  const { query: _query, ...answers } = shown as JsonObject;
  return { ...rest, outbox, inner: { ...inner, ...answers } };
}

/** A signal that cannot be opened is read as an error, an empty input or a denial: the run continues with that. */
async function openSignal({ codec, request }: RunSeal, signal: Signal, whole: WholePayload): Promise<Signal> {
  try {
    // @guard encrypted-run-answer
    if (isEnd(signal)) return await openEnd(codec, signal, { request, whole });
    return encodedOf(signal) === null ? withoutClear(signal) : await openRunSignal(codec, signal, request);
  } catch (error) {
    if (!(error instanceof PayloadUnreadable)) throw error;
    return isEnd(signal) ? unread(signal, error.message) : withoutClear(signal);
  }
}

/** All of the payload as JSON; null: it is not kept any more. */
export type WholePayload = (callId: string) => Promise<string | null>;

async function openEnd(
  codec: PayloadCodec,
  signal: End,
  { request, whole }: { request: string; whole: WholePayload },
): Promise<Signal> {
  const { call_id: id, result } = signal.data;
  const bytes = truncatedBytes(signal);
  if (bytes === null || !result.ok) return decryptSealed(codec, signal, { request, id });
  const json = await whole(id);
  if (json === null) return unread(signal, `The answer of ${bytes} bytes is not kept any more`);
  await codec.nextStep?.();
  const payload = JSON.parse(json) as unknown;
  const complete = { ...signal, data: { ...signal.data, result: { ...result, payload } } } as End;
  const opened = await decryptSealed(codec, complete, { request, id });
  await codec.nextStep?.();
  return boundedTool(opened, result.payload);
}

const PREVIEW_CHARACTERS = 4_096;

/** As much of a tool's answer as its worker would have left of it in clear. */
function boundedTool(signal: End, cut: unknown): Signal {
  const { result } = signal.data;
  if (signal.type !== 'ai.tool.result' || !result.ok || !isObject(cut)) return signal;
  const { limit_bytes } = cut;
  const json = JSON.stringify(result.payload) ?? 'null';
  const bytes = Buffer.byteLength(json);
  if (typeof limit_bytes !== 'number' || bytes <= limit_bytes) return signal;
  const preview = json.slice(0, PREVIEW_CHARACTERS);
  const short = { ...result, payload: { truncated: true, bytes, limit_bytes, preview } };
  return { ...signal, data: { ...signal.data, result: short } };
}

function unread(signal: End, message: string): Signal {
  const result = errorResult(errorEnvelope('decryption_failed', message));
  const content = signal.type === 'ai.tool.result' ? { content: toolContent(result) } : {};
  return { ...signal, data: { ...signal.data, ...content, result } } as Signal;
}

const INPUT_LEFT_OUT = '[An input was left out: it could not be decrypted.]';
const NOT_APPROVED = 'the arguments of the approval could not be decrypted';

/** Clear content sent to an encrypted run has bypassed the API. */
function withoutClear(signal: Signal): Signal {
  const data = signal.data as JsonObject;
  return { ...signal, data: { ...data, ...insteadOf(signal.type, data) } } as unknown as Signal;
}

function insteadOf(type: string, { arguments: edited }: JsonObject): JsonObject {
  if (type === INPUT) return { content: INPUT_LEFT_OUT };
  // @guard encrypted-run-decision
  if (type === DECISION && edited !== undefined)
    return { decision: 'deny', reason: NOT_APPROVED, arguments: undefined };
  return type === 'agent.child.exit' ? { result: null } : {};
}

/** The messages of a conversation. Throws `PayloadUnreadable`. */
export async function openHistory(
  { codec }: RunSeal,
  conversation: string,
  encoded: EncodedPayload,
): Promise<readonly JsonObject[] | null> {
  const value = await decryptValue(codec, encoded, historyPlace(conversation));
  return Array.isArray(value) ? (value as JsonObject[]).filter(isObject) : null;
}

/** Once that end is written, what is left to do of it (its parent, its conversation) needs no key. */
function locked(read: ReadTexts, failure: RunFailure): OpenedRun {
  const { document } = read;
  if (document !== null && isEndInClear(document)) return { kind: 'opened', read, seal: null };
  return { kind: 'locked', failure };
}

function keyMissing(keyId: string, setting: string): RunFailure {
  const message = `The run is encrypted with the key "${keyId}", which its engine does not have for its tenant`;
  const fix = `add the key to the variable that ${setting} names, in the environment of every engine and worker, and to encryption.tenants where that is set`;
  return { reason: 'decryption_key_missing', message, details: { key_id: keyId, setting, fix } };
}

function damaged(keyId: string): RunFailure {
  const message = `The run cannot be decrypted with the key "${keyId}": it was changed, or encrypted for another one, or the client has another key under this name`;
  return { reason: 'decryption_failed', message, details: { key_id: keyId } };
}

function invalid(): RunFailure {
  return {
    reason: 'validation_error',
    message: 'What the run was started with, once decrypted, is no start of a run',
  };
}
