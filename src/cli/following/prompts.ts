/** Prompts for the person at the keyboard, one after the other; without a keyboard each is printed with its commands.
 *  It must never decide by itself: what is not answered stays open. */
import { DirectiveRefused } from '../../contract/problem.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { approvalPrompt } from './approvals.ts';
import type { Invocation } from '../invocation.ts';
import type { Keyboard } from '../keyboard.ts';
import { questionKey, questionPrompt } from './questions.ts';

export interface Prompt {
  /** A later prompt with the same key replaces it. */
  readonly key: string;
  /** The call that it is about. */
  readonly callId: string;
  announce(): void;
  /** How to answer elsewhere. */
  printCommands(): void;
  /** Asks and sends the answer; false: it was not answered. Rejects as the client does. */
  answer(keyboard: Keyboard, signal: AbortSignal): Promise<boolean>;
}

export interface Prompts {
  add(prompt: Prompt): void;
  /** Answered here or elsewhere, or over: it is not asked any more. */
  drop(key: string): void;
  /** All that is asked about a call. */
  dropCall(callId: string): void;
  /** Nothing more is asked. */
  close(): void;
}

/** `quiet` is called when a prompt begins and ends, so that nothing is drawn over it. An interrupt withdraws them all. */
export function createPrompts(
  { terminal, keyboard, interrupt }: Pick<Invocation, 'terminal' | 'keyboard' | 'interrupt'>,
  quiet: (asking: boolean) => void,
): Prompts {
  const open = new Map<string, { taken: AbortController; callId: string }>();
  let asked = Promise.resolve();

  async function ask(prompt: Prompt, keys: Keyboard, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    quiet(true);
    prompt.announce();
    try {
      if (!(await prompt.answer(keys, signal)) && !signal.aborted) prompt.printCommands();
    } catch (error) {
      // Decided or ended meanwhile: the signals report it.
      if (!(error instanceof DirectiveRefused)) throw error;
      terminal.err(terminal.paintErr('yellow', error.message));
    } finally {
      // After an interrupt the next question is that of the interrupt.
      if (!interrupt.aborted) quiet(false);
    }
  }

  function drop(key: string): void {
    open.get(key)?.taken.abort();
    open.delete(key);
  }

  return {
    add(prompt) {
      if (keyboard === null) {
        prompt.announce();
        return prompt.printCommands();
      }
      drop(prompt.key);
      const taken = new AbortController();
      open.set(prompt.key, { taken, callId: prompt.callId });
      const withdrawn = AbortSignal.any([taken.signal, interrupt]);
      asked = asked
        .then(async () => ask(prompt, keyboard, withdrawn))
        .catch((error: unknown) => {
          terminal.err(terminal.paintErr('red', String(error)));
          prompt.printCommands();
        });
    },
    drop,
    dropCall(callId) {
      for (const [key, each] of open) if (each.callId === callId) drop(key);
    },
    close() {
      for (const key of open.keys()) drop(key);
    },
  };
}

export function promptFor(
  signal: Signal,
  invocation: Pick<Invocation, 'client' | 'terminal'>,
  requestId: string,
  prompts: Prompts,
): void {
  const { type, data } = signal;
  if (type === 'ai.tool.approval_requested') prompts.add(approvalPrompt(invocation, requestId, data));
  else if (type === 'ai.tool.input_requested') prompts.add(questionPrompt(invocation, requestId, data));
  else if (type === 'ai.tool.input_answered') prompts.drop(questionKey(data.input_id));
  // A call with a result needs no answer any more: it was denied, or its time was up.
  else if (type === 'ai.tool.approval_decided' || type === 'ai.tool.result') prompts.dropCall(data.call_id);
}
