// A run on the wire: how it is started, steered and decided about, and how a reader sees it.
// Must never show the strategy's inner state.
import * as z from 'zod';
import {
  agentNameSchema,
  approvalModeSchema,
  busyPolicySchema,
  runLimitOverridesSchema,
  toolPatternSchema,
} from './agent-definition.ts';
import { encodedIn, encryptedSchema, orEncrypted, orEncryptedObject } from '../encrypted/encrypted.ts';
import { SECRET_OVERRIDES } from '../encrypted/encrypted-run.ts';
import { flowFields } from '../directive/flow.ts';
import { identifierSchema, instantSchema, jsonObjectSchema } from '../identifiers.ts';
import { hasOneBegin, LATER_RULE, LATER_RULE_JSON, laterFields } from '../directive/later.ts';
import {
  DEBOUNCE_RULE,
  hasOneOnce,
  hasOwnBegin,
  ONCE_EXCLUDED,
  ONCE_IN_CLEAR,
  ONE_ONCE_RULE,
  ONCE_KINDS,
  onceAnswerSchema,
  onceFieldOf,
  type OnceFields,
  onceFields,
} from '../directive/once.ts';
import { messageSchema } from '../model/message.ts';
import { requestOriginSchema } from './run-origin.ts';
import { answeredBySchema } from '../tool/tool-question.ts';
import { submittedMetadataSchema } from '../directive/tags.ts';
import { usageSchema } from '../model/usage.ts';
import { endFields } from '../signal/webhook.ts';

const count = z.int().min(0);

/** A message of a run's history; readers skip members they do not know. */
const historyMessageSchema = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']).describe('Role of the message.'),
});

/** Schema of the changes of one run to its agent. */
export const runOverridesSchema = z.strictObject({
  model: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Model as `provider:model`. Default: the model of the agent.'),
  model_alias: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('Alias of the model. Default: the alias of the agent.'),
  system_prompt: z.string().optional().describe('System prompt. Default: the prompt of the agent.'),
  allowed_tools: z
    .array(toolPatternSchema)
    .optional()
    .describe(
      "Subset of the agent's tools that the run may call, as names or patterns; a name outside the agent's tools is an error. Default: all of them.",
    ),
  tool_context: jsonObjectSchema
    .optional()
    .describe('Context passed to each tool call. Default: the context of the agent.'),
  max_tokens: z
    .int()
    .min(1)
    .optional()
    .describe('Maximum number of output tokens of one model call. Default: as the agent defines.'),
  temperature: z
    .number()
    .min(0)
    .optional()
    .describe('Sampling temperature of model calls. Default: as the agent defines.'),
  stream: z
    .boolean()
    .optional()
    .describe('Whether answers are also published as delta signals. Default: as the agent defines.'),
  limits: runLimitOverridesSchema.optional().describe('Limits of the run. Default: the limits of the agent.'),
  approvals: z
    .record(toolPatternSchema, approvalModeSchema)
    .optional()
    .describe('Approval mode by tool pattern. Default: the approvals of the agent.'),
  busy: busyPolicySchema
    .optional()
    .describe(
      'Handling of a second run of the conversation while the first is in progress. Default: as the agent defines.',
    ),
  output_schema: jsonObjectSchema
    .optional()
    .describe('JSON Schema that the final answer satisfies. Default: none, the answer is text.'),
});

const ONCE_ID_RULE = {
  path: ['request_id'],
  message: 'must be absent: with dedupe, debounce or singleton the service chooses it',
};

function hasNoIdUnderKey(run: OnceFields & { request_id?: string | undefined }): boolean {
  return run.request_id === undefined || onceFieldOf(run) === undefined;
}

/** The same rules for readers of the JSON Schema: what must not be there together. */
const RUN_RULES_JSON = {
  not: {
    anyOf: [
      LATER_RULE_JSON.not,
      ...ONCE_EXCLUDED,
      ...ONCE_KINDS.map((kind) => ({ required: ['request_id', kind] })),
    ],
  },
};

const isGiven = (value: unknown): boolean => value !== undefined;

