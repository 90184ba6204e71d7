// What a program imports with a client of either transport: the errors it catches, the types it names.
// Must never define anything: it only re-exports.
export type { AgentListing, ListedAgent } from './agent-listing.ts';
export type { ApprovalListing, ApprovalQuery, OpenApproval } from './approval-listing.ts';
export type { BudgetListing, ListedBudget } from './budget-listing.ts';
export type { BulkCancelBody, BulkCancellation, BulkRedrive, BulkRedriveBody, ReindexStep } from './bulk.ts';
export type { Cancellation, CancelledDirective } from './cancellation.ts';
export type { DeadLetter, DeadLetterFilter, DeadLetterPage, Redrive, RedriveBody } from './dead-letter.ts';
export type { TextEvent } from './delta-fold.ts';
export type { DirectiveClient, RunClient, SubmitOptions } from './directive-client.ts';
export type { Directive, DirectiveType, SubmittedDirective } from './directive.ts';
export { type EncodedPayload, type PayloadCodec, type PayloadPlace, PayloadUnreadable } from './encrypted.ts';
export type { ErrorEnvelope } from './error-envelope.ts';
export type { Prioritized } from './flow.ts';
export type { LaneListing, ListedLane } from './lane-listing.ts';
export type { AssistantMessage, ContentPart, Message, ToolCall, ToolMessage } from './message.ts';
export type { ModelTurn } from './model-turn.ts';
export {
  DirectiveRefused,
  type FieldError,
  type Problem,
  type ProblemCode,
  ServiceUnavailable,
} from './problem.ts';
export type { DirectiveStatus, DirectiveSummary, DirectiveView, RequestView } from './request-view.ts';
export type { ListedRequest, RequestListing, RequestQuery, RequestStatus } from './request-listing.ts';
export type {
  RequestTimeline,
  TimelineAttempt,
  TimelineCall,
  TimelineDirective,
  TimelineWait,
} from './request-timeline.ts';
export type {
  RequestTrace,
  TracedAttempt,
  TracedDirective,
  TracedEvent,
  TracedRun,
  TracedTurn,
} from './request-trace.ts';
export type { Result } from './result.ts';
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
} from './run.ts';
export type {
  EditedSchedule,
  Firing,
  ListedSchedule,
  ReplacedSchedule,
  ScheduleClient,
  ScheduleListing,
  ScheduleView,
  SubmittedSchedule,
} from './schedule.ts';
export type { SignalPage } from './signal-page.ts';
export type { Signal, SignalType, TerminalSignal, TerminalSignalType } from './signal.ts';
export type { Submission } from './submission.ts';
export type { ListedServer, ListedTool, ToolListing } from './tool-listing.ts';
export type { ListedWorker, WorkerDrain, WorkerListing } from './worker-listing.ts';
export type { InputAnswerBody, OpenInput, RecordedAnswer } from './tool-question.ts';
export type { Usage } from './usage.ts';
export type {
  RepeatPolicy,
  LlmEmbed,
  LlmGenerate,
  LlmStream,
  OfferedTool,
  Reasoning,
  ToolExec,
  WorkDirective,
} from './work-directive.ts';
