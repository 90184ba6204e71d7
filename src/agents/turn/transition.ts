// The seam between the pure engine and its shell: the input of a turn, and what it wants written and done.
// Must never hold code that runs.
import type { Spender } from '../../contract/model/budget.ts';
import type { FlowFields } from '../../contract/directive/flow.ts';
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import type { Result } from '../../contract/result.ts';
import type { RequestOrigin } from '../../contract/run/run-origin.ts';
import type { RunOverrides, RunStatus, RunView } from '../../contract/run/run.ts';
import type { Signal, SignalDraft } from '../../contract/signal/signal.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import type { OnEnd } from '../../contract/signal/webhook.ts';

/** JSON object whose members are unknown. */
export type JsonObject = Record<string, unknown>;

/** A tool call that another run has made, and its result. */
export interface RecordedCall {
  tool_name: string;
  /** Digest of the arguments. */
  digest: string;
  request_id: string;
  call_id: string;
  /** null: whether the tool has acted is unknown, or not decided yet. */
  result: Result | null;
  /** Text of the result that the model reads. */
  content: string;
}

/** How the tools of a fork act, beside the policies of its agent. */
export interface ForkedTools {
  /** A `once` tool is called without a question, unless an equal call is recorded or may have acted. */
  act: boolean;
  /** No tool is called. */
  dry: boolean;
  /** Calls from the turn of the fork on first, then those before it. */
  record: readonly RecordedCall[];
}

/** `tools`: absent: they act as in any run. */
export type RunOrigin = RequestOrigin & { tools?: ForkedTools | undefined };

/** The input and settings that the run was started with; written once. */
export interface RunSpec {
  request_id: string;
  run_id: string;
  agent: string;
  query: string;
  /** The conversation before this run and the messages given with it, the query as the last one. */
  messages: readonly JsonObject[];
  overrides: RunOverrides;
  metadata: JsonObject;
  conversation_id: string | null;
  /** `depth` of the first run is 0, that of its children is 1. */
  parent: { request_id: string; tag: string; depth: number } | null;
  /** On whose budget its models are called; absent: it was started without a key. */
  spender?: Spender | undefined;
  /** Priority and limits of the directives that it makes, and of its children; absent: none. */
  flow?: FlowFields | undefined;
  /** The request that it repeats or was forked from; absent: none. */
  origin?: RunOrigin | undefined;
  /** The endpoints notified of its end; []: those that the rules name; absent: none. */
  on_end?: OnEnd | undefined;
  /** As its sender encrypted it; absent: it came in clear, or its first turn is over. */
  encrypted?: unknown;
  /** The content that an engine has encrypted after the first turn; absent: none. */
  sealed?: unknown;
  /** Milliseconds since the epoch, by the clock of Redis. */
  started_at: number;
}

/** Added by the first turn, unchanged in all later ones: the agent and its tools as they were then. */
export interface RunSetup {
  agent: AgentDefinition;
  /** The tools of the catalog that the agent may use, in the order of their names. */
  tools: readonly ListedTool[];
}

/** Everything that a turn reads of earlier ones; JSON. Only the pure side reads `inner`. */
export interface RunDocument {
  status: RunStatus;
  setup: RunSetup;
  /** When a turn is due without a signal (timers, approvals, the deadline); ms since the epoch, null = never. */
  wake_at: number | null;
  /** Work outside the request, in order; each entry is repeated until it is done. */
  outbox: OutboxEntry[];
  /** How many folded `ai.request.input` no model call has read yet; the shell limits how many more may come. */
  inputs: number;
  /** Strategy, gate, budget, timers, children, counters. */
  inner: JsonObject;
  /**
   * The content that an engine has encrypted; `inner` and `outbox` then hold only what every reader may see. Never in a
   * turn.
   */
  sealed?: unknown;
}

