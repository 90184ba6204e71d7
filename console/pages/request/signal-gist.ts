/** One line of the log for a signal: what it is about, and its gist.
 *  It must never hold more of a signal than its line shows. */
import { ownMember } from '../../../src/contract/json/json-object.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';

const LONGEST = 2_000;

export function callOf({ data }: Signal): string {
  const id = (data as { call_id?: unknown } | null)?.call_id;
  return typeof id === 'string' ? id : '';
}

export function gistOf(signal: Signal): string {
  const text = textOf(signal);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… ${text.length} characters` : text;
}

type DataOf<Type extends Signal['type']> = Extract<Signal, { type: Type }>['data'];

const TEXTS: { readonly [Type in Signal['type']]?: (data: DataOf<Type>) => string } = {
  'ai.llm.delta': ({ delta }) => json(delta),
  'ai.llm.raw': ({ text }) => json(text),
  'ai.tool.started': ({ tool_name: tool, arguments: args }) => `${tool} ${json(args)}`,
  'ai.tool.progress': ({ progress, total, message = '' }) =>
    `${progress}${total === undefined ? '' : `/${total}`} ${message}`,
  'ai.request.started': ({ query }) => query,
  'ai.request.input': ({ content }) => content,
  'directive.waiting': ({ message }) => message,
  'directive.retry_scheduled': ({ error }) => `${error.type}: ${error.message}`,
};

function textOf({ type, data }: Signal): string {
  const read = ownMember<unknown>(TEXTS, type) as ((data: unknown) => string) | undefined;
  return read === undefined ? resultText(data) : read(data);
}

function resultText(data: unknown): string {
  const { result } = (data ?? {}) as {
    result?: { ok?: unknown; payload?: unknown; error?: { type?: unknown; message?: unknown } };
  };
  if (result?.ok === true) return json(result.payload);
  if (result?.ok === false) return `${String(result.error?.type)}: ${String(result.error?.message)}`;
  return json(data);
}

function json(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

export interface Matches {
  /** Indexes of the signals that have the text, in their order; it grows in place. */
  readonly found: readonly number[];
  /** Searches the signals that came since the last call. */
  look(signals: readonly Signal[]): void;
}

/** Without regard to capitals, in type, call and gist. */
export function createMatches(text: string): Matches {
  const wanted = text.toLowerCase();
  const found: number[] = [];
  let seen = 0;
  return {
    found,
    look(signals) {
      for (; seen < signals.length; seen += 1) {
        const signal = signals[seen];
        if (signal === undefined) continue;
        const line = `${signal.type} ${callOf(signal)} ${gistOf(signal)}`;
        if (line.toLowerCase().includes(wanted)) found.push(seen);
      }
    },
  };
}
