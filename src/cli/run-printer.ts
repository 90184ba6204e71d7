/** Shows a run while it goes on: what its model says, its tool calls, its children, what is tried again.
 *  It must never print anything of a run twice. */
import { type FoldedCalls, NOTHING_SAID } from '../contract/delta-fold.ts';
import type { Signal } from '../contract/signal.ts';
import { type AnswerMode, printWords } from './answer-printer.ts';
import { type DataOf, retryText } from './signal-gist.ts';
import { oneLine, type Terminal } from './terminal.ts';
import { createToolBoard } from './tool-board.ts';
import { modelText, turnIn } from './turn-text.ts';

export interface RunPrinter {
  show(signal: Signal): void;
  /** While true nothing is printed, but kept for later: somebody is being asked. */
  quiet(asking: boolean): void;
  /** The words of the model call that ended last; null when they were not printed. */
  lastWords(): string | null;
  /** Which models have answered; a scripted one is called what it is. */
  models(): readonly string[];
  end(): void;
}

export function createRunPrinter(terminal: Terminal, mode: AnswerMode): RunPrinter {
  const board = createToolBoard(terminal);
  const models = new Set<string>();
  let calls: FoldedCalls = NOTHING_SAID;
  let lastWords: string | null = null;
  let held: Signal[] | null = null;

  function print(signal: Signal): void {
    board.show(signal);
    const remark = remarkOf(signal);
    if (remark !== null) terminal.err(terminal.paintErr('yellow', remark));
    calls = printWords(terminal, calls, signal, mode).calls;
    if (signal.type !== 'ai.llm.response') return;
    terminal.endLine();
    const model = modelOf(signal.data);
    if (model !== null) models.add(model);
    lastWords = mode === 'live' ? (calls.get(signal.data.call_id)?.content ?? null) : null;
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
    lastWords: () => lastWords,
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
