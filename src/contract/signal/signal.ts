// All signals: the data of each type, their union, and which of them end a directive.
// Must never carry a secret: the writer redacts arguments.
import * as z from 'zod';
import { requestOriginSchema } from '../run/run-origin.ts';
import {
  directiveIgnored,
  directiveReconciled,
  directiveRejected,
  directiveWaiting,
  policyDecided,
  retryScheduled,
} from './directive-signals.ts';
import { customSignalSchema, callIdSchema, metadataSchema, signalType } from './signal-envelope.ts';
import { resultSchema } from '../result.ts';
import { usageSchema } from '../model/usage.ts';
import { instantSchema, toolNameSchema, identifierSchema, jsonObjectSchema } from '../identifiers.ts';
import { inputActionSchema, inputCauseSchema, openInputSchema } from '../tool/tool-question.ts';
import { orEncrypted } from '../encrypted/encrypted.ts';
import { rawHeadSchema } from '../model/raw-answer.ts';
import { agentNameSchema } from '../run/agent-definition.ts';
import { resumeOverridesSchema, unknownDecisionSchema } from '../run/run.ts';

const name = z.string().min(1).max(128);

/** Text sent to a run under way. */
const requestInput = signalType('ai.request.input', '/ai/request', {
  request_id: identifierSchema.describe('Id of the request.'),
  input_id: identifierSchema.describe('Id of the input.'),
  content: z.string().describe('Text of the input.'),
  input_source: z.string().optional().describe('Origin of the input. Absent: unknown.'),
});

/** Signal `ai.request.cancel_requested`: the requested cancellation of a run. */
const requestCancelRequested = signalType('ai.request.cancel_requested', '/ai/request', {
  request_id: identifierSchema.describe('Id of the request.'),
  reason: z.string().nullable().describe('Reason of the cancellation; null: none given.'),
});

/** Signal `ai.request.resumed`: a run goes on after its end. */
const requestResumed = signalType('ai.request.resumed', '/ai/request', {
  request_id: identifierSchema.describe('Id of the request.'),
  resumed: z.int().min(1).describe('Number of resumes of the run, this one included.'),
  overrides: resumeOverridesSchema.optional().describe('Changes to the agent from here on. Absent: none.'),
  input: z
    .object({
      input_id: identifierSchema.describe('Id of the input.'),
      content: z.string().describe('Text that the run reads before its next model call.'),
    })
    .optional()
    .describe('Input that came with the resume. Absent: none.'),
  decisions: z
    .record(z.string(), unknownDecisionSchema)
    .optional()
    .describe('Decisions about calls of unknown outcome, by the id of the call. Absent: none.'),
});

/** Signal `ai.tool.approval_decided`: the decision about a call. */
const toolApprovalDecided = signalType('ai.tool.approval_decided', '/ai/tool', {
  call_id: z.string().min(1).describe('Id of the call that the decision concerns.'),
  decision: z.enum(['approve', 'deny']).describe('Decision about the call.'),
  reason: z.string().optional().describe('Reason of the decision.'),
  arguments: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Arguments that replace those of the call, with secrets redacted. Absent: unchanged.'),
  by: z.string().optional().describe('Name of the deciding person, as the caller stated it.'),
});

/** A `schedule` directive has come due. */
const agentScheduled = signalType('agent.scheduled', '/agent', {
  timer_id: name.describe('Id of the timer.'),
  message: z.unknown().describe('Message of the timer, any JSON value.'),
  metadata: metadataSchema,
});

/** Signal `agent.child.started`: the start of a child run. */
const agentChildStarted = signalType('agent.child.started', '/agent', {
  tag: name.describe("Name of the child within its parent's run."),
  child_request_id: identifierSchema.describe("Id of the child's request."),
  agent: agentNameSchema.describe('Name of the agent that the child runs.'),
  metadata: metadataSchema,
});

/** `status` is that of the child's run at its end. */
const agentChildExit = signalType('agent.child.exit', '/agent', {
  tag: name.describe("Name of the child within its parent's run."),
  child_request_id: identifierSchema.describe("Id of the child's request."),
  status: z.string().describe("Status of the child's run at its end."),
  result: z.unknown().describe('Result of the child; null: none.'),
  error: z.unknown().describe('Error of the child; null: none.'),
  metadata: metadataSchema,
});

/** The error of an agent's `error` directive, whatever its policy. */
const agentError = signalType('agent.error', '/agent', {
  error: z.unknown().describe('Error, any JSON value.'),
  context: z.unknown().describe('Context of the error, any JSON value.'),
  metadata: metadataSchema,
});

