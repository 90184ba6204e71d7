/** Signals as lines for a reader, as they arrive; a flood of them as a count.
 *  It must not hold a line back when there are only a few. */
import { styleText } from 'node:util';
import { isTerminalSignal, type Signal } from '../../src/contract/signal.ts';
import { endingOf } from './verdict.ts';

/** From this many directives on, every hundredth end is a line instead of every signal. */
const FLOOD = 20;

const EVERY = 100;

export function createSignalPrinter(directiveCount: number, print: (line: string) => void) {
  let ended = 0;
  return (signal: Signal): void => {
    if (isTerminalSignal(signal)) ended += 1;
    if (directiveCount < FLOOD) print(signalLine(signal));
    else if (isTerminalSignal(signal) && ended % EVERY === 0) print(countLine(signal, ended, directiveCount));
  };
}

function signalLine(signal: Signal): string {
  const attempt = signal.attempt === undefined ? '' : ` attempt ${signal.attempt}`;
  return `  ${sequence(signal)}  ${styleText('cyan', signal.type.padEnd(26))}${attempt}  ${detail(signal)}`.trimEnd();
}

function countLine(signal: Signal, ended: number, of: number): string {
  return `  ${sequence(signal)}  ${styleText('cyan', signal.type.padEnd(26))} ${ended} of ${of}`;
}

function sequence(signal: Signal): string {
  return styleText('dim', String(signal.sequence).padStart(4));
}

function detail(signal: Signal): string {
  if (signal.type === 'directive.retry_scheduled') {
    return `again in ${signal.data.delay_ms} ms: ${signal.data.error.message}`;
  }
  if (signal.type === 'ai.tool.started') return signal.data.tool_name;
  if (signal.type !== 'ai.tool.result') return '';
  const { result } = signal.data;
  return result.ok ? 'ok' : `${endingOf(signal)}: ${result.error.message}`;
}
