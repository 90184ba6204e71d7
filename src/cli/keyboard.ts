/** The keyboard of a person who is at it, and the interrupts that come from it. */
import { createInterface } from 'node:readline/promises';
import type { Output } from './terminal.ts';

export interface Keyboard {
  /** The typed line; null when the question is withdrawn, or the input has ended. */
  ask(question: string, options: AskOptions): Promise<string | null>;
}

export interface AskOptions {
  /** Aborted: withdraws the question. */
  readonly signal: AbortSignal;
  /** Text on the line that can be edited. Default: none. */
  readonly prefill?: string;
  /** Called for Ctrl-C instead of the interrupt of the command. Default: the interrupt. */
  readonly onInterrupt?: () => void;
}

export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** null: stdin or stderr is not a terminal. `interrupt` is called for Ctrl-C, which the terminal does not send meanwhile. */
export function createKeyboard(stdin: Input, stderr: Output, interrupt: () => void): Keyboard | null {
  if (stdin.isTTY !== true || stderr.isTTY !== true) return null;
  let before = Promise.resolve();
  return {
    ask: async (question, { signal, prefill = '', onInterrupt = interrupt }) => {
      // The end of a question pauses the input, which the next one must not lose.
      const over = Promise.withResolvers<void>();
      const earlier = before;
      before = over.promise;
      await earlier;
      const lines = createInterface({ input: stdin, output: stderr, terminal: true });
      const ended = new Promise<null>((resolve) => lines.once('close', () => resolve(null)));
      lines.once('SIGINT', onInterrupt);
      try {
        const answer = lines.question(question, { signal });
        lines.write(prefill);
        return await Promise.race([answer, ended]);
      } catch (error) {
        if (signal.aborted) return null;
        throw error;
      } finally {
        lines.close();
        over.resolve();
      }
    },
  };
}

/** A signal this soon after the first is an echo from a wrapper or the terminal. */
const ECHO_MS = 1_000;

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

type StopSignal = (typeof STOP_SIGNALS)[number];

interface Interruption {
  readonly signal: AbortSignal;
  readonly receive: (signal: StopSignal) => void;
}

/** `force` is called for a signal more than a second after the first. */
export function createInterruption(
  force: (signal: StopSignal) => void,
  now: () => number = () => performance.now(),
): Interruption {
  const controller = new AbortController();
  let askedAt: number | null = null;
  return {
    signal: controller.signal,
    receive(signal: StopSignal): void {
      if (askedAt === null) {
        askedAt = now();
        controller.abort(new DOMException(signal, 'AbortError'));
      } else if (now() - askedAt > ECHO_MS) {
        force(signal);
      }
    },
  };
}

/** Whether the signal came from the system (a closed terminal, a supervisor) and not from a person's Ctrl-C. */
export function isHangUp({ reason }: AbortSignal): boolean {
  const { message } = Object(reason) as { message?: unknown };
  return message === 'SIGTERM' || message === 'SIGHUP';
}

/** The interruption of this process; a forced end uses the signal itself. */
export function listenForStop(): AbortSignal {
  const { signal: interrupt, receive } = createInterruption((signal) => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
  for (const signal of STOP_SIGNALS) process.on(signal, receive);
  return interrupt;
}
