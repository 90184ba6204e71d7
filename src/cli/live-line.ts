/** What is going on with one directive: a line that changes on a terminal, a line for each event elsewhere.
 *  It must never say the same thing twice in a row. */
import type { Signal } from '../contract/signal.ts';
import { progressText, retryText } from './signal-gist.ts';
import { oneLine, type Terminal } from './terminal.ts';

const REFRESH_MS = 100;
const TITLE_CHARACTERS = 60;

export interface LiveLine {
  show(signal: Signal): void;
  /** Takes the line away. */
  end(): void;
}

/** `state`: what is said before the first signal. */
export function createLiveLine(terminal: Terminal, title: string, state: string): LiveLine {
  const startedAt = performance.now();
  const name = oneLine(title, TITLE_CHARACTERS);
  let said = state;
  const draw = (): void => {
    const seconds = terminal.paintErr('dim', `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
    terminal.status(`${terminal.paintErr('cyan', '›')} ${name} ${seconds} ${said}`);
  };
  const timer = terminal.live ? setInterval(draw, REFRESH_MS) : undefined;
  return {
    show: (signal) => {
      const next = stateAfter(signal);
      if (next === null) return;
      said = next;
      if (terminal.live) draw();
      else terminal.err(`${name} ${said}`);
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
  return null;
}
