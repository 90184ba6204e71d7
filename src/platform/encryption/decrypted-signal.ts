// The signals and views of encrypted directives, as who has the key reads them.
// Must never change a signal that is not encrypted, nor fail on one whose key is not here: that stays as it is.
import type { OpenApproval } from '../../contract/run/approval-listing.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import {
  callOf,
  type EncodedPayload,
  encodedIn,
  encryptableFields,
  encryptedFields,
  type PayloadCodec,
  type PayloadPlace,
  PayloadUnreadable,
} from '../../contract/encrypted/encrypted.ts';
import { encodedMessages } from '../../contract/encrypted/encrypted-run.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { isOffloaded } from '../../contract/encrypted/offloaded.ts';
import type { DirectiveView } from '../../contract/request/request-view.ts';
import type { RunView } from '../../contract/run/run.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { toolContent } from '../../contract/tool/tool-content.ts';
import { encodedOf, isSent, openApproval, openRunSignal, openRunView } from './encrypted-run.ts';
import { openError, openerFor, openResult } from './encrypted-result.ts';
import { OWN_RUN } from './own-directives.ts';
import { decryptValue } from './payload-value.ts';
import { isEnd, requireSealed, type End } from './sealed-signal.ts';

type SignalOf<T extends Signal['type']> = Extract<Signal, { type: T }>;
type Open = (encoded: EncodedPayload, field: string) => Promise<unknown>;

/** The directive that a signal must belong to. */
export type Asked = Pick<PayloadPlace, 'request' | 'id'>;

/**
 * Decrypts the data of a signal, including one from an archive.
 * @param codec Codec with the key of the sender.
 * @param signal Signal as it was received.
 * @param asked Request and directive that the signal has to belong to. Default: those that the signal names.
 * @returns The signal in clear.
 * @throws `PayloadUnreadable` where a value was changed.
 */
export async function decryptSignal<S extends Signal>(
  codec: PayloadCodec,
  signal: S,
  asked = askedBy(signal),
): Promise<S> {
  if (encodedOf(signal) !== null) return decryptRunSignal(codec, signal, asked?.request ?? signal.subject);
  if (asked === null) return signal;
  return whereKeyIsHere(async () => openedSignal(codec, signal, asked), signal);
}

/** Decrypts a signal of a run, or one that was sent to it. Throws `PayloadUnreadable` where what its engine wrote was changed. */
export async function decryptRunSignal<S extends Signal>(
  codec: PayloadCodec,
  signal: S,
  request: string,
): Promise<S> {
  const open = async (): Promise<S> => openRunSignal(codec, signal, request);
  return isSent(signal) ? whereReadable(open, signal) : whereKeyIsHere(open, signal);
}

/** The end of a run that is known to be encrypted: what is in clear, or in a key that is not here, is refused. */
export async function decryptRunEnd<S extends Signal>(
  codec: PayloadCodec,
  signal: S,
  request: string,
): Promise<S> {
  if (encodedOf(signal) === null) throw runInClear(request);
  return openRunSignal(codec, signal, request);
}

/** `isOwn`: it is known to be encrypted, and an answer in clear is refused. */
export async function decryptRun(codec: PayloadCodec, run: RunView, isOwn: boolean): Promise<RunView> {
  const isSealed = encodedMessages(run.messages) !== null;
  const open = async (): Promise<RunView> => openRunView(codec, run);
  if (!isOwn || run.status !== 'completed') return isSealed ? whereKeyIsHere(open, run) : run;
  if (!isSealed) throw runInClear(run.run_id);
  return open();
}

function runInClear(request: string): PayloadUnreadable {
  return new PayloadUnreadable('in_clear', '', { request, id: OWN_RUN, field: 'result' });
}

/** The question as it is where it cannot be read: a model may ask for a value in the form of ciphertext, and others are in the same list. */
export async function decryptApproval(codec: PayloadCodec, asked: OpenApproval): Promise<OpenApproval> {
  return whereReadable(async () => openApproval(codec, asked), asked);
}

/** Decrypts a signal of a directive that is known to be encrypted; clear content and unknown keys are refused. */
export async function decryptSealed<S extends Signal>(
  codec: PayloadCodec,
  signal: S,
  asked: Asked,
): Promise<S> {
  return openedSignal(codec, requireSealed(signal, asked), asked);
}

async function openedSignal<S extends Signal>(codec: PayloadCodec, signal: S, asked: Asked): Promise<S> {
  return opened(openerFor(codec, asked), signal) as Promise<S>;
}

/** null: it is of no directive. */
export function askedBy({ subject, data }: Signal): Asked | null {
  const { call_id } = data as { call_id?: unknown };
  return typeof call_id === 'string' ? { request: subject, id: call_id } : null;
}

