// The one interface through which programs use the service, over any transport. Has no method that only one transport
// supports.
import type { RuntimePolicyClient } from '../policy/runtime-policy.ts';
import type { RuntimeAgentClient } from '../run/runtime-agent.ts';
import type { Reconciliation } from '../tool/reconciliation.ts';
import type { OfTenant } from '../runtime-definition.ts';
import type { RuntimeServerClient } from '../tool/runtime-server.ts';
import type { BulkDecision, BulkDecisionBody } from '../run/bulk-decision.ts';
import type { AgentListing } from '../run/agent-listing.ts';
import type { AgainBody, ForkBody, RepeatedRequest } from '../run/again.ts';
import type { ApprovalListing, ApprovalQuery } from '../run/approval-listing.ts';
import type { BudgetListing } from '../model/budget-listing.ts';
import type { BulkCancelBody, BulkCancellation, BulkRedrive, BulkRedriveBody, ReindexStep } from './bulk.ts';
import type { Cancellation } from './cancellation.ts';
import type {
  DeadLetterFilter,
  DeadLetterGroups,
  DeadLetterPage,
  Redrive,
  RedriveBody,
} from './dead-letter.ts';
import type { SubmittedDirective } from './directive.ts';
import type { Prioritized } from './flow.ts';
import type { LaneListing } from '../request/lane-listing.ts';
import type { RecordedScore, ScoreBody } from '../case/score.ts';
import type { RequestListing, RequestQuery } from '../request/request-listing.ts';
import type { Search, SearchQuery } from '../request/search.ts';
import type { Stats, StatsQuery } from '../request/stats.ts';
import type { RequestTrace } from '../request/request-trace.ts';
import type { DirectiveView, RequestView } from '../request/request-view.ts';
import type {
  AcceptedInput,
  ApprovalDecisionBody,
  RecordedDecision,
  ResumedRun,
  ResumeRunBody,
  RunInputBody,
  RunView,
  StartedRun,
  SubmittedRun,
} from '../run/run.ts';
import type { ScheduleClient } from '../schedule/schedule.ts';
import type { SignalPage } from '../signal/signal-page.ts';
import type { Signal, TerminalSignal } from '../signal/signal.ts';
import type { Submission } from './submission.ts';
import type { ServerOutput } from '../tool/server-output.ts';
import type { ToolListing } from '../tool/tool-listing.ts';
import type { InputAnswerBody, RecordedAnswer } from '../tool/tool-question.ts';
import type { WorkerDrain, WorkerListing } from '../request/worker-listing.ts';

/** Options of a submission. */
export interface SubmitOptions {
  /** Aborts the call, not what was accepted. */
  signal?: AbortSignal;
  /** Names the submission: the same key with the same directives is the same submission. */
  idempotencyKey?: string;
  /** Time to wait for results, in milliseconds; those that arrive in time are in the submission. Default: 0. */
  waitMs?: number;
  /** W3C trace that the directives belong to. Default: a new one. */
  traceparent?: string;
}

/** Options of the start of a run. */
export interface StartOptions {
  /** Names the submission: the same key with the same run is the same submission. Default: `request_id` names it. */
  idempotencyKey?: string;
  /** W3C trace that the run belongs to. Default: a new one. */
  traceparent?: string;
}

/** Calls that concern runs. An unknown agent, run or approval is refused with `not_found`. */
export interface RunCalls {
  /** Resolves once the run is durable. The same `request_id` or idempotency key with the same content is the same run. */
  start(run: SubmittedRun, options?: StartOptions): Promise<StartedRun>;
  /** Sends text to a run in progress; refused with `request_closed` once its inputs are sealed, `input_queue_full` at 64. */
  input(requestId: string, input: RunInputBody): Promise<AcceptedInput>;
  /**
   * Resumes a run that has failed, was cancelled or reached a limit, from the step that failed. Refused with `not_resumable` where it cannot
   * go on, and with `outcome_unknown` until `decisions` names each call that may have acted.
   */
  resume(requestId: string, body?: ResumeRunBody, options?: StartOptions): Promise<ResumedRun>;
  /** Approves or denies a tool call that waits for approval, or (with the id of a budget) more budget. */
  decide(requestId: string, callId: string, decision: ApprovalDecisionBody): Promise<RecordedDecision>;
  /** Decides about several calls and budgets, each as `decide` does; what is refused is in the answer, and keeps no other from its decision. */
  decideAll(decision: BulkDecisionBody): Promise<BulkDecision>;
}

