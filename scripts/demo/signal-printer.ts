/** Prints the signals of a case as they arrive: one line each, or a count for many.
 *  It must not hold a line back when there are only a few. */
import { signalLine } from '../../src/cli/following/signal-lines.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { isTerminalSignal, type Signal } from '../../src/contract/signal/signal.ts';

/** From this many directives on, every hundredth end is a line instead of every signal. */
const FLOOD = 20;

const EVERY = 100;

export function createSignalPrinter(terminal: Terminal, directiveCount: number): (signal: Signal) => void {
  if (directiveCount < FLOOD) return (signal) => terminal.out(`  ${signalLine(signal, terminal.paint)}`);
  let endedCount = 0;
  return (signal) => {
    if (!isTerminalSignal(signal)) return;
    endedCount += 1;
    const count = `  ${endedCount} of ${directiveCount} have ended`;
    if (endedCount % EVERY === 0)
      terminal.out(`${count}; the last signal:\n  ${signalLine(signal, terminal.paint)}`);
    else terminal.status(count);
  };
}
