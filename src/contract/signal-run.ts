// Signals of a run beyond its start and end: what steers it, what it waits for, its children and timers.
// Must never end a directive, except `directive.result`, the answer to a custom directive.
import * as z from 'zod';
import { agentNameSchema } from './agent-definition.ts';
import { identifierSchema } from './identifiers.ts';
import { resultSchema } from './result.ts';
import { metadataSchema, signalType } from './signal-envelope.ts';

const name = z.string().min(1).max(128);

/** Text sent to a run under way. */
export const requestInput = signalType('ai.request.input', '/ai/request', {
  request_id: identifierSchema.describe('Id of the request.'),
  input_id: identifierSchema.describe('Id of the input.'),
  content: z.string().describe('Text of the input.'),
  input_source: z.string().optional().describe('Origin of the input. Absent: unknown.'),
});

/** Signal `ai.request.cancel_requested`: the requested cancellation of a run. */
export const requestCancelRequested = signalType('ai.request.cancel_requested', '/ai/request', {
  request_id: identifierSchema.describe('Id of the request.'),
  reason: z.string().nullable().describe('Reason of the cancellation; null: none given.'),
});

/** Signal `ai.tool.approval_decided`: the decision about a call. */
export const toolApprovalDecided = signalType('ai.tool.approval_decided', '/ai/tool', {
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
export const agentScheduled = signalType('agent.scheduled', '/agent', {
  timer_id: name.describe('Id of the timer.'),
  message: z.unknown().describe('Message of the timer, any JSON value.'),
  metadata: metadataSchema,
});

/** Signal `agent.child.started`: the start of a child run. */
export const agentChildStarted = signalType('agent.child.started', '/agent', {
  tag: name.describe("Name of the child within its parent's run."),
  child_request_id: identifierSchema.describe("Id of the child's request."),
  agent: agentNameSchema.describe('Name of the agent that the child runs.'),
  metadata: metadataSchema,
});

/** `status` is that of the child's run at its end. */
export const agentChildExit = signalType('agent.child.exit', '/agent', {
  tag: name.describe("Name of the child within its parent's run."),
  child_request_id: identifierSchema.describe("Id of the child's request."),
  status: z.string().describe("Status of the child's run at its end."),
  result: z.unknown().describe('Result of the child; null: none.'),
  error: z.unknown().describe('Error of the child; null: none.'),
  metadata: metadataSchema,
});

/** The error of an agent's `error` directive, whatever its policy. */
export const agentError = signalType('agent.error', '/agent', {
  error: z.unknown().describe('Error, any JSON value.'),
  context: z.unknown().describe('Context of the error, any JSON value.'),
  metadata: metadataSchema,
});

/** A tool's `tier_change` was applied: model calls use this alias from now on. `previous` null = the agent's own model. */
export const agentTierChanged = signalType('agent.tier_changed', '/agent', {
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
export const agentPhaseChanged = signalType('agent.phase_changed', '/agent', {
  call_id: z.string().min(1).describe('Id of the tool call that asked for the change.'),
  phase: z.string().describe('Phase from now on.'),
  previous: z.string().nullable().describe('Phase before; null: none.'),
  metadata: metadataSchema,
});

/** Notifies a child that its parent has ended; the child's own policy decides what follows. */
export const agentParentExit = signalType('agent.parent.exit', '/agent', {
  parent_request_id: identifierSchema.describe("Id of the parent's request."),
  reason: z.string().describe('Reason why the parent ended.'),
  metadata: metadataSchema,
});

/** The answer to a custom directive. */
export const directiveResult = signalType('directive.result', '/directive', {
  call_id: z.string().min(1).describe('Id of the directive.'),
  directive_type: name.describe('Type of the directive.'),
  result: resultSchema.describe('Result of the directive.'),
  metadata: metadataSchema,
});
