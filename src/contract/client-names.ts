// The names that a program imports with a client of either transport: errors that it catches, types that it names. Only
// re-exports.
export type { AgentListing, ListedAgent } from './run/agent-listing.ts';
export type { ApprovalListing, ApprovalQuery, OpenApproval } from './run/approval-listing.ts';
export type { BudgetListing, ListedBudget } from './model/budget-listing.ts';
export type {
  BulkCancelBody,
  BulkCancellation,
  BulkRedrive,
  BulkRedriveBody,
  ReindexStep,
} from './directive/bulk.ts';
export type { Cancellation, CancelledDirective } from './directive/cancellation.ts';
export type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  Redrive,
  RedriveBody,
} from './directive/dead-letter.ts';
export type { TextEvent } from './model/delta-fold.ts';
export type { DirectiveClient, RunClient, SubmitOptions } from './directive/directive-client.ts';
export type { Directive, DirectiveType, SubmittedDirective } from './directive/directive.ts';
export type { EncodedPayload, PayloadCodec, PayloadPlace } from './encrypted/encrypted.ts';
export type { ErrorEnvelope } from './error-envelope.ts';
export type { Prioritized } from './directive/flow.ts';
export type { CloseRunBody, ForeignRunView } from './run/foreign-run.ts';
export type { LaneListing, ListedLane } from './request/lane-listing.ts';
export type { AssistantMessage, ContentPart, Message, ToolCall, ToolMessage } from './model/message.ts';
export type { ModelTurn } from './model/model-turn.ts';
export {
  DirectiveRefused,
  type FieldError,
  type Problem,
  type ProblemCode,
  ServiceUnavailable,
} from './problem.ts';
export type {
  DirectiveStatus,
  DirectiveSummary,
  DirectiveView,
  RequestView,
} from './request/request-view.ts';
export type {
  ListedRequest,
  RequestListing,
  RequestQuery,
  RequestStatus,
} from './request/request-listing.ts';
export type {
  RequestTimeline,
  TimelineAttempt,
  TimelineCall,
  TimelineDirective,
  TimelineWait,
} from './request/request-timeline.ts';
export type {
  RequestTrace,
  TracedAttempt,
  TracedDirective,
  TracedEvent,
  TracedRun,
  TracedTurn,
} from './request/request-trace.ts';
export type { Search, SearchQuery } from './request/search.ts';
export type { Stats, StatsCounts, StatsQuery } from './request/stats.ts';
export type { ServerOutput } from './tool/server-output.ts';
export type { Result } from './result.ts';
export type { AgainBody, ForkBody, RepeatedRequest } from './run/again.ts';
export type { RequestOrigin } from './run/run-origin.ts';
export type {
  AcceptedInput,
  ApprovalDecisionBody,
  RecordedDecision,
  RunInputBody,
  RunOverrides,
  RunStatus,
  RunView,
  RunWait,
  StartedRun,
  SubmittedRun,
} from './run/run.ts';
export type {
  EditedSchedule,
  Firing,
  ListedSchedule,
  ReplacedSchedule,
  ScheduleClient,
  ScheduleListing,
  ScheduleView,
  SubmittedSchedule,
} from './schedule/schedule.ts';
export type { RecordedScore, ScoreBody } from './case/score.ts';
export type { SignalPage } from './signal/signal-page.ts';
export type { Signal, SignalType, TerminalSignal, TerminalSignalType } from './signal/signal.ts';
export type { Submission } from './directive/submission.ts';
export type { ListedServer, ListedTool, ToolListing } from './tool/tool-listing.ts';
export type { ListedWorker, WorkerDrain, WorkerListing } from './request/worker-listing.ts';
export type { InputAnswerBody, OpenInput, RecordedAnswer } from './tool/tool-question.ts';
export type { RawAnswer, RawHead, RawTurn } from './model/raw-answer.ts';
export type { Usage } from './model/usage.ts';
export type {
  RepeatPolicy,
  LlmEmbed,
  LlmGenerate,
  LlmRequest,
  LlmStream,
  OfferedTool,
  Reasoning,
  ToolExec,
  WorkDirective,
} from './directive/work-directive.ts';