/** Client for runs. */
export interface RunClient extends RunCalls {
  /**
   * Starts a run and waits for its end, whatever that is: `status` and `termination_reason` of the view tell. After `timeoutMs` it throws
   * `ServiceUnavailable`, and the run continues. Default: it waits without a limit.
   */
  run(
    run: SubmittedRun,
    options?: StartOptions & { timeoutMs?: number; signal?: AbortSignal },
  ): Promise<RunView>;
}

interface EndOfType {
  tool_exec: 'ai.tool.result';
  llm_stream: 'ai.llm.response';
  llm_generate: 'ai.llm.response';
  llm_embed: 'ai.embed.result';
  llm_request: 'ai.llm.response';
  emit_tool_error: 'ai.tool.result';
  emit_tool_result: 'ai.tool.result';
  emit_request_error: 'ai.request.error';
}

/** The terminal signal of a directive, by its `type`; any for a custom directive, which has no type here. */
export type EndOf<Submitted extends SubmittedDirective> = [Submitted] extends [never]
  ? TerminalSignal
  : Extract<TerminalSignal, { type: EndOfType[Submitted['type']] }>;

/** Every method throws `DirectiveRefused` when the service refuses, `ServiceUnavailable` when it does not answer. */
export interface DirectiveClient {
  /** Resolves once every directive is durable; all are accepted or none. */
  submit(
    directives: SubmittedDirective | readonly SubmittedDirective[],
    options?: SubmitOptions,
  ): Promise<Submission>;

  /**
   * Submits one directive and waits for its end; the type of the signal follows from that of the directive. Throws `ServiceUnavailable`
   * after `timeoutMs` milliseconds; the directive continues. Default: no limit.
   */
  execute<Submitted extends SubmittedDirective>(
    directive: Submitted,
    options?: SubmitOptions & { timeoutMs?: number },
  ): Promise<EndOf<Submitted>>;

  /** Waits for the signal that ends a directive, at most `timeoutMs` milliseconds; null: it has not ended. Default: no limit. */
  result(
    requestId: string,
    directiveId: string,
    options?: { signal?: AbortSignal; timeoutMs?: number },
  ): Promise<TerminalSignal | null>;

  /** Signals after the sequence number `after` (default: 0), in order and without repeats; with `follow` (default: true) until the request is closed. */
  signals(
    requestId: string,
    options?: { after?: number; signal?: AbortSignal; follow?: boolean },
  ): AsyncIterable<Signal>;

  /** One page of signals after the sequence number `after` (default: 0). */
  page(requestId: string, options?: { after?: number; limit?: number }): Promise<SignalPage>;
  /** View of a request; null: it does not exist. */
  request(requestId: string): Promise<RequestView | null>;
  /** Requests that match every filter, newest first. Changes of the last second may be missing. */
  requests(query?: RequestQuery): Promise<RequestListing>;
  /** Requests, tools, agents and schedules that contain some words. */
  search(query: SearchQuery): Promise<Search>;
  /** Statistics over time. Refused with `forbidden` where the caller may not read the tenant that it names. */
  stats(query?: StatsQuery): Promise<Stats>;
  /** Open approvals of calls and budgets, and open questions of tools. */
  approvals(query?: ApprovalQuery): Promise<ApprovalListing>;
  /** Trace of a request. `limit`: maximum number of directives. Refused with `not_found` where the request does not exist. */
  trace(requestId: string, options?: { limit?: number | undefined }): Promise<RequestTrace>;
  /** View of a directive; null: it does not exist. */
  directive(requestId: string, directiveId: string): Promise<DirectiveView | null>;
  /** Whole payload of a success, also where its signal holds a preview. Refused with `not_found` where none is stored. */
  payload(requestId: string, directiveId: string): Promise<unknown>;

  /**
   * Runs a request again, as a new one, with changes where some are given. Refused with `not_found` where the original does not exist,
   * `encryption_required` where it is encrypted.
   */
  again(requestId: string, changes?: AgainBody, options?: StartOptions): Promise<RepeatedRequest>;
  /**
   * Continues a run from one of its turns, in a new request: the turns before are neither asked nor paid for again, and no `once` tool
   * acts twice without a decision. Refused as `again` is.
   */
  fork(requestId: string, fork: ForkBody, options?: StartOptions): Promise<RepeatedRequest>;

