/** What a verb that talks to the service works with.
 *  It must never hold a setting of a single verb. */
import type { DirectiveClient } from '../contract/directive-client.ts';
import type { ExitCode } from './failure.ts';
import type { Keyboard } from './keyboard.ts';
import type { Terminal } from './terminal.ts';

export interface Invocation {
  readonly client: DirectiveClient;
  readonly terminal: Terminal;
  /** null: nobody sits there. */
  readonly keyboard: Keyboard | null;
  /** Results as JSON, one value a line. */
  readonly json: boolean;
  /** Aborted by an interrupt from the keyboard. */
  readonly interrupt: AbortSignal;
}

/** Gives a verb its client, and closes it when the verb has ended. */
export type WithClient = (verb: (invocation: Invocation) => Promise<ExitCode>) => Promise<void>;