/** Faults of encrypted content: ids other than those it was made for, or clear secrets beside it. */
function faultsBesideSecrets({
  request_id,
  overrides,
  ...once
}: OnceFields & { request_id?: string | undefined; overrides: object }): { path: string; message: string }[] {
  const named = onceFieldOf(once);
  const clear = SECRET_OVERRIDES.filter((name) => Object.hasOwn(overrides, name));
  return [
    ...(named === undefined ? [] : [{ path: named, message: ONCE_IN_CLEAR }]),
    ...(request_id === undefined && named === undefined
      ? [{ path: 'request_id', message: 'is required: what is encrypted is bound to it' }]
      : []),
    ...clear.map((name) => ({ path: `overrides.${name}`, message: 'must be encrypted too' })),
  ];
}

/** Schema of the body that starts a run. */
export const startRunBodySchema = z
  .strictObject({
    request_id: identifierSchema
      .optional()
      .describe(
        'Id of the request; the same id with the same content is the same run. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.',
      ),
    agent: agentNameSchema.describe('Name of the agent to run.'),
    query: z
      .string()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe(
        'Task of the run as text, at most 1,000,000 characters. One of `query`, `messages` and `encrypted` is required.',
      ),
    messages: z
      .array(messageSchema)
      .min(1)
      .optional()
      .describe(
        'Messages that the run starts with, as in the context of a model directive. Excludes `query`.',
      ),
    encrypted: encryptedSchema
      .optional()
      .describe(
        'Encrypted query or messages, and encrypted `system_prompt` and `tool_context` of the overrides. Excludes `query` and `messages`.',
      ),
    conversation_id: identifierSchema
      .optional()
      .describe(
        'Id of the conversation; its runs execute one after the other and share their history. Default: none.',
      ),
    overrides: runOverridesSchema.prefault({}).describe('Changes to the agent for this run. Default: none.'),
    metadata: submittedMetadataSchema.describe(
      "Caller's metadata, copied to the run's signals; `tags` holds at most 16 texts by which the request is found. Default: {}.",
    ),
    ...laterFields,
    /** Those of the directives that it makes. */
    ...flowFields,
    /** As of a directive; the service then chooses the `request_id`. */
    ...onceFields,
    ...endFields,
  })
  .refine((body) => [body.query, body.messages, body.encrypted].filter(isGiven).length === 1, {
    path: ['query'],
    message: 'either query or messages is required, not both',
  })
  .superRefine(({ encrypted, ...body }, context) => {
    if (encrypted === undefined) return;
    for (const { path, message } of faultsBesideSecrets(body))
      context.addIssue({ code: 'custom', path: path.split('.'), message });
  })
  .refine(hasOneBegin, LATER_RULE)
  .refine(hasOneOnce, ONE_ONCE_RULE)
  .refine(hasOwnBegin, DEBOUNCE_RULE)
  .refine(hasNoIdUnderKey, ONCE_ID_RULE)
  .meta(RUN_RULES_JSON);

/** Statuses of a run. */
export const RUN_STATUSES = [
  'pending',
  'running',
  'waiting',
  'completed',
  'failed',
  'cancelled',
  'timeout',
] as const;

/** A run with one of these has ended. */
export const TERMINAL_RUN_STATUSES: ReadonlySet<(typeof RUN_STATUSES)[number]> = new Set([
  'completed',
  'failed',
  'cancelled',
  'timeout',
] as const);

/** Schema of the status of a run. */
export const runStatusSchema = z.enum(RUN_STATUSES);

/** Schema of the answer to the start of a run. */
export const startedRunSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  run_id: z.string().describe('Id of the run.'),
  agent: agentNameSchema.describe('Name of the agent.'),
  status: runStatusSchema.describe('Status of the run.'),
  once: onceAnswerSchema
    .optional()
    .describe(
      'Outcome of `dedupe`, `debounce` or `singleton`; the ids are those of the run that represents the submission. Absent: started with none of them.',
    ),
  links: z
    .object({
      request: z.string().describe('Path of the request.'),
      signals: z.string().describe('Path of its signals.'),
    })
    .describe('Paths of related resources.'),
});

