/** Prints the output of a model call from its signals: as it arrives, or once it is complete.
 *  It must never leave voided text on stdout without a line that reports the restart. */
import { type FoldedCalls, NO_CALLS, readDelta, type TextEvent } from '../contract/delta-fold.ts';
import type { Signal } from '../contract/signal.ts';
import { printable, type Terminal } from './terminal.ts';

export interface AnswerPrinter {
  /** Whether the signal brought text that was printed. */
  show(signal: Signal): boolean;
  /** The whole answer of a successful call: prints it unless it was printed as it arrived, and ends the line. */
  finish(text: string): void;
}

/**
 * `live`: text as it arrives, thinking on stderr. Text that a restart voids stays printed; a line on stderr counts its
 * characters. `whole`: only the answer, once, at its end.
 */
export type AnswerMode = 'live' | 'whole';

export function createAnswerPrinter(terminal: Terminal, mode: AnswerMode): AnswerPrinter {
  let calls = NO_CALLS;
  return {
    show: (signal) => {
      const printed = printOutput(terminal, calls, signal, mode);
      calls = printed.calls;
      return printed.any;
    },
    finish: (text) => {
      if (mode === 'whole') terminal.write(printable(text));
      terminal.endLine();
    },
  };
}

/** Prints what a signal adds to `calls`; returns the calls after it, and whether anything was printed. */
export function printOutput(
  terminal: Terminal,
  before: FoldedCalls,
  signal: Signal,
  mode: AnswerMode,
): { readonly calls: FoldedCalls; readonly any: boolean } {
  const { calls, events } = readDelta(before, signal);
  const printed = events.filter((event) => isPrinted(event, mode));
  for (const event of printed) print(terminal, event, mode);
  return { calls, any: printed.length > 0 };
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
  const begins = `↻ attempt ${event.attempt} starts the answer again`;
  const { length } = event.void.content;
  return mode === 'live' && length > 0 ? `${begins}; the ${length} characters before this are void` : begins;
}
