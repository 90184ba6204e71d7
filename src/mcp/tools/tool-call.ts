/** One call of one tool: the request to the pool, and the two ways in which it can end.
 *  It must never expose the protocol's transport: callers see results and error envelopes only. */
import type { Holds } from '../../platform/bounds/while-it-holds.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { QuestionAnswer, ToolQuestion } from '../../contract/tool/tool-question.ts';
import type { NamedQuestion } from '../questions/questions.ts';
import type { OnSampling } from '../questions/sampling.ts';

export interface ToolProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** The session that a call was sent on. */
export interface ToolCallSession {
  readonly transport: 'stdio' | 'http' | 'sse';
  readonly protocolVersion: string | null;
  readonly sessionId: string | null;
}

export interface ToolCallRequest {
  readonly server: string;
  readonly tool: string;
  /** The tenant that calls: its checks wait for its own. Default: `default`. */
  readonly tenant?: string;
  /** Known secrets are redacted in a successful result, too. Default: as its server is configured. */
  readonly hidesResult?: boolean;
  /** On whose behalf a server with personal logins is called. Default: no one's. */
  readonly account?: string | undefined;
  /** The name of the login of that account. Default: the one that is stored. */
  readonly login?: string | undefined;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Context of the tool beside its arguments; the caller bounds it. Absent or null = nothing. */
  readonly context?: Readonly<Record<string, unknown>> | null;
  /** Cancel or shutdown: ends the call at once as `cancelled`, and notifies the server. */
  readonly signal: AbortSignal;
  /** Most time without progress, connecting included; each progress notification restarts it. */
  readonly timeoutMs: number;
  /** false: a server that is known to be down fails the call at once. Default: the call waits for it. */
  readonly waitsForServer?: boolean;
  /** Most time of the whole call, whatever progress it reports. */
  readonly maxTotalMs: number;
  readonly traceparent: string;
  readonly idempotencyKey: string;
  /** Asked right before it is sent, whatever it waited for until then; null: it is not sent, nor when it does not hold as it is written. Default: it may be. */
  readonly mayBegin?: (() => Promise<Holds | null>) | undefined;
  readonly onProgress?: (progress: ToolProgress) => void;
  /** The answers to what the server asked for before, and its state, unread. Default: it asked for nothing. */
  readonly resume?: ToolCallResume;
  /** A legacy server asks while it works on the call. `withdrawn`: it wants no answer any more. Default: cancelled. */
  readonly onQuestion?: (question: ToolQuestion, withdrawn: AbortSignal) => Promise<QuestionAnswer>;
  /** The server asks a model while it works on the call. Never rejects. Default: it is refused. */
  readonly onSampling?: OnSampling;
  /** Called once, just before the first byte is sent: from then on the tool may have run. */
  readonly onSent?: (session: ToolCallSession) => void;
  /** A digest of where the server is, kept with the task of the call. Default: it is not known. */
  readonly endpoint?: string;
  /** The task of an earlier attempt: it is asked for its end, and the tool is not called. */
  readonly task?: string | null;
  /** Writes down the task that the server has made of the call, before anything else. False: it is not written. */
  readonly keepTask?: (task: string) => Promise<boolean>;
  /** When the signal fires: the call goes on elsewhere, so that its task is not cancelled. Default: it does not. */
  readonly goesOn?: () => boolean;
}

export interface ToolCallResume {
  readonly state: string | null;
  /** Answers by the server's name of each question. */
  readonly answers: Readonly<Record<string, QuestionAnswer>>;
  /** Other responses of the same round, as the protocol has them. Default: none. */
  readonly given?: Responses;
}

export type Responses = Readonly<Record<string, unknown>>;

/** A `CallToolResult` as the server sent it, validated against the protocol and, if structured, against the tool's schema. */
export interface RawToolResult {
  readonly content?: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

export type ToolCallOutcome =
  | { readonly kind: 'result'; readonly result: RawToolResult; readonly task?: TaskUse }
  /** A modern server wants answers first, in another call with the same arguments: until then nothing of it goes on. */
  | {
      readonly kind: 'asks';
      readonly questions: readonly NamedQuestion[];
      readonly state: string | null;
      /** Answers of models in the same round, sent with the others. Default: none. */
      readonly given?: Responses;
      readonly task?: TaskUse;
    }
  /** `sent`: the request may have reached the server, so that the tool may have run. */
  | {
      readonly kind: 'failed';
      readonly error: ErrorEnvelope;
      readonly sent: boolean;
      readonly task?: TaskUse;
    };

/** Outcome of the task that the server made of a call. */
export interface TaskUse {
  /**
   * `ended`: the server has said how; `lost`: it may or may not have completed; `forgotten`: the same, and the server
   * knows nothing of it any more; `kept`: it goes on, and the next attempt asks for its end; `left`: lost, and its
   * server was not reached to cancel it.
   */
  readonly end: 'ended' | 'lost' | 'forgotten' | 'kept' | 'left';
  /** How often it was asked for. */
  readonly polls: number;
}