/** Steering: the run reads it before its next model call. */
export const runInputBodySchema = z
  .strictObject({
    input_id: identifierSchema
      .optional()
      .describe('Id of the input; the same id is the same input. Default: generated.'),
    content: orEncrypted(z.string().max(1_000_000)).describe(
      'Text that the run reads before its next model call, at most 1,000,000 characters, or that text encrypted for its id.',
    ),
    source: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe('Origin of the input, at most 128 characters. Default: none.'),
  })
  .refine(({ content, input_id }) => encodedIn(content) === null || input_id !== undefined, {
    path: ['input_id'],
    message: 'is required: what is encrypted is bound to it',
  });

/** Schema of the answer to an input. */
export const acceptedInputSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  input_id: identifierSchema.describe('Id of the input.'),
  queued: count.describe('Number of inputs that wait, this one included.'),
});

/** Schema of a person's decision about a call of which nothing says whether it has acted. */
export const unknownDecisionSchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('repeat').describe('The call is made again, and may act twice.') }),
  z.strictObject({
    action: z.literal('skip').describe('The call is not made again; the run reads an error.'),
  }),
  z.strictObject({
    action: z.literal('done').describe('The call counts as successful with `result`, and is not made again.'),
    result: z.unknown().describe('Result that the run reads, any JSON value. Default: null.'),
  }),
]);

/** Decisions of one resume. */
const MOST_DECISIONS = 256;

const unknownDecisionsSchema = z
  .record(identifierSchema, unknownDecisionSchema)
  .refine((decisions) => Object.keys(decisions).length <= MOST_DECISIONS, {
    message: `has at most ${MOST_DECISIONS} members`,
  });

/** Schema of the changes that a resume makes to the agent of its run. */
export const resumeOverridesSchema = runOverridesSchema.pick({
  model: true,
  model_alias: true,
  limits: true,
});

/** Schema of the body that resumes a run which has ended. */
export const resumeRunBodySchema = z.strictObject({
  overrides: resumeOverridesSchema
    .prefault({})
    .describe(
      'Changes to the agent from here on: `model`, `model_alias` and `limits`, which count from the start of the run; `deadline_ms` counts from the resume. Default: as before.',
    ),
  input: z
    .string()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe(
      'Text that the run reads before its next model call, at most 1,000,000 characters. Default: none.',
    ),
  decisions: unknownDecisionsSchema
    .prefault({})
    .describe(
      'Decision about each call of unknown outcome, by its id; required for each of them, at most 256. Default: {}.',
    ),
});

/** Schema of the answer to a resume. */
export const resumedRunSchema = startedRunSchema
  .omit({ once: true })
  .extend({ resumed: count.min(1).describe('Number of resumes of the run, this one included.') });

/** Schema of a decision about a call or a budget. */
export const approvalDecisionBodySchema = z.strictObject({
  decision: z.enum(['approve', 'deny']).describe('Decision about the call.'),
  reason: z.string().max(4_096).optional().describe('Reason of the decision, at most 4,096 characters.'),
  arguments: orEncryptedObject(jsonObjectSchema)
    .optional()
    .describe('Arguments that replace those of an approved call. Encrypted: `{arguments, reason}`.'),
  by: answeredBySchema
    .optional()
    .describe(
      "Name of the deciding person as the caller states it. Default: the name of the caller's key, where keys are required.",
    ),
});

/** Schema of the recorded decision. */
export const recordedDecisionSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  call_id: z.string().describe('Id of the call.'),
  decision: z.enum(['approve', 'deny']).describe('Decision that was recorded first.'),
  by: z
    .string()
    .optional()
    .describe(
      "Name of the deciding person as the caller stated it, or of the caller's key. Absent: unknown.",
    ),
  decided_at: instantSchema
    .optional()
    .describe('Instant (UTC) of the decision. Absent: no longer in the log.'),
});

/** Schema of a wait. */
export const waitSchema = z.object({
  kind: z
    .enum(['model', 'tool', 'approval', 'budget', 'timer', 'child', 'turn'])
    .describe('Kind of the awaited event.'),
  id: z.string().describe('Id of the awaited call, timer or child.'),
  name: z.string().optional().describe('Name of the awaited tool or model.'),
  until: instantSchema.optional().describe('Latest end of the wait (UTC).'),
});

