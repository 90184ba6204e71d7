// Signals about how a directive goes on, whatever its type: attempts, waits, refusals, decisions, findings.
import * as z from 'zod';
import { errorEnvelopeSchema } from '../error-envelope.ts';
import { durationMsSchema, instantSchema } from '../identifiers.ts';
import { waitSchema } from '../request/waiting.ts';
import { callIdSchema, metadataSchema, signalType } from './signal-envelope.ts';

/** `attempt` of the envelope is the one that failed; `failures` counts it. */
export const retryScheduled = signalType('directive.retry_scheduled', '/directive', {
  call_id: callIdSchema,
  error: errorEnvelopeSchema.describe('Error of the failed attempt.'),
  failures: z.int().min(0).describe('Number of failed attempts so far.'),
  max_retries: z.int().min(0).describe('Maximum number of retries.'),
  delay_ms: durationMsSchema.describe('Delay before the next attempt, in milliseconds.'),
  next_attempt_at: instantSchema.describe('Instant (UTC) of the next attempt.'),
  metadata: metadataSchema,
});

/** A control directive inside a tool result that was not accepted; `index` is its place there. */
export const directiveRejected = signalType('directive.rejected', '/directive', {
  call_id: callIdSchema,
  index: z.int().min(0).describe("Position of the control directive in the tool's result, from 0."),
  directive_type: z.string().nullable().describe('Type that the control directive gave; null: not a text.'),
  reason: z.string().min(1).describe('Reason of the rejection.'),
  message: z.string().optional().describe('Explanation of the rejection.'),
  metadata: metadataSchema,
});

/** A directive of a type without an executor. */
export const directiveIgnored = signalType('directive.ignored', '/directive', {
  call_id: callIdSchema,
  directive_type: z.string().describe('Type of the ignored directive.'),
  reason: z.string().min(1).describe('Reason why it is ignored.'),
  metadata: metadataSchema,
});

/**
 * The directive does not go on at present. Written once for each reason; for pauses after refused calls, at the first, second,
 * fourth, eighth of them, and so on. A run without an engine has the lane `run` and the request as `call_id`.
 */
export const directiveWaiting = signalType('directive.waiting', '/directive', {
  call_id: callIdSchema,
  lane: z.string().min(1).describe('Lane of the directive; `run` for a run without an engine.'),
  ...waitSchema.shape,
  pauses: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Number of this pause of the directive at its current model or tool, after a call that was refused as `rate_limited`; counted from 1. Absent for other waits.',
    ),
  metadata: metadataSchema,
});

/** The decision of an operator's rules about a directive. Written once, where a rule has decided, or the default denies or asks; once more where a budget goes on with cheaper models, and for each request of a tool for a model. */
export const policyDecided = signalType('directive.policy_decided', '/directive', {
  call_id: callIdSchema,
  decision: z.enum(['allow', 'deny', 'ask']).describe('Decision about the call.'),
  rule: z.string().nullable().describe('Name of the rule that decided; null: the default of the policy.'),
  input_digest: z.string().describe('Digest of the content of the directive, as accepted.'),
  models: z
    .array(z.string())
    .optional()
    .describe(
      'Models that were decided about: cheaper ones of a budget, or those that the tool of the directive asks. Absent: those of the directive.',
    ),
  reason: z.string().optional().describe('Reason of the rule. Absent: none.'),
  failed: z.string().optional().describe('Why the rule could not be evaluated. Absent: it was evaluated.'),
  metadata: metadataSchema,
});

/** The finding about a call whose answer was lost: the operator's tool was asked, and no further time follows for this loss. */
export const directiveReconciled = signalType('directive.reconciled', '/directive', {
  call_id: callIdSchema,
  outcome: z
    .enum(['happened', 'not_happened', 'unknown'])
    .describe(
      '`happened`: the directive ends as a success; `not_happened`: it is retried, or ends as a failure; `unknown`: it ends as `outcome_unknown`.',
    ),
  tool: z.string().nullable().describe('Tool that was asked, `server.tool`; null: its settings are gone.'),
  arguments_digest: z
    .string()
    .optional()
    .describe('Digest of its arguments; keyed where the directive is encrypted. Absent: it was not asked.'),
  asked: z.int().min(0).describe('How often it was asked after this loss.'),
  at: instantSchema.describe('Instant (UTC) of the finding.'),
  cause: z
    .string()
    .describe('Type of the error of the lost call; `worker_lost`: its worker died, `stopped`: it stopped.'),
  reason: z.string().optional().describe('Why the outcome is unknown. Absent: it is known.'),
  metadata: metadataSchema,
});
