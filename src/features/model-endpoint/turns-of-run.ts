/** The seam between the model endpoint and a run that is not the service's: where a run keeps each of its model calls.
 *  The endpoint submits, follows and answers; the run only decides which directive a call is, and notes how it ended. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ModelWire } from '../../contract/model/model-wire.ts';
import type { ToolCall } from '../../contract/model/message.ts';
import type { Usage } from '../../contract/model/usage.ts';
import type { Principal } from '../../http/access/principal.ts';

/** The directive of a model call: everything else follows from its state in the journal. */
export interface ModelTarget {
  /** Request of this call alone: the endpoint reads its log from the beginning, and the request closes with its answer. */
  readonly requestId: string;
  readonly directiveId: string;
}

/** A model call, as a caller sent it. */
export interface ModelCall {
  readonly wire: ModelWire;
  /** Model as the caller names it: a provider's own name, `provider:model`, or an alias. */
  readonly model: string;
  /** Body as the caller sent it: JSON text, an object at its top. */
  readonly body: string;
  /** The body, parsed. Numbers that a double cannot hold are rounded: `body` has them exactly. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Whether the caller reads a stream of events. */
  readonly isStreamed: boolean;
}

/** Where a run keeps a call. */
export interface TurnOfRun extends ModelTarget {
  /** Headers for the caller beside `adjutant-request`, `adjutant-directive` and `adjutant-replayed`. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Trace of the run, for a caller that names none. Default: a new one. */
  readonly traceparent?: string;
}

/** A complete answer to a call of a run. */
export interface AnsweredTurn {
  /** Tool calls of the answer, in its order; empty: it asks for none. */
  readonly toolCalls: readonly ToolCall[];
  /** null: the provider reported none. */
  readonly usage: Usage | null;
  /** Whether it was answered from the journal: it had ended when the call came. */
  readonly isReplayed: boolean;
}

/**
 * Keeps the model calls of runs. The service makes one, and gives it to the endpoint.
 *
 * The order of a call: `turnFor`; the endpoint submits the directive of the target where it does not exist, joins it while it is under
 * way, or reads its answer; `answered`; then the caller gets the end of the answer.
 */
export interface TurnsOfRun {
  /**
   * The directive of a call in a run. It need not exist: the endpoint submits it under these ids. For the same call of the same pass the
   * target must be the same on every process.
   * @param failed Target that an earlier call of `turnFor` returned for this call, and whose directive has ended in an error: the call is
   * tried again, under another id of a directive. null: none has failed.
   * @param principal Caller; null: no key is asked for.
   * @throws `DirectiveRefused`, which the caller gets in the form of its wire: `not_found` for a run of another caller, `request_closed`.
   */
  turnFor(
    run: string,
    call: ModelCall,
    headers: IncomingHttpHeaders,
    principal: Principal | null,
    failed: ModelTarget | null,
  ): Promise<TurnOfRun>;

  /** Forgets a target that `turnFor` has made, and whose directive was refused: no record remains of the call. */
  refused(run: string, target: ModelTarget): Promise<void>;

  /**
   * Notes the complete answer of a target, which is the one that `turnFor` returned. The endpoint calls it before the caller gets the end of the answer, so a tool call that the answer
   * asks for comes after it, and waits for it. It is called at least once for each answer that a caller got whole: by each caller of the
   * target, replays included, so it must be idempotent. Where the process dies before it, no caller has the whole answer; the call comes again
   * and is a replay, which calls it again. If it rejects, the answer ends with an error, and the caller asks again.
   */
  answered(run: string, target: ModelTarget, answer: AnsweredTurn): Promise<void>;
}
