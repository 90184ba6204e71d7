/** The state of one directive: a line that changes on a terminal, a line for each event elsewhere.
 *  It must never print the same text twice in a row. */
import type { Signal } from '../../contract/signal/signal.ts';
import { progressText, retryText, waitText } from './signal-gist.ts';
import { oneLine, type Terminal } from '../terminal.ts';

const REFRESH_MS = 100;
const TITLE_CHARACTERS = 60;

interface LiveLine {
  show(signal: Signal): void;
  /** Nothing is drawn while a person types. */
  quiet(asking: boolean): void;
  /** Removes the line. */
  end(): void;
}

/** `state`: shown before the first signal. */
export function createLiveLine(terminal: Terminal, title: string, state: string): LiveLine {
  const startedAt = performance.now();
  const name = oneLine(title, TITLE_CHARACTERS);
  let current = state;
  let isQuiet = false;
  const draw = (): void => {
    if (isQuiet) return;
    const seconds = terminal.paintErr('dim', `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
    terminal.status(`${terminal.paintErr('cyan', '›')} ${name} ${seconds} ${current}`);
  };
  const timer = terminal.live ? setInterval(draw, REFRESH_MS) : undefined;
  return {
    show: (signal) => {
      const next = stateAfter(signal);
      if (next === null) return;
      current = next;
      if (terminal.live) draw();
      // The silence of the call explains its waits.
      else if (signal.type !== 'directive.waiting') terminal.err(`${name} ${current}`);
    },
    quiet: (asking) => {
      isQuiet = asking;
      if (asking) terminal.status('');
    },
    end: () => {
      clearInterval(timer);
      terminal.status('');
    },
  };
}

function stateAfter(signal: Signal): string | null {
  if (signal.type === 'ai.tool.started') return 'running';
  if (signal.type === 'ai.tool.progress') return progressText(signal.data);
  if (signal.type === 'directive.retry_scheduled') return retryText(signal.data);
  if (signal.type === 'directive.waiting') return waitText(signal.data);
  if (signal.type === 'ai.tool.input_requested') return 'waits for an answer';
  if (signal.type === 'ai.tool.input_answered') return 'running';
  return null;
}
