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
  request_id: identifierSchema,
  input_id: identifierSchema,
  content: z.string(),
  input_source: z.string().optional(),
});

export const requestCancelRequested = signalType('ai.request.cancel_requested', '/ai/request', {
  request_id: identifierSchema,
  reason: z.string().nullable(),
});

export const toolApprovalDecided = signalType('ai.tool.approval_decided', '/ai/tool', {
  call_id: z.string().min(1),
  decision: z.enum(['approve', 'deny']),
  reason: z.string().optional(),
  arguments: z.record(z.string(), z.unknown()).optional(),
  /** Who decided, as the caller said. */
  by: z.string().optional(),
});

/** A `schedule` directive has come due. */
export const agentScheduled = signalType('agent.scheduled', '/agent', {
  timer_id: name,
  message: z.unknown(),
  metadata: metadataSchema,
});

export const agentChildStarted = signalType('agent.child.started', '/agent', {
  tag: name,
  child_request_id: identifierSchema,
  agent: agentNameSchema,
  metadata: metadataSchema,
});

/** `status` is that of the child's run at its end. */
export const agentChildExit = signalType('agent.child.exit', '/agent', {
  tag: name,
  child_request_id: identifierSchema,
  status: z.string(),
  result: z.unknown(),
  error: z.unknown(),
  metadata: metadataSchema,
});

/** The error of an agent's `error` directive, whatever its policy. */
export const agentError = signalType('agent.error', '/agent', {
  error: z.unknown(),
  context: z.unknown(),
  metadata: metadataSchema,
});

/** A tool's `tier_change` was applied: model calls use this alias from now on. `previous` null = the agent's own model. */
export const agentTierChanged = signalType('agent.tier_changed', '/agent', {
  call_id: z.string().min(1),
  tier: z.string(),
  previous: z.string().nullable(),
  reason: z.string(),
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
  call_id: z.string().min(1),
  phase: z.string(),
  previous: z.string().nullable(),
  metadata: metadataSchema,
});

/** Notifies a child that its parent has ended; the child's own policy decides what follows. */
export const agentParentExit = signalType('agent.parent.exit', '/agent', {
  parent_request_id: identifierSchema,
  reason: z.string(),
  metadata: metadataSchema,
});

/** The answer to a custom directive. */
export const directiveResult = signalType('directive.result', '/directive', {
  call_id: z.string().min(1),
  directive_type: name,
  result: resultSchema,
  metadata: metadataSchema,
});
