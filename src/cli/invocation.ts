/** The command line as its verbs see it: the program that they join, and what an invocation of each gets.
 *  It holds no setting of a single verb. */
import type { Command } from 'commander';
import type { AccessClient } from '../contract/access/access.ts';
import type { ForeignRunClient } from '../client/run-client.ts';
import type { ArchiveClient } from '../contract/request/archive.ts';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { ExitCode } from './failure.ts';
import type { Keyboard } from './keyboard.ts';
import type { Terminal } from './terminal.ts';

export interface Invocation {
  /** Reads what is encrypted with a key of the environment. */
  readonly client: DirectiveClient;
  /** Encrypts too, with the first key of the environment; null: there is none. */
  readonly encrypting: DirectiveClient | null;
  /** Address of the service, without a slash at its end. */
  readonly baseUrl: string;
  /** Closed requests as they were archived. */
  readonly archive: ArchiveClient;
  /** Runs that other programs lead. */
  readonly foreignRuns: Pick<ForeignRunClient, 'read'>;
  readonly terminal: Terminal;
  /** null: there is no person to ask. */
  readonly keyboard: Keyboard | null;
  /** Results as JSON, one value per line. */
  readonly json: boolean;
  /** Aborted by an interrupt from the keyboard. */
  readonly interrupt: AbortSignal;
}

export interface KeyInvocation {
  readonly keys: AccessClient;
  readonly terminal: Terminal;
  readonly json: boolean;
}

/** Context of a verb that needs no service. */
export interface LocalInvocation {
  readonly terminal: Terminal;
  readonly interrupt: AbortSignal;
  readonly json: boolean;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where the service is, and the key for it. Throws a usage error. */
  service(): Promise<{ url: string; apiKey?: string }>;
}

/** Gives a verb its invocation; its exit code is that of the process. */
type Runs<T> = (verb: (invocation: T) => Promise<ExitCode>) => Promise<void>;

/** Each file in `commands` adds its verbs to it; `verbs.ts` lists them. */
export interface CommandLine {
  readonly program: Command;
  readonly version: string;
  readonly local: Runs<LocalInvocation>;
  readonly withClient: Runs<Invocation>;
  readonly withKeys: Runs<KeyInvocation>;
}
