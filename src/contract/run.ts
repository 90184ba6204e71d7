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
import { encodedIn, encryptedSchema, orEncrypted, orEncryptedObject } from './encrypted.ts';
import { SECRET_OVERRIDES } from './encrypted-run.ts';
import { flowFields } from './flow.ts';
import { identifierSchema, instantSchema, jsonObjectSchema } from './identifiers.ts';
import { hasOneBegin, LATER_RULE, LATER_RULE_JSON, laterFields } from './later.ts';
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
} from './once.ts';
import { messageSchema } from './message.ts';
import { answeredBySchema } from './tool-question.ts';
import { submittedMetadataSchema } from './tags.ts';
import { usageSchema } from './usage.ts';
import { endFields } from './webhook.ts';

const count = z.int().min(0);

/** A message of a run's history; readers skip members they do not know. */
const historyMessageSchema = z.looseObject({ role: z.enum(['system', 'user', 'assistant', 'tool']) });

/** What one run changes of its agent. */
export const runOverridesSchema = z.strictObject({
  model: z.string().min(1).max(256).optional(),
  model_alias: z.string().min(1).max(128).optional(),
  system_prompt: z.string().optional(),
  /** Narrows the agent's tools; a name that it does not have is an error. */
  allowed_tools: z.array(toolPatternSchema).optional(),
  tool_context: jsonObjectSchema.optional(),
  max_tokens: z.int().min(1).optional(),
  temperature: z.number().min(0).optional(),
  stream: z.boolean().optional(),
  limits: runLimitOverridesSchema.optional(),
  approvals: z.record(toolPatternSchema, approvalModeSchema).optional(),
  busy: busyPolicySchema.optional(),
  output_schema: jsonObjectSchema.optional(),
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

/** What is encrypted has the ids that it was made for, and nothing beside it that is as secret. */
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

export const startRunBodySchema = z
  .strictObject({
    request_id: identifierSchema.optional(),
    agent: agentNameSchema,
    query: z.string().min(1).max(1_000_000).optional(),
    /** The same as in an llm directive's context. */
    messages: z.array(messageSchema).min(1).optional(),
    /** Instead of both, and of the `system_prompt` and `tool_context` of `overrides`: all of them, encrypted. */
    encrypted: encryptedSchema.optional(),
    /** Runs of one conversation follow each other and share its history. */
    conversation_id: identifierSchema.optional(),
    overrides: runOverridesSchema.prefault({}),
    metadata: submittedMetadataSchema,
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

export const runStatusSchema = z.enum(RUN_STATUSES);

export const startedRunSchema = z.object({
  request_id: identifierSchema,
  run_id: z.string(),
  agent: agentNameSchema,
  status: runStatusSchema,
  /** Where it was started with `dedupe`, `debounce` or `singleton`: what it is now. The ids are those of the run that stands for it. */
  once: onceAnswerSchema.optional(),
  links: z.object({ request: z.string(), signals: z.string() }),
});

/** Steering: the run reads it before its next model call. */
export const runInputBodySchema = z
  .strictObject({
    /** The same id is the same input. */
    input_id: identifierSchema.optional(),
    /** Or that text, encrypted for its id. */
    content: orEncrypted(z.string().max(1_000_000)),
    source: z.string().min(1).max(128).optional(),
  })
  .refine(({ content, input_id }) => encodedIn(content) === null || input_id !== undefined, {
    path: ['input_id'],
    message: 'is required: what is encrypted is bound to it',
  });

export const acceptedInputSchema = z.object({
  request_id: identifierSchema,
  input_id: identifierSchema,
  /** Inputs that wait, this one included. */
  queued: count,
});

export const approvalDecisionBodySchema = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  reason: z.string().max(4_096).optional(),
  /** Approves the call with these arguments instead. Encrypted: `{arguments, reason}`. */
  arguments: orEncryptedObject(jsonObjectSchema).optional(),
  /** Who decides, as the caller says. Default: the name of the caller's key, if one is asked for. */
  by: answeredBySchema.optional(),
});

export const recordedDecisionSchema = z.object({
  request_id: identifierSchema,
  call_id: z.string(),
  decision: z.enum(['approve', 'deny']),
  /** Who made the decision first, as that caller said, or the name of its key; absent: nobody said. */
  by: z.string().optional(),
  /** When it was made first; absent: the log has it no more. */
  decided_at: instantSchema.optional(),
});

/** What a waiting run waits for. */
export const waitSchema = z.object({
  kind: z.enum(['model', 'tool', 'approval', 'budget', 'timer', 'child', 'turn']),
  id: z.string(),
  name: z.string().optional(),
  until: instantSchema.optional(),
});

export const runChildSchema = z.object({ tag: z.string(), request_id: identifierSchema, status: z.string() });

export const runViewSchema = z.object({
  run_id: z.string(),
  agent: agentNameSchema,
  strategy: z.string(),
  status: runStatusSchema,
  conversation_id: identifierSchema.nullable(),
  query: z.string(),
  iterations: count,
  tool_calls: count,
  usage: usageSchema,
  /** USD; null: the price of a used model is unknown. */
  cost: z.number().nullable(),
  result: z.unknown(),
  error: z.unknown(),
  /** As in `ai.request.completed`. */
  details: z.record(z.string(), z.unknown()).optional(),
  /** final_answer, max_iterations, a budget's name, …; null while the run is under way. */
  termination_reason: z.string().nullable(),
  /** Accepted inputs that the run did not read or answer before its end; absent = none. */
  unread_inputs: z.array(identifierSchema).optional(),
  /** Somebody asked for its end, and it has not ended yet; absent: nobody did. */
  cancel_requested: z.literal(true).optional(),
  waiting_for: z.array(waitSchema),
  messages: z.array(historyMessageSchema),
  children: z.array(runChildSchema),
  started_at: instantSchema.nullable(),
  ended_at: instantSchema.nullable(),
  deadline_at: instantSchema.nullable(),
  /** It has not begun, and may begin from then on; absent: it has begun, or may. */
  begins_at: instantSchema.optional(),
});

export type RunOverrides = z.infer<typeof runOverridesSchema>;
export type SubmittedRun = z.input<typeof startRunBodySchema>;
export type ParsedRun = z.output<typeof startRunBodySchema>;
export type StartedRun = z.infer<typeof startedRunSchema>;
export type RunStatus = z.infer<typeof runStatusSchema>;
export type RunInputBody = z.infer<typeof runInputBodySchema>;
export type AcceptedInput = z.infer<typeof acceptedInputSchema>;
export type ApprovalDecisionBody = z.infer<typeof approvalDecisionBodySchema>;
export type RecordedDecision = z.infer<typeof recordedDecisionSchema>;
export type RunView = z.infer<typeof runViewSchema>;
export type RunWait = z.infer<typeof waitSchema>;
