/** The form of a row of the matrix: a kind, the public rule or report behind it, what the provider does, and what must come of it. */
import type { Result } from '../../src/contract/result.ts';
import type { RunView } from '../../src/contract/run/run.ts';
import type { ScriptedServers } from '../../src/testing/scripted-tools.ts';
import type { Api, call, CallResult, providersAt } from '../support/model-calls.ts';
import type { ServerResponse } from 'node:http';
import type { Mode, Said } from './wires.ts';

/** A request as the provider has received it. */
export interface Seen {
  /** Byte for byte. */
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** A `Said` is written in the form of the wire. */
export type Reply = Said | Write;
export type Write = (response: ServerResponse) => void | Promise<void>;

export interface Cell {
  readonly wire: Api;
  readonly mode: Mode;
}

interface Kind {
  /** Short, and unique in the table. */
  readonly kind: string;
  /** The documentation or report that the provider's part is taken from. */
  readonly rule: string;
  /** Default: all five. */
  readonly wires?: readonly Api[];
  /** Default: both. */
  readonly modes?: readonly Mode[];
  /** It ends by a deadline. Default: false. */
  readonly waits?: boolean;
  /** The name of the model, where it matters; unique in the table. Default: made of `kind`. */
  readonly model?: string;
  /** The answer to the request with this number. */
  readonly says: (cell: Cell, index: number, seen: Seen) => Reply;
}

/** A single directive, executed without a queue. */
export interface CallRow extends Kind {
  readonly through: 'call';
  readonly asks?: Partial<Parameters<typeof call>[0]>;
  /** Settings of the provider. */
  readonly settings?: NonNullable<Parameters<typeof providersAt>[2]>;
  readonly expects: (result: CallResult, seen: readonly Seen[], cell: Cell) => void;
}

/** A run of an agent in a whole service. */
export interface RunRow extends Kind {
  readonly through: 'run';
  /** The agent of the run. Default: `plain`. */
  readonly agent?: keyof typeof AGENTS;
  readonly query?: string;
  readonly expects: (run: RunView, seen: readonly Seen[], cell: Cell) => void;
}

/** A directive in a whole service. */
export interface ServiceRow extends Kind {
  readonly through: 'service';
  readonly asks?: Record<string, unknown>;
  /** Whether the directive names the alias whose next model is one that answers `the next model`. */
  readonly chained?: boolean;
  readonly expects: (result: Result, seen: readonly Seen[], cell: Cell) => void;
}

export type Row = CallRow | RunRow | ServiceRow;

export const AGENTS = {
  plain: {},
  /** Ends within the time of a test when the model answers with an error each time. */
  hasty: { model_call: { max_retries: 1, retry_backoff_ms: 10 } },
  /** A small context, which it may fill. */
  small: { compaction: { context_tokens: 8_192 } },
  instructed: { system_prompt: 'Be brief. '.repeat(50) },
} as const;

/** A result of a normal page: longer than 16,384 characters. */
export const LONG_RESULT = `${'a page of text '.repeat(1_400)}THE END`;
export const HANDLES = { next_page_token: 'page-2', issue_key: 'OPS-7', s3_key: 'in/a.csv' };
/** Half a surrogate pair, as JSON may carry it. */
const HALF = 'half \ud83d end';
export const RAN = 'THE TOOL RAN';
export const NEXT_ANSWER = 'the next model';

export const TOOLS: ScriptedServers = {
  t: {
    purge: { run: () => RAN },
    half: { run: () => HALF },
    handles: { run: () => HANDLES },
    page: { run: () => LONG_RESULT },
    list: { run: () => ({ members: Array.from({ length: 150 }, (_, at) => `member-${at}-end`) }) },
  },
};
