// Encrypts what a run is started with and what is sent to it, and opens what it says: for its client, and for the engine of its parent.
// Must never leave in clear, of what is given to it, what a run's messages may hold.
import {
  type EncodedPayload,
  ENCRYPTED,
  encodedIn,
  type PayloadCodec,
  PayloadUnreadable,
} from '../../contract/encrypted/encrypted.ts';
import {
  askPlace,
  DECISION,
  encodedMessages,
  INPUT,
  runPlaceOf,
  SECRET_OVERRIDES,
  type SecretRun,
  signalPlace,
  startPlace,
} from '../../contract/encrypted/encrypted-run.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { ApprovalDecisionBody, RunInputBody, RunView } from '../../contract/run/run.ts';
import type { OpenApproval } from '../../contract/run/approval-listing.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { decryptValue, encryptField, type SubmittedForm } from './payload-value.ts';

type Members = Readonly<Record<string, unknown>>;

/** Members of a run that may be encrypted. */
export interface ClearRun extends SecretRun {
  readonly query?: string | undefined;
  readonly messages?: readonly object[] | undefined;
  readonly overrides?: object | undefined;
}

/** The same start, with all that is secret in `encrypted`. `keyId`: default: the codec chooses. */
export async function encryptRun<R extends ClearRun>(
  codec: PayloadCodec,
  run: R,
  keyId?: string,
): Promise<Omit<R, 'query' | 'messages' | 'overrides'> & { overrides: object; encrypted: SubmittedForm }> {
  const { query, messages, overrides = {}, ...rest } = run;
  const [secret, open] = parted(overrides);
  const value = { query, messages, overrides: secret };
  const form = await encryptField(codec, value, startPlace(run), keyId);
  return { ...rest, overrides: open, encrypted: form };
}

/** The overrides that are secret, and the others. */
export function parted(overrides: object): [secret: Members, open: Members] {
  const isSecret = (name: string): boolean => (SECRET_OVERRIDES as readonly string[]).includes(name);
  const members = Object.entries(overrides);
  return [
    Object.fromEntries(members.filter(([name]) => isSecret(name))),
    Object.fromEntries(members.filter(([name]) => !isSecret(name))),
  ];
}

export async function encryptInput(
  codec: PayloadCodec,
  request: string,
  { input_id = crypto.randomUUID(), content, ...rest }: RunInputBody,
): Promise<RunInputBody> {
  const place = signalPlace(request, INPUT, { input_id });
  const form = await encryptField(codec, { content }, place);
  return { ...rest, input_id, content: form as unknown as string };
}

/** A decision without arguments and reason says nothing that is secret. */
export async function encryptDecision(
  codec: PayloadCodec,
  request: string,
  call_id: string,
  { arguments: edited, reason, ...rest }: ApprovalDecisionBody,
): Promise<ApprovalDecisionBody> {
  if (edited === undefined && reason === undefined) return rest;
  const place = signalPlace(request, DECISION, { call_id });
  const form = await encryptField(codec, { arguments: edited, reason }, place);
  return { ...rest, arguments: form as unknown as Record<string, unknown> };
}

/** The encrypted part of the data of a signal of a run; null: there is none. */
export function encodedOf({ type, data }: Pick<Signal, 'type' | 'data'>): EncodedPayload | null {
  const members = data as Members;
  if (type === DECISION) return encodedIn(members['arguments']);
  return encodedIn(data) ?? (type === 'ai.request.error' ? encodedIn(members['metadata']) : null);
}

/** Whether a caller with `submit` can write such a signal into the log of a run; the others are written by an engine. */
export function isSent({ type, data }: Pick<Signal, 'type' | 'data'>): boolean {
  return type === INPUT || type === DECISION || (type === 'ai.request.error' && encodedIn(data) === null);
}

/** The signal as its run wrote it, or as it was sent to it. Throws `PayloadUnreadable`. */
export async function openRunSignal<S extends Pick<Signal, 'type' | 'data'>>(
  codec: PayloadCodec,
  signal: S,
  request: string,
): Promise<S> {
  const encoded = encodedOf(signal);
  if (encoded === null) return signal;
  const place = signalPlace(request, signal.type, signal.data);
  const value = await decryptValue(codec, encoded, place);
  const said = saidIn(signal.type, value);
  if (said === null) throw new PayloadUnreadable('damaged', encoded.key_id, place);
  // An engine has encrypted all of it: nothing that was written beside it since is believed.
  if (!isSent(signal)) return { ...signal, data: said };
  const { [ENCRYPTED]: _form, arguments: held, metadata, ...open } = signal.data as Members;
  const kept = held === undefined || encodedIn(held) !== null ? {} : { arguments: held };
  const noted = isObject(metadata) ? { metadata: withoutForm(metadata) } : {};
  return { ...signal, data: { ...open, ...kept, ...noted, ...said } };
}

function withoutForm({ [ENCRYPTED]: _form, ...rest }: Members): Members {
  return rest;
}

/** Reads the members that a person may send. null: another type. */
function saidIn(type: string, value: unknown): Members | null {
  if (!isObject(value)) return null;
  const { content, arguments: edited, reason } = value;
  if (type === INPUT) return typeof content === 'string' ? { content } : null;
  if (type !== DECISION) return value;
  if (edited !== undefined && (!isObject(edited) || findJsonHazard(edited) !== null)) return null;
  return {
    ...(edited === undefined ? {} : { arguments: edited }),
    ...(typeof reason === 'string' ? { reason } : {}),
  };
}

/** A run as who has the key reads it. Throws `PayloadUnreadable`. */
export async function openRunView(codec: PayloadCodec, view: RunView): Promise<RunView> {
  const encoded = encodedMessages(view.messages);
  if (encoded === null) return view;
  const value = await decryptValue(codec, encoded, runPlaceOf(view.run_id, SEEN_FIELD));
  const { details: _head, ...rest } = view;
  return { ...rest, ...(isObject(value) ? (value as Partial<RunView>) : {}) };
}

/** Field of the part of a run that readers with the key see. */
export const SEEN_FIELD = 'seen';

/** A question with the arguments that it is about, where all of them are there. */
export async function openApproval(codec: PayloadCodec, asked: OpenApproval): Promise<OpenApproval> {
  const { request_id, call_id, arguments: text } = asked;
  const encoded = text === null || asked.arguments_cut ? null : encodedIn(jsonOf(text));
  if (encoded === null) return asked;
  const value = await decryptValue(codec, encoded, askPlace(request_id, call_id));
  return { ...asked, arguments: JSON.stringify(value) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