async function whereKeyIsHere<T>(open: () => Promise<T>, closed: T): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof PayloadUnreadable && error.reason === 'key_missing') return closed;
    throw error;
  }
}

async function whereReadable<T>(open: () => Promise<T>, closed: T): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof PayloadUnreadable) return closed;
    throw error;
  }
}

async function opened(open: Open, signal: Signal): Promise<Signal> {
  if (signal.type === 'ai.llm.delta') return openedDelta(open, signal);
  if (signal.type === 'ai.llm.raw') return openedRaw(open, signal);
  if (signal.type === 'ai.tool.progress') return openedProgress(open, signal);
  if (signal.type === 'directive.retry_scheduled')
    return { ...signal, data: { ...signal.data, error: await openError(open, signal.data.error) } };
  return isEnd(signal) ? openedEnd(open, signal) : signal;
}

async function openedDelta(open: Open, signal: SignalOf<'ai.llm.delta'>): Promise<Signal> {
  const encoded = encodedIn(signal.data.delta);
  if (encoded === null) return signal;
  return { ...signal, data: { ...signal.data, delta: await open(encoded, 'delta') } };
}

async function openedRaw(open: Open, signal: SignalOf<'ai.llm.raw'>): Promise<Signal> {
  const encoded = encodedIn(signal.data.text);
  if (encoded === null) return signal;
  return { ...signal, data: { ...signal.data, text: String(await open(encoded, 'text')) } };
}

async function openedProgress(open: Open, signal: SignalOf<'ai.tool.progress'>): Promise<Signal> {
  const { message: held, ...metadata } = signal.data.metadata;
  const encoded = encodedIn(held);
  if (encoded === null) return signal;
  const message = String(await open(encoded, 'message'));
  return { ...signal, data: { ...signal.data, message, metadata } };
}

async function openedEnd(open: Open, signal: End): Promise<Signal> {
  const before = signal.data.result;
  const { result, beside } = await openResult(open, before);
  if (result === before || (!result.ok && !before.ok && result.error === before.error)) return signal;
  const metadata = { ...signal.data.metadata, ...(isObject(beside['metadata']) ? beside['metadata'] : {}) };
  if (signal.type !== 'ai.tool.result')
    return { ...signal, data: { ...signal.data, result, metadata } } as Signal;
  const { content } = beside;
  const read = typeof content === 'string' ? content : toolContent(result);
  return { ...signal, data: { ...signal.data, result, content: read, metadata } };
}

/** A directive as its sender wrote it, and its end. */
export async function decryptView(
  codec: PayloadCodec,
  view: DirectiveView,
  asked: Asked,
  isOwn: boolean,
): Promise<DirectiveView> {
  const named = { ...view.directive, request_id: asked.request, id: asked.id };
  const directive = await whereKeyIsHere(async () => clearDirective(codec, named), view.directive);
  const decrypt = isOwn ? decryptSealed : decryptSignal;
  return { ...view, directive, result: view.result && (await decrypt(codec, view.result, asked)) };
}

/** A redrive repeats what was encrypted for the id of the first one. */
async function clearDirective(codec: PayloadCodec, directive: Directive): Promise<Directive> {
  if (isPart(directive)) return directive;
  const [last, ...earlier] = idsOf(directive);
  for (const id of earlier) {
    const clear = await clearUnder(codec, directive, id).catch(() => null);
    if (clear !== null) return clear;
  }
  return clearUnder(codec, directive, last ?? directive.id);
}

/** Whether the directive belongs to an encrypted whole, which is read together. */
function isPart(directive: Directive): boolean {
  const members = directive as unknown as Readonly<Record<string, unknown>>;
  return encryptableFields(directive.type).some((field) => isOffloaded(members[field]));
}

async function clearUnder(codec: PayloadCodec, directive: Directive, id: string): Promise<Directive> {
  const fields = encryptedFields(directive);
  const call = callOf(
    directive,
    fields.map(({ field }) => field),
  );
  const place = { request: directive.request_id, id, call };
  const clear = await Promise.all(
    fields.map(
      async ({ field, encoded }) => [field, await decryptValue(codec, encoded, { ...place, field })] as const,
    ),
  );
  return { ...directive, ...(Object.fromEntries(clear) as object) };
}

/** Its own, then those under which it may have been sent first. */
function idsOf({ id, metadata }: Directive): string[] {
  const from = metadata['redrive_of'];
  const before = isObject(from) && typeof from['id'] === 'string' ? [from['id']] : [];
  return before.length === 0 ? [id] : [id, ...before, id.replace(/\.redrive-\d+$/, '')];
}
