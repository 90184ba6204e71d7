/** Prints what models answer, of one call and of a run: live on a terminal, whole elsewhere.
 *  Only the answer itself is written to stdout. */
import { type FoldedCalls, NO_CALLS, readDelta, type TextEvent } from '../../contract/model/delta-fold.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { type DataOf, retryText } from './signal-gist.ts';
import { oneLine, printable, type Terminal } from '../terminal.ts';
import { createToolBoard } from './tool-board.ts';
import { modelText, turnIn } from './turn-text.ts';

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
function printOutput(
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

export interface RunPrinter {
  show(signal: Signal): void;
  /** While true, output is kept for later: a question is open. */
  quiet(asking: boolean): void;
  /** The text of the last model call that ended; null when it was not printed. */
  lastOutput(): string | null;
  /** The models that have answered; scripted ones are marked. */
  models(): readonly string[];
  end(): void;
}

export function createRunPrinter(terminal: Terminal, mode: AnswerMode): RunPrinter {
  const board = createToolBoard(terminal);
  const models = new Set<string>();
  let calls: FoldedCalls = NO_CALLS;
  let lastOutput: string | null = null;
  let held: Signal[] | null = null;

  function print(signal: Signal): void {
    board.show(signal);
    const remark = remarkOf(signal);
    if (remark !== null) terminal.err(terminal.paintErr('yellow', remark));
    calls = printOutput(terminal, calls, signal, mode).calls;
    if (signal.type !== 'ai.llm.response') return;
    terminal.endLine();
    const model = modelOf(signal.data);
    if (model !== null) models.add(model);
    lastOutput = mode === 'live' ? (calls.get(signal.data.call_id)?.content ?? null) : null;
  }

  function quiet(asking: boolean): void {
    board.quiet(asking);
    const late = held ?? [];
    held = asking ? late : null;
    if (!asking) for (const signal of late) print(signal);
  }

  return {
    show: (signal) => {
      if (held === null) print(signal);
      else held.push(signal);
    },
    quiet,
    lastOutput: () => lastOutput,
    models: () => [...models],
    end: () => {
      quiet(false);
      board.end();
      terminal.endLine();
    },
  };
}

function modelOf({ result, metadata }: DataOf<'ai.llm.response'>): string | null {
  const turn = result.ok ? turnIn(result.payload) : null;
  if (turn === null) return null;
  return turn.scripted === true
    ? `${turn.model} (scripted: no model was asked)`
    : modelText(turn, metadata['provider']);
}

function remarkOf(signal: Signal): string | null {
  if (signal.type === 'directive.retry_scheduled') return retryText(signal.data);
  if (signal.type === 'agent.child.started')
    return oneLine(`↳ ${signal.data.tag}: ${signal.data.agent} in ${signal.data.child_request_id}`);
  if (signal.type === 'agent.child.exit') return oneLine(`↳ ${signal.data.tag}: ${signal.data.status}`);
  return null;
}