  /** Cancels one directive, or all of a request; running work is aborted on its worker. Refuses what does not exist. */
  cancel(requestId: string, directiveId?: string, options?: { reason?: string }): Promise<Cancellation>;

  /**
   * Changes the priority (0 to 9) of a directive that waits for its turn; the same again is the same. Refused with `not_waiting`
   * where it runs, has ended, takes no turn, or a rule fixes its priority.
   */
  prioritize(requestId: string, directiveId: string, priority: number): Promise<Prioritized>;

  /**
   * Answers a question that the tool of a directive asks. The first answer counts: the same one again changes nothing, another one
   * is refused (`already_decided`). Refused with `not_found` where no such question was asked, `request_closed` once it is over.
   */
  answer(requestId: string, inputId: string, answer: InputAnswerBody): Promise<RecordedAnswer>;

  /**
   * Scores a request, also after it has closed; the score is its signal `score.recorded`. The same `score_id` with the same content is
   * the same score, other content is refused (`id_conflict`). Refused with `not_found` where the request does not exist.
   */
  score(requestId: string, score: ScoreBody): Promise<RecordedScore>;

  /** Directives that ended in an error, newest first unless `order` is `oldest`; `after` is the `next` of the page before. */
  deadLetters(
    query?: DeadLetterFilter & {
      order?: 'newest' | 'oldest' | undefined;
      after?: string;
      limit?: number;
      tenant?: string | undefined;
    },
  ): Promise<DeadLetterPage>;
  /** How many dead letters there are of each lane, type of error and hour. */
  deadLetterGroups(query?: { tenant?: string | undefined }): Promise<DeadLetterGroups>;
  /** Finds out whether a tool call of unknown outcome happened. Refused with `outcome_known` for another one. */
  reconcile(requestId: string, directiveId: string): Promise<Reconciliation>;
  /** Makes new directives from dead letters, each linked to the old one by `metadata.redrive_of`. Answers after 20 s with what it has done. */
  redrive(which: RedriveBody, options?: { signal?: AbortSignal }): Promise<Redrive>;

  /** Cancels the requests that a filter chooses; with `dry_run` it only names them. */
  cancelAll(body: BulkCancelBody, options?: { signal?: AbortSignal }): Promise<BulkCancellation>;
  /** Redrives the dead letters of the requests that a filter chooses; with `dry_run` it only names them. */
  redriveAll(body: BulkRedriveBody, options?: { signal?: AbortSignal }): Promise<BulkRedrive>;
  /** One step of building the list of requests anew; `cursor` is the `next` of the step before. */
  reindex(options?: { cursor?: string | undefined }): Promise<ReindexStep>;

  /** Runs of agents. */
  readonly runs: RunClient;

  /** Submissions by a cron expression or an interval. */
  readonly schedules: ScheduleClient;

  /** Servers that the tenant adds while the installation runs. */
  readonly servers: RuntimeServerClient;

  /** Agents that the tenant adds while the installation runs. */
  readonly runtimeAgents: RuntimeAgentClient;

  /** Policies that the tenant adds while the installation runs. */
  readonly policies: RuntimePolicyClient;

  /** The agents that runs can use. */
  agents(options?: OfTenant): Promise<AgentListing>;
  /** Tools of all servers. `remembered` adds those of servers that no worker serves now, as they were within a day. Default: false. */
  tools(options?: { remembered?: boolean }): Promise<ToolListing>;
  /** Newest lines that the program of an MCP server has written to stderr. Refused with `not_found` for an unknown server. */
  serverOutput(server: string): Promise<ServerOutput>;
  /** Lanes with their waiting and active directives. */
  lanes(): Promise<LaneListing>;
  /** Budgets of today that apply to the tenant. A key without `admin` sees no budget of another key. */
  budgets(): Promise<BudgetListing>;
  /** The processes of the installation. */
  workers(): Promise<WorkerListing>;
  /** Asks a process to take no more work, or (`drain` false) to resume. Refused with `not_found` for an unknown process or an API alone. */
  drainWorker(id: string, drain?: boolean): Promise<WorkerDrain>;
  /** Ends open streams and releases connections. */
  close(): Promise<void>;
}
