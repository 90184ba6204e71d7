/** Prints what a model says in the signals of its call: as it comes, or once it is all there.
 *  It must never leave words on stdout that a restart has made void without a word about it. */
import { type FoldedCalls, NOTHING_SAID, readDelta, type TextEvent } from '../contract/delta-fold.ts';
import type { Signal } from '../contract/signal.ts';
import { printable, type Terminal } from './terminal.ts';

export interface AnswerPrinter {
  /** Whether the signal brought words that were printed. */
  show(signal: Signal): boolean;
  /** The whole answer, once the call has ended well: prints it if its words were held back, and ends the line. */
  finish(text: string): void;
}

/**
 * `live`: words as they come, thinking on stderr. What a restart makes void cannot be taken back: a line on stderr says
 * how much of it there is. `whole`: the answer alone, once, at its end.
 */
export type AnswerMode = 'live' | 'whole';

export function createAnswerPrinter(terminal: Terminal, mode: AnswerMode): AnswerPrinter {
  let calls = NOTHING_SAID;
  return {
    show: (signal) => {
      const printed = printWords(terminal, calls, signal, mode);
      calls = printed.calls;
      return printed.any;
    },
    finish: (text) => {
      if (mode === 'whole') terminal.write(printable(text));
      terminal.endLine();
    },
  };
}

/** Prints what a signal adds to `calls`; answers with the calls after it, and whether anything was printed. */
export function printWords(
  terminal: Terminal,
  before: FoldedCalls,
  signal: Signal,
  mode: AnswerMode,
): { readonly calls: FoldedCalls; readonly any: boolean } {
  const { calls, events } = readDelta(before, signal);
  const words = events.filter((event) => isPrinted(event, mode));
  for (const event of words) print(terminal, event, mode);
  return { calls, any: words.length > 0 };
}

function isPrinted({ kind }: TextEvent, mode: AnswerMode): boolean {
  return kind === 'restart' || (mode === 'live' && (kind === 'content' || kind === 'thinking'));
}

function print(terminal: Terminal, event: TextEvent, mode: AnswerMode): void {
  if (event.kind === 'content') terminal.write(printable(event.text));
  if (event.kind === 'thinking') terminal.writeErr(terminal.paintErr('dim', printable(event.text)));
  if (event.kind === 'restart') terminal.err(terminal.paintErr('yellow', restartText(event, mode)));
}

function restartText(event: Extract<TextEvent, { kind: 'restart' }>, mode: AnswerMode): string {
  const begins = `↻ attempt ${event.attempt} begins the answer again`;
  const { length } = event.void.content;
  return mode === 'live' && length > 0 ? `${begins}; the ${length} characters before this are void` : begins;
}