/** A tool's `tier_change` was applied: model calls use this alias from now on. `previous` null = the agent's own model. */
const agentTierChanged = signalType('agent.tier_changed', '/agent', {
  call_id: z.string().min(1).describe('Id of the tool call that asked for the change.'),
  tier: z.string().describe('Model alias from now on.'),
  previous: z.string().nullable().describe('Model alias before; null: the model of the agent.'),
  reason: z.string().describe('Reason of the change.'),
  task_state: z
    .string()
    .optional()
    .describe(
      'State of the task at the handoff, in the words of the tool, as in `plan_ready`. Absent: the tool gave none.',
    ),
  metadata: metadataSchema,
});

/** A tool's `phase_change` was applied. `previous` null = the run was in no phase. */
const agentPhaseChanged = signalType('agent.phase_changed', '/agent', {
  call_id: z.string().min(1).describe('Id of the tool call that asked for the change.'),
  phase: z.string().describe('Phase from now on.'),
  previous: z.string().nullable().describe('Phase before; null: none.'),
  metadata: metadataSchema,
});

/** Notifies a child that its parent has ended; the child's own policy decides what follows. */
const agentParentExit = signalType('agent.parent.exit', '/agent', {
  parent_request_id: identifierSchema.describe("Id of the parent's request."),
  reason: z.string().describe('Reason why the parent ended.'),
  metadata: metadataSchema,
});

/** The answer to a custom directive. */
const directiveResult = signalType('directive.result', '/directive', {
  call_id: z.string().min(1).describe('Id of the directive.'),
  directive_type: name.describe('Type of the directive.'),
  result: resultSchema.describe('Result of the directive.'),
  metadata: metadataSchema,
});

const requestId = { request_id: identifierSchema.describe('Id of the request.') };
const terminationReason = {
  termination_reason: z
    .string()
    .optional()
    .describe(
      'Reason why the run ended, such as `final_answer`, `length` (the answer of the model was cut off) or `max_iterations`; for a failure the type of the error.',
    ),
};
const unreadInputs = {
  unread_inputs: z
    .array(identifierSchema)
    .optional()
    .describe('Ids of accepted inputs that the run did not read or answer before its end. Absent: none.'),
};
const runId = { run_id: z.string().min(1).optional().describe('Id of the run.') };

/** Signal `ai.request.error`: an error of the whole request. */
const requestError = signalType('ai.request.error', '/ai/strategy', {
  ...requestId,
  reason: z.string().min(1).describe('Type of the error.'),
  message: z.string().describe('Explanation of the error.'),
  metadata: metadataSchema,
});

/** Signal `ai.request.started`: the start of a run. */
const requestStarted = signalType('ai.request.started', '/ai/request', {
  ...requestId,
  query: z.string().describe('Task of the run, as text.'),
  ...runId,
  origin: requestOriginSchema
    .optional()
    .describe('Request that the run repeats or was forked from. Absent: none.'),
});

/** Signal `ai.request.completed`: the success of a run. */
const requestCompleted = signalType('ai.request.completed', '/ai/request', {
  ...requestId,
  result: z.unknown().describe('Result of the run.'),
  ...runId,
  ...terminationReason,
  details: jsonObjectSchema
    .optional()
    .describe(
      "Details beside the result: `coverage_gap`, `gap_description` and `suggested_files` of a tool's `complete`.",
    ),
  ...unreadInputs,
});

/** Signal `ai.request.failed`: the failure of a run. */
const requestFailed = signalType('ai.request.failed', '/ai/request', {
  ...requestId,
  error: z.unknown().describe('Error of the run, an error envelope.'),
  ...runId,
  ...terminationReason,
  ...unreadInputs,
});

const callFields = {
  call_id: z.string().min(1).describe('Id of the directive or tool call that the signal reports on.'),
  tool_name: toolNameSchema.describe('Name of the tool, `tool` or `server.tool`.'),
};

/** Signal `ai.tool.started`: the start of a tool call. */
const toolStarted = signalType('ai.tool.started', '/ai/tool', {
  ...callFields,
  arguments: z.unknown().optional().describe('Arguments of the call, with secrets redacted.'),
  metadata: metadataSchema,
});

/** Signal `ai.tool.progress`: the progress of a tool call. */
const toolProgress = signalType('ai.tool.progress', '/ai/tool', {
  ...callFields,
  progress: z.number().describe('Progress of the call, in units of the tool.'),
  total: z.number().optional().describe('Value of `progress` at completion. Absent: unknown.'),
  message: z.string().optional().describe('Description of the progress.'),
  metadata: metadataSchema,
});