/** Schema of a child run in the view of its parent. */
export const runChildSchema = z.object({
  tag: z.string().describe("Name of the child within its parent's run."),
  request_id: identifierSchema.describe("Id of the child's request."),
  status: z.string().describe("Status of the child's run."),
});

/** Schema of the view of a run. */
export const runViewSchema = z.object({
  run_id: z.string().describe('Id of the run.'),
  agent: agentNameSchema.describe('Name of the agent.'),
  strategy: z.string().describe('Strategy that drives the run.'),
  status: runStatusSchema.describe('Status of the run.'),
  conversation_id: identifierSchema.nullable().describe('Id of the conversation; null: none.'),
  query: z.string().describe('Task of the run, as text.'),
  iterations: count.describe('Number of model turns.'),
  tool_calls: count.describe('Number of tool calls.'),
  usage: usageSchema.describe('Token usage of the run, with that of its newest 100 redriven calls.'),
  cost: z
    .number()
    .nullable()
    .describe(
      'Cost in USD, with that of its newest 100 redriven calls; null: the price of a used model is unknown.',
    ),
  result: z.unknown().describe('Result of the run; null: none yet.'),
  error: z.unknown().describe('Error that ended the run; null: none.'),
  details: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Details beside the result, as in `ai.request.completed`.'),
  termination_reason: z
    .string()
    .nullable()
    .describe(
      'Reason why the run ended, such as `final_answer`, `max_iterations` or the name of a budget; null: in progress.',
    ),
  unread_inputs: z
    .array(identifierSchema)
    .optional()
    .describe('Ids of accepted inputs that the run did not read or answer before its end. Absent: none.'),
  cancel_requested: z
    .literal(true)
    .optional()
    .describe('Present where a cancellation was requested and the run has not ended yet.'),
  resumed: count.min(1).optional().describe('Number of resumes after an end. Absent: none.'),
  waiting_for: z.array(waitSchema).describe('Events that the run waits for.'),
  messages: z.array(historyMessageSchema).describe('Messages of the run.'),
  children: z.array(runChildSchema).describe('Child runs.'),
  started_at: instantSchema.nullable().describe('Instant (UTC) of the start; null: not started.'),
  ended_at: instantSchema.nullable().describe('Instant (UTC) of the end; null: not ended.'),
  deadline_at: instantSchema
    .nullable()
    .describe('Instant (UTC) by which the run ends at the latest; null: unknown.'),
  origin: requestOriginSchema
    .optional()
    .describe('Request that the run repeats or was forked from. Absent: none.'),
  begins_at: instantSchema
    .optional()
    .describe('Earliest start (UTC) of a run that has not begun. Absent: it has begun, or may.'),
});

/** Changes of one run to its agent. */
export type RunOverrides = z.infer<typeof runOverridesSchema>;
/** Run as a caller starts it; members with a default may be absent. */
export type SubmittedRun = z.input<typeof startRunBodySchema>;
/** Start of a run with every default filled in. */
export type ParsedRun = z.output<typeof startRunBodySchema>;
/** Answer to the start of a run. */
export type StartedRun = z.infer<typeof startedRunSchema>;
/** Status of a run. */
export type RunStatus = z.infer<typeof runStatusSchema>;
/** Input to a run in progress. */
export type RunInputBody = z.infer<typeof runInputBodySchema>;
/** Answer to an accepted input. */
export type AcceptedInput = z.infer<typeof acceptedInputSchema>;
/** Decision about a call of unknown outcome. */
export type UnknownDecision = z.infer<typeof unknownDecisionSchema>;
/** Resume of a run as a caller requests it; members with a default may be absent. */
export type ResumeRunBody = z.input<typeof resumeRunBodySchema>;
/** Answer to the resume of a run. */
export type ResumedRun = z.infer<typeof resumedRunSchema>;
/** Decision about a tool call or a budget. */
export type ApprovalDecisionBody = z.infer<typeof approvalDecisionBodySchema>;
/** Decision that was recorded first. */
export type RecordedDecision = z.infer<typeof recordedDecisionSchema>;
/** View of a run. */
export type RunView = z.infer<typeof runViewSchema>;
/** Event that a run waits for. */
export type RunWait = z.infer<typeof waitSchema>;
