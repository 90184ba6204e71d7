// What an agent is: its strategy, model, tools, limits and policies, as configuration and code declare them.
// Must never hold what a run learns: this is the same for every run of the agent.
import * as z from 'zod';
import { jsonObjectSchema, positiveDurationMsSchema } from './identifiers.ts';
import { providerOptionsSchema } from './provider-options.ts';
import { retryFields } from './retry-policy.ts';

export const agentNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 . _ -');

/** A tool name in which `*` stands for any characters: `everything.*`, `*.read_*`. */
export const toolPatternSchema = z.string().min(1).max(256);

/** What one run of the agent may use. Reserved before a call, recorded after it. null = no limit. */
const limitFields = {
  max_iterations: z.int().min(1).max(1_000),
  max_tool_calls: z.int().min(0).nullable(),
  max_tokens: z.int().min(1).nullable(),
  /** USD, by the price table of the configuration. */
  max_cost: z.number().min(0).nullable(),
  /** From the start of the run to its end. Default: one hour. */
  deadline_ms: positiveDurationMsSchema,
  /** Tool calls at once. */
  parallel_tool_calls: z.int().min(1).max(100),
  /** Most directives of the run that may be open at once; a batch above it is refused together with its state change. */
  max_pending: z.int().min(1),
};

export const runLimitsSchema = z.strictObject({
  max_iterations: limitFields.max_iterations.default(10),
  max_tool_calls: limitFields.max_tool_calls.default(null),
  max_tokens: limitFields.max_tokens.default(null),
  max_cost: limitFields.max_cost.default(null),
  deadline_ms: limitFields.deadline_ms.default(3_600_000),
  parallel_tool_calls: limitFields.parallel_tool_calls.default(4),
  max_pending: limitFields.max_pending.default(10_000),
});

/** The limits that one run sets. No defaults: what it does not set stays as its agent has it. */
export const runLimitOverridesSchema = z.strictObject(limitFields).partial();

export const approvalModeSchema = z.enum(['auto', 'ask', 'deny']);
export const busyPolicySchema = z.enum(['reject', 'queue', 'interrupt']);

export const errorPolicySchema = z.union([
  z.enum(['log', 'stop', 'emit']),
  z.strictObject({ max_errors: z.int().min(1) }),
]);

export const agentPoliciesSchema = z.strictObject({
  /** What happens to a second run of a conversation while the first is under way. */
  busy: busyPolicySchema.default('reject'),
  /** By tool pattern, the longest match wins. A tool without one: `ask` when annotated destructive, else `auto`. */
  approvals: z.record(toolPatternSchema, approvalModeSchema).default({}),
  /** A call without a decision after this time is denied. */
  approval_timeout_ms: positiveDurationMsSchema.default(900_000),
  /** Whether a run that reaches a limit of its budget ends, or asks for approval to go on. */
  budget: z.enum(['stop', 'ask']).default('stop'),
  /** What an `error` directive does. */
  error: errorPolicySchema.default('log'),
  /** Whether a run's own limits and approvals may only tighten the agent's, or also replace them. */
  overrides: z.enum(['narrow', 'any']).default('narrow'),
  /** What happens to the run when its parent ends. */
  parent_death: z.enum(['stop', 'continue', 'orphan']).default('stop'),
});

const callFields = {
  timeout_ms: positiveDurationMsSchema.optional(),
  /** From its acceptance to its end, waits for a server that is down among it. */
  deadline_ms: positiveDurationMsSchema.optional(),
  max_retries: retryFields.max_retries.default(1),
  retry_backoff_ms: retryFields.retry_backoff_ms.default(200),
  backoff: retryFields.backoff,
  max_backoff_ms: retryFields.max_backoff_ms,
  jitter: retryFields.jitter,
};

export const compactionSchema = z.strictObject({
  /** Size of the model's context, tokens. Default: 128 000. */
  context_tokens: z.int().min(256).default(128_000),
  /** Compaction begins when the history fills this part of the context. */
  threshold: z.number().min(0.1).max(1).default(0.75),
  /** Newest messages that are kept as they are. */
  keep_recent: z.int().min(1).default(6),
});

export const agentDefinitionSchema = z.strictObject({
  name: agentNameSchema,
  description: z.string().max(1_024).default(''),
  strategy: z.string().min(1).max(64).default('react'),
  /** `provider:model`; wins over `model_alias`. */
  model: z.string().min(1).max(256).optional(),
  model_alias: z.string().min(1).max(128).default('fast'),
  system_prompt: z.string().default(''),
  /** The tools the agent may use: names or patterns over the catalog. */
  tools: z.array(toolPatternSchema).default([]),
  /** Handed to every tool call as its `context`. */
  tool_context: jsonObjectSchema.default({}),
  max_tokens: z.int().min(1).default(4_096),
  temperature: z.number().min(0).default(0.2),
  provider_options: providerOptionsSchema.optional(),
  /** Whether the answer is also sent as delta signals. */
  stream: z.boolean().default(true),
  limits: runLimitsSchema.prefault({}),
  policies: agentPoliciesSchema.prefault({}),
  model_call: z.strictObject(callFields).prefault({}),
  tool_call: z.strictObject(callFields).prefault({}),
  compaction: compactionSchema.prefault({}),
  /** Options of the strategy, which checks them itself. */
  options: jsonObjectSchema.default({}),
});

export type AgentDefinition = z.infer<typeof agentDefinitionSchema>;
export type SubmittedAgentDefinition = z.input<typeof agentDefinitionSchema>;
export type ApprovalMode = z.infer<typeof approvalModeSchema>;
export type BusyPolicy = z.infer<typeof busyPolicySchema>;
export type ErrorPolicy = z.infer<typeof errorPolicySchema>;
export type RunLimits = z.infer<typeof runLimitsSchema>;
