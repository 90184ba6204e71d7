/** Asks the person at the keyboard.
 *  It must never be used without a terminal: then there is no keyboard. */
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
}

export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** null: stdin or stderr is not a terminal. `interrupt` is called for Ctrl-C, which the terminal does not send meanwhile. */
export function createKeyboard(stdin: Input, stderr: Output, interrupt: () => void): Keyboard | null {
  if (stdin.isTTY !== true || stderr.isTTY !== true) return null;
  return {
    ask: async (question, { signal, prefill = '' }) => {
      const lines = createInterface({ input: stdin, output: stderr, terminal: true });
      const ended = new Promise<null>((resolve) => lines.once('close', () => resolve(null)));
      lines.once('SIGINT', interrupt);
      try {
        const answer = lines.question(question, { signal });
        lines.write(prefill);
        return await Promise.race([answer, ended]);
      } catch (error) {
        if (signal.aborted) return null;
        throw error;
      } finally {
        lines.close();
      }
    },
  };
}