/** Signal `ai.tool.approval_requested`: a call waits for approval. */
const toolApprovalRequested = signalType('ai.tool.approval_requested', '/ai/tool', {
  ...callFields,
  arguments: z.unknown().optional().describe('Arguments of the call, with secrets redacted.'),
  reason: z.string().optional().describe('Reason why approval is required.'),
  deadline_at: instantSchema
    .optional()
    .describe('Instant (UTC) at which the call is denied without a decision.'),
  metadata: metadataSchema,
});

/** The tool asks a person: it waits, as a call that needs approval does. */
const toolInputRequested = signalType('ai.tool.input_requested', '/ai/tool', {
  ...callFields,
  ...openInputSchema.shape,
  metadata: metadataSchema,
});

/** A question is over. What was answered is not in the log: it goes to the tool alone. */
const toolInputAnswered = signalType('ai.tool.input_answered', '/ai/tool', {
  ...callFields,
  input_id: z.string().min(1).max(256).describe('Id of the question.'),
  action: inputActionSchema.describe('Action of the answering person.'),
  cause: inputCauseSchema.describe(
    "Cause of the question's end: an answer, the deadline, or a withdrawal by the tool.",
  ),
  by: z.string().optional().describe('Name of the answering person, as the caller stated it.'),
  metadata: metadataSchema,
});

/** Signal `ai.tool.result`: the result of a tool call. Terminal. */
const toolResult = signalType('ai.tool.result', '/ai/tool', {
  ...callFields,
  result: resultSchema.describe('Result of the call.'),
  content: z.string().optional().describe('Text of the result, as the model reads it.'),
  metadata: metadataSchema,
});

const tokens = z.int().min(0);
const durationMs = z.number().min(0);

/** Signal `ai.llm.delta`: a chunk of a streamed answer. */
const llmDelta = signalType('ai.llm.delta', '/ai/llm', {
  call_id: callIdSchema,
  delta: z.unknown().describe('Chunk of the answer: text, or a fragment of a tool call.'),
  chunk_type: z.enum(['content', 'thinking', 'tool_call']).describe('Kind of the chunk.'),
  seq: z.int().min(0).optional().describe('Number of the chunk within its attempt, from 0.'),
  metadata: metadataSchema,
});

/** Signal `ai.llm.raw`: whole events of a streamed answer to an `llm_request`, as the provider sent them. */
const llmRaw = signalType('ai.llm.raw', '/ai/llm', {
  call_id: callIdSchema,
  text: orEncrypted(z.string()).describe(
    'Text of the stream, which follows that of the signal before it of the same attempt, or that text encrypted.',
  ),
  seq: z.int().min(0).optional().describe('Number of the signal within its attempt, from 0.'),
  head: rawHeadSchema
    .optional()
    .describe('Status and headers of the answer. Present in the first signal of an attempt.'),
  metadata: metadataSchema,
});

/** Signal `ai.llm.response`: the answer of a model. Terminal. */
const llmResponse = signalType('ai.llm.response', '/ai/llm', {
  call_id: callIdSchema,
  result: resultSchema.describe('Result: a model turn, or an error.'),
  usage: usageSchema.optional().describe('Token usage. Absent: not reported.'),
  model: z.string().optional().describe('Name of the model.'),
  duration_ms: durationMs.optional().describe('Duration of the call, in milliseconds.'),
  metadata: metadataSchema,
});

/** Signal `ai.usage`: the token usage of a model call. */
const usageReported = signalType('ai.usage', '/ai/usage', {
  call_id: callIdSchema,
  model: z.string().describe('Name of the model.'),
  input_tokens: tokens.describe('Number of input tokens.'),
  output_tokens: tokens.describe('Number of output tokens.'),
  total_tokens: tokens.optional().describe('Number of all tokens.'),
  duration_ms: durationMs.optional().describe('Duration of the call, in milliseconds.'),
  metadata: metadataSchema,
});

/** Signal `ai.embed.result`: embeddings. Terminal. */
const embedResult = signalType('ai.embed.result', '/ai/embed', {
  call_id: callIdSchema,
  result: resultSchema.describe('Result: embeddings, or an error.'),
  metadata: metadataSchema,
});

/** Schema of a signal of a known type, for readers. */
export const signalSchema = z.discriminatedUnion('type', [
  llmDelta.wire,
  llmRaw.wire,
  llmResponse.wire,
  usageReported.wire,
  embedResult.wire,
  toolStarted.wire,
  toolProgress.wire,
  toolApprovalRequested.wire,
  toolInputRequested.wire,
  toolInputAnswered.wire,
  toolResult.wire,
  requestError.wire,
  requestStarted.wire,
  requestCompleted.wire,
  requestFailed.wire,
  retryScheduled.wire,
  directiveWaiting.wire,
  directiveRejected.wire,
  directiveIgnored.wire,
  policyDecided.wire,
  directiveReconciled.wire,
  requestInput.wire,
  requestCancelRequested.wire,
  requestResumed.wire,
  toolApprovalDecided.wire,
  agentScheduled.wire,
  agentChildStarted.wire,
  agentChildExit.wire,
  agentParentExit.wire,
  agentError.wire,
  agentTierChanged.wire,
  agentPhaseChanged.wire,
  directiveResult.wire,
]);

