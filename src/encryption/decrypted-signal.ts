// The signals and views of encrypted directives, as who has the key reads them.
// Must never change a signal that is not encrypted, nor fail on one whose key is not here: that stays as it is.
import type { Directive } from '../contract/directive.ts';
import {
  type EncodedPayload,
  encodedIn,
  encryptedFields,
  type PayloadCodec,
  PayloadUnreadable,
} from '../contract/encrypted.ts';
import { isObject } from '../contract/json-object.ts';
import type { DirectiveView } from '../contract/request-view.ts';
import type { Signal } from '../contract/signal.ts';
import { toolContent } from '../contract/tool-content.ts';
import { openError, openerFor, openResult } from './encrypted-result.ts';
import { decryptValue } from './payload-value.ts';

type SignalOf<T extends Signal['type']> = Extract<Signal, { type: T }>;
type Open = (encoded: EncodedPayload, field: string) => Promise<unknown>;

/** Throws `PayloadUnreadable` where something was changed. Also for signals of an archive. */
export async function decryptSignal<S extends Signal>(codec: PayloadCodec, signal: S): Promise<S> {
  const { call_id } = signal.data as { call_id?: unknown };
  if (typeof call_id !== 'string') return signal;
  const open = openerFor(codec, { request: signal.subject, id: call_id });
  return whereKeyIsHere(async () => opened(open, signal) as Promise<S>, signal);
}

async function whereKeyIsHere<T>(open: () => Promise<T>, closed: T): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof PayloadUnreadable && error.reason === 'key_missing') return closed;
    throw error;
  }
}

async function opened(open: Open, signal: Signal): Promise<Signal> {
  if (signal.type === 'ai.llm.delta') return openedDelta(open, signal);
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

async function openedProgress(open: Open, signal: SignalOf<'ai.tool.progress'>): Promise<Signal> {
  const { message: held, ...metadata } = signal.data.metadata;
  const encoded = encodedIn(held);
  if (encoded === null) return signal;
  const message = String(await open(encoded, 'message'));
  return { ...signal, data: { ...signal.data, message, metadata } };
}

type End = SignalOf<'ai.tool.result' | 'ai.llm.response' | 'ai.embed.result'>;

function isEnd(signal: Signal): signal is End {
  return ['ai.tool.result', 'ai.llm.response', 'ai.embed.result'].includes(signal.type);
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
export async function decryptView(codec: PayloadCodec, view: DirectiveView): Promise<DirectiveView> {
  const directive = await whereKeyIsHere(async () => clearDirective(codec, view.directive), view.directive);
  return { ...view, directive, result: view.result && (await decryptSignal(codec, view.result)) };
}

/** A redrive repeats what was encrypted for the id of the first one. */
async function clearDirective(codec: PayloadCodec, directive: Directive): Promise<Directive> {
  const [last, ...earlier] = idsOf(directive);
  for (const id of earlier) {
    const clear = await clearUnder(codec, directive, id).catch(() => null);
    if (clear !== null) return clear;
  }
  return clearUnder(codec, directive, last ?? directive.id);
}

async function clearUnder(codec: PayloadCodec, directive: Directive, id: string): Promise<Directive> {
  const place = { request: directive.request_id, id };
  const clear = await Promise.all(
    encryptedFields(directive).map(
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