/** `id` is unique in the run and the same at every repeat, so that the receiver recognises a repeat. */
export type OutboxEntry =
  | {
      id: string;
      kind: 'start_child';
      child_request_id: string;
      tag: string;
      agent: string;
      /** A string is the child's query; anything else becomes its query as JSON text. */
      input: unknown;
      overrides: RunOverrides;
      /** Depth of the child, for its `parent.depth`. */
      depth: number;
    }
  /** Appends `signal` to another run's log and unread list. */
  | { id: string; kind: 'signal_run'; request_id: string; signal: EmittedSignal }
  /** Cancels only these directives: the request may hold others, and more of them at each repeat. */
  | { id: string; kind: 'cancel_directives'; directive_ids: readonly string[]; reason: string }
  /** Cancels those of these directives that have no running attempt. */
  | { id: string; kind: 'withdraw_directives'; directive_ids: readonly string[]; reason: string }
  /** Cancels another request as it was at `asked_at` (ms since the epoch), and its run if it has one. */
  | { id: string; kind: 'cancel_request'; request_id: string; reason: string; asked_at: number }
  /** The run has ended: the next one of the conversation may begin, with these messages as its history; null = unchanged. */
  | { id: string; kind: 'end_conversation'; conversation_id: string; messages: readonly JsonObject[] | null };

/** A signal as the core emits it; the shell adds identity, time, trace and cause. */
export interface EmittedSignal {
  type: SignalDraft['type'] | (string & {});
  source?: string | undefined;
  /** Its subject; absent = the request. Signals of the service's own types are always about the request. */
  subject?: string | undefined;
  data: JsonObject;
  /** Id of the signal or directive that caused it; absent = the signal the turn reads. */
  cause?: string;
}

/** Facts of an ended run that a resume needs. */
export interface InterruptedRun {
  /** The directives whose answers the resumed run reads. */
  calls: readonly string[];
  /** Sequence of a further signal that it reads again; null: none. */
  signal: number | null;
  agent: AgentDefinition;
}

/** The core's input: a signal of the run's own log that concerns it, or the clock. */
export type RunEvent =
  /** `refusal`: why a run that is resumed cannot go on after all; absent: it can. */
  | { kind: 'signal'; signal: Signal; refusal?: { reason: string; message: string } | undefined }
  | { kind: 'clock' };

/** A custom directive: its own fields beside these. */
export interface CustomDirectiveBody {
  type: string;
  id: string;
  request_id: string;
  metadata: JsonObject;
  [param: string]: unknown;
}

/** An entry for operators only. */
export interface LogEntry {
  level: 'info' | 'warn' | 'error';
  message: string;
  details: JsonObject;
}

/** The result of one event. The turn folds events, then writes the last document and all the rest at once. */
export interface Transition {
  document: RunDocument;
  /** Appended to the run's log in this order, before the directives are accepted. */
  signals: EmittedSignal[];
  /** Accepted with this turn, all or none. Their ids are unique in the run and deterministic. */
  directives: (Directive | CustomDirectiveBody)[];
  /** For the log of the process, once the turn is committed. */
  log: LogEntry[];
}

/**
 * The pure core as the shell sees it. No method does I/O, throws, or reads a clock.
 * Of the signals that one turn reads, `ai.request.input` is folded first, so that an answer in the same turn does not
 * end a run that has an unread input.
 */
export interface EngineCore {
  /** The document before the first event; emits `ai.request.started`, and what the strategy does first. */
  begin(spec: RunSpec, setup: RunSetup, now: number): Transition;
  /**
   * The only transition of a run that cannot begin (`unknown_agent`, `busy`, an unknown allowed tool, `deadline` while
   * it waited for its conversation). Its status is `cancelled` for the reason `cancelled`, `timeout` for `deadline`,
   * else `failed`.
   */
  refuse(
    spec: RunSpec,
    error: { reason: string; message: string; details?: JsonObject },
    now: number,
  ): Transition;
  /**
   * The turn computed from `document` cannot be written (`queue_overflow`, `id_conflict`) or broke (`internal_error`):
   * the run fails with this error. The signals of that turn count as read.
   */
  fail(
    spec: RunSpec,
    document: RunDocument,
    error: { reason: string; message: string; details?: JsonObject },
    now: number,
  ): Transition;
  advance(spec: RunSpec, document: RunDocument, event: RunEvent, now: number): Transition;
  /** The outbox entry is done; `failure` says why it can never be done (a child that cannot start). */
  acknowledge(
    spec: RunSpec,
    document: RunDocument,
    entryId: string,
    failure: string | null,
    now: number,
  ): Transition;
  view(spec: RunSpec, document: RunDocument): Omit<RunView, 'ended_at'>;
  /** Whether a signal in the log concerns the run; others never reach its unread list. */
  concerns(type: string): boolean;
}
