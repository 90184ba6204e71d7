/** Shows a run while it goes on: its model's output, its tool calls, its children, its retries.
 *  It must never print anything of a run twice. */
import { type FoldedCalls, NO_CALLS } from '../contract/delta-fold.ts';
import type { Signal } from '../contract/signal.ts';
import { type AnswerMode, printOutput } from './answer-printer.ts';
import { type DataOf, retryText, waitText } from './signal-gist.ts';
import { oneLine, type Terminal } from './terminal.ts';
import { createToolBoard } from './tool-board.ts';
import { modelText, turnIn } from './turn-text.ts';

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
  if (signal.type === 'directive.waiting') return waitText(signal.data);
  if (signal.type === 'agent.child.started')
    return oneLine(`↳ ${signal.data.tag}: ${signal.data.agent} in ${signal.data.child_request_id}`);
  if (signal.type === 'agent.child.exit') return oneLine(`↳ ${signal.data.tag}: ${signal.data.status}`);
  return null;
}
