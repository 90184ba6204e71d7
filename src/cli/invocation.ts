/** What a verb that calls the service gets.
 *  It must never hold a setting of a single verb. */
import type { DirectiveClient } from '../contract/directive-client.ts';
import type { ExitCode } from './failure.ts';
import type { Keyboard } from './keyboard.ts';
import type { Terminal } from './terminal.ts';

export interface Invocation {
  /** Reads what is encrypted with a key of the environment. */
  readonly client: DirectiveClient;
  /** Encrypts too, with the first key of the environment; null: there is none. */
  readonly encrypting: DirectiveClient | null;
  readonly terminal: Terminal;
  /** null: there is no person to ask. */
  readonly keyboard: Keyboard | null;
  /** Results as JSON, one value per line. */
  readonly json: boolean;
  /** Aborted by an interrupt from the keyboard. */
  readonly interrupt: AbortSignal;
}

/** Gives a verb its client, and closes it when the verb has ended. */
export type WithClient = (verb: (invocation: Invocation) => Promise<ExitCode>) => Promise<void>;