/** Schema of a signal before it has a sequence number, for writers. */
export const signalDraftSchema = z.discriminatedUnion('type', [
  llmDelta.draft,
  llmRaw.draft,
  llmResponse.draft,
  usageReported.draft,
  embedResult.draft,
  toolStarted.draft,
  toolProgress.draft,
  toolApprovalRequested.draft,
  toolInputRequested.draft,
  toolInputAnswered.draft,
  toolResult.draft,
  requestError.draft,
  requestStarted.draft,
  requestCompleted.draft,
  requestFailed.draft,
  retryScheduled.draft,
  directiveWaiting.draft,
  directiveRejected.draft,
  directiveIgnored.draft,
  policyDecided.draft,
  directiveReconciled.draft,
  requestInput.draft,
  requestCancelRequested.draft,
  requestResumed.draft,
  toolApprovalDecided.draft,
  agentScheduled.draft,
  agentChildStarted.draft,
  agentChildExit.draft,
  agentParentExit.draft,
  agentError.draft,
  agentTierChanged.draft,
  agentPhaseChanged.draft,
  directiveResult.draft,
]);

/** Any signal of a log. Typed as the known ones, so that a switch over their types narrows. */
export const anySignalSchema = z.union([signalSchema, customSignalSchema]) as unknown as typeof signalSchema;

/** Signal of a known type. */
export type Signal = z.infer<typeof signalSchema>;
/** Type of a known signal. */
export type SignalType = Signal['type'];

/** A signal before the journal gives it a sequence number. */
export type SignalDraft = z.infer<typeof signalDraftSchema>;

/** CloudEvents sources of signals, by type. */
export const SIGNAL_SOURCES = {
  'ai.llm.delta': llmDelta.source,
  'ai.llm.raw': llmRaw.source,
  'ai.llm.response': llmResponse.source,
  'ai.usage': usageReported.source,
  'ai.embed.result': embedResult.source,
  'ai.tool.started': toolStarted.source,
  'ai.tool.progress': toolProgress.source,
  'ai.tool.approval_requested': toolApprovalRequested.source,
  'ai.tool.input_requested': toolInputRequested.source,
  'ai.tool.input_answered': toolInputAnswered.source,
  'ai.tool.result': toolResult.source,
  'ai.request.error': requestError.source,
  'ai.request.started': requestStarted.source,
  'ai.request.completed': requestCompleted.source,
  'ai.request.failed': requestFailed.source,
  'directive.retry_scheduled': retryScheduled.source,
  'directive.waiting': directiveWaiting.source,
  'directive.rejected': directiveRejected.source,
  'directive.ignored': directiveIgnored.source,
  'directive.policy_decided': policyDecided.source,
  'directive.reconciled': directiveReconciled.source,
  'ai.request.input': requestInput.source,
  'ai.request.cancel_requested': requestCancelRequested.source,
  'ai.request.resumed': requestResumed.source,
  'ai.tool.approval_decided': toolApprovalDecided.source,
  'agent.scheduled': agentScheduled.source,
  'agent.child.started': agentChildStarted.source,
  'agent.child.exit': agentChildExit.source,
  'agent.parent.exit': agentParentExit.source,
  'agent.error': agentError.source,
  'agent.tier_changed': agentTierChanged.source,
  'agent.phase_changed': agentPhaseChanged.source,
  'directive.result': directiveResult.source,
} as const satisfies Record<SignalType, string>;

/** The signals that answer a directive; `ai.request.error` is the answer to `emit_request_error` alone. */
export const TERMINAL_SIGNAL_TYPES = [
  'ai.tool.result',
  'ai.llm.response',
  'ai.embed.result',
  'ai.request.error',
  'directive.result',
] as const satisfies readonly SignalType[];

/** Type of a signal that ends a directive. */
export type TerminalSignalType = (typeof TERMINAL_SIGNAL_TYPES)[number];
/** Signal that ends a directive. */
export type TerminalSignal = Extract<Signal, { type: TerminalSignalType }>;

const terminalTypes: ReadonlySet<string> = new Set(TERMINAL_SIGNAL_TYPES);

/** Whether a signal ends a directive. */
export function isTerminalSignal(signal: Signal): signal is TerminalSignal {
  return terminalTypes.has(signal.type);
}
