// The definition of an agent: its strategy, model, tools, limits and policies, as configuration and code declare them.
// The same for every run of the agent.
import * as z from 'zod';
import { jsonObjectSchema, positiveDurationMsSchema } from '../identifiers.ts';
import { providerOptionsSchema } from '../model/provider-options.ts';
import { retryFields } from '../directive/retry-policy.ts';

/** Schema of the name of an agent. */
export const agentNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 . _ -');

/** Pattern over tool names in which `*` matches any characters: `everything.*`, `*.read_*`. */
export const toolPatternSchema = z.string().min(1).max(256);

/** Limits of one run of the agent. Reserved before a call, recorded after it. null = no limit. */
const limitFields = {
  max_iterations: z
    .int()
    .min(1)
    .max(1_000)
    .describe(
      'Maximum number of model turns of a run, 1 to 1,000. Default of an agent: 10; of a run: as its agent.',
    ),
  max_tool_calls: z
    .int()
    .min(0)
    .nullable()
    .describe(
      'Maximum number of tool calls of a run; null: no limit. Default of an agent: null; of a run: as its agent.',
    ),
  max_tokens: z
    .int()
    .min(1)
    .nullable()
    .describe(
      'Maximum number of model tokens (input and output) of a run; null: no limit. Default of an agent: null; of a run: as its agent.',
    ),
  max_cost: z
    .number()
    .min(0)
    .nullable()
    .describe(
      'Maximum cost of a run in USD, computed from the prices in the configuration; null: no limit. Default of an agent: null; of a run: as its agent.',
    ),
  deadline_ms: positiveDurationMsSchema.describe(
    'Time from the start of a run to its end, in milliseconds, without the time in which it waits for a decision of a person. Default of an agent: 3,600,000 (one hour); of a run: as its agent.',
  ),
  parallel_tool_calls: z
    .int()
    .min(1)
    .max(100)
    .describe(
      'Maximum number of tool calls of a run in flight, 1 to 100. Default of an agent: 4; of a run: as its agent.',
    ),
  max_pending: z
    .int()
    .min(1)
    .describe(
      'Maximum number of open directives of a run; a batch that exceeds it is refused together with its state change. Default of an agent: 10,000; of a run: as its agent.',
    ),
};

/** Schema of the limits of an agent's runs. */
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

/** Schema of the approval mode of a tool. */
export const approvalModeSchema = z.enum(['auto', 'ask', 'deny']);
/** Schema of the policy for a second run of a conversation. */
export const busyPolicySchema = z.enum(['reject', 'queue', 'interrupt']);

/** Schema of the policy for `error` directives. */
export const errorPolicySchema = z.union([
  z.enum(['log', 'stop', 'emit']),
  z.strictObject({
    max_errors: z.int().min(1).describe('Number of `error` directives after which the run stops.'),
  }),
]);

/** Schema of the policies of an agent. */
export const agentPoliciesSchema = z.strictObject({
  busy: busyPolicySchema
    .default('reject')
    .describe(
      'Handling of a second run of a conversation while the first is in progress: `reject`, `queue` or `interrupt`. Default: `reject`.',
    ),
  approvals: z
    .record(toolPatternSchema, approvalModeSchema)
    .default({})
    .describe(
      'Approval mode by tool pattern; the longest match wins. A tool without a match: `ask` where it is annotated as destructive, else `auto`. Default: {}.',
    ),
  approval_timeout_ms: positiveDurationMsSchema
    .default(86_400_000)
    .describe(
      'Time to decide about a tool call or a budget, in milliseconds; without a decision the run fails with `approval_expired`. The deadline of the run does not pass meanwhile. Default: 86,400,000 (one day).',
    ),
  budget: z
    .enum(['stop', 'ask'])
    .default('stop')
    .describe(
      'Behaviour of a run that reaches a limit of its budget: `stop` ends it, `ask` requests approval to continue. Default: `stop`.',
    ),
  error: errorPolicySchema
    .default('log')
    .describe(
      'Effect of an `error` directive: `log`, `stop`, `emit`, or a number of errors after which the run stops. Default: `log`.',
    ),
  overrides: z
    .enum(['narrow', 'any'])
    .default('narrow')
    .describe(
      'Whether the limits and approvals of a single run may only tighten those of the agent (`narrow`) or also replace them (`any`). Default: `narrow`.',
    ),
  parent_death: z
    .enum(['stop', 'continue', 'orphan'])
    .default('stop')
    .describe(
      "Effect of the end of the parent's run on this one: `stop`, `continue` or `orphan`. Default: `stop`.",
    ),
});

const callFields = {
  timeout_ms: positiveDurationMsSchema
    .optional()
    .describe('Limit of one attempt, in milliseconds. Default: the limit of the lane.'),
  deadline_ms: positiveDurationMsSchema
    .optional()
    .describe('Time from acceptance to the end, waits for an unreachable server included, in milliseconds.'),
  max_retries: retryFields.max_retries
    .default(1)
    .describe('Maximum number of retries after the first attempt. Default: 1.'),
  retry_backoff_ms: retryFields.retry_backoff_ms
    .default(200)
    .describe('Delay before the first retry, in milliseconds. Default: 200.'),
  backoff: retryFields.backoff,
  max_backoff_ms: retryFields.max_backoff_ms,
  jitter: retryFields.jitter,
};

/** A provider that is away for a minute or two does not end a run. */
const modelCallFields = {
  ...callFields,
  max_retries: retryFields.max_retries
    .default(8)
    .describe('Maximum number of retries after the first attempt. Default: 8.'),
  retry_backoff_ms: retryFields.retry_backoff_ms
    .default(1_000)
    .describe('Delay before the first retry, in milliseconds. Default: 1,000.'),
  backoff: retryFields.backoff
    .default('exponential')
    .describe(
      'Growth of the delay: `fixed`, or `exponential`, which doubles it with each retry. Default: `exponential`.',
    ),
  max_backoff_ms: retryFields.max_backoff_ms
    .default(60_000)
    .describe(
      'Maximum of a growing delay, in milliseconds; it never shortens the first delay. Default: 60,000.',
    ),
  jitter: retryFields.jitter
    .default(0.2)
    .describe('Fraction by which a delay is randomly shortened, 0 to 1. Default: 0.2.'),
};

/** Schema of the compaction of a history. */
export const compactionSchema = z.strictObject({
  context_tokens: z
    .int()
    .min(256)
    .default(128_000)
    .describe("Size of the model's context window, in tokens, at least 256. Default: 128,000."),
  threshold: z
    .number()
    .min(0.1)
    .max(1)
    .default(0.75)
    .describe('Fraction of the context window at which compaction starts, 0.1 to 1. Default: 0.75.'),
  keep_recent: z
    .int()
    .min(1)
    .default(6)
    .describe('Number of the newest messages that compaction keeps unchanged. Default: 6.'),
});

/** Schema of the definition of an agent. */
export const agentDefinitionSchema = z.strictObject({
  name: agentNameSchema.describe('Name of the agent.'),
  description: z
    .string()
    .max(1_024)
    .default('')
    .describe('Purpose of the agent, at most 1,024 characters. Default: empty.'),
  strategy: z
    .string()
    .min(1)
    .max(64)
    .default('react')
    .describe('Strategy that drives the runs. Default: `react`.'),
  model: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Model as `provider:model`. Takes precedence over `model_alias`.'),
  model_alias: z
    .string()
    .min(1)
    .max(128)
    .default('fast')
    .describe('Alias of the model, as the configuration defines it. Default: `fast`.'),
  system_prompt: z.string().default('').describe('System prompt of each model call. Default: empty.'),
  tools: z
    .array(toolPatternSchema)
    .default([])
    .describe('Tools that the agent may call: names or patterns over the catalog. Default: none.'),
  tool_context: jsonObjectSchema
    .default({})
    .describe('Context passed to each tool call as its `context`. Default: {}.'),
  max_tokens: z
    .int()
    .min(1)
    .default(4_096)
    .describe('Maximum number of output tokens of one model call. Default: 4,096.'),
  temperature: z.number().min(0).default(0.2).describe('Sampling temperature of model calls. Default: 0.2.'),
  provider_options: providerOptionsSchema
    .optional()
    .describe(
      'Parameters for the API of the provider, merged into the body of each model request. Default: none.',
    ),
  stream: z
    .boolean()
    .default(true)
    .describe('Whether answers are also published as delta signals while they are generated. Default: true.'),
  limits: runLimitsSchema.prefault({}).describe('Limits of each run.'),
  policies: agentPoliciesSchema
    .prefault({})
    .describe('Policies for conversations, approvals, budgets and errors.'),
  model_call: z.strictObject(modelCallFields).prefault({}).describe('Timeout and retries of model calls.'),
  tool_call: z.strictObject(callFields).prefault({}).describe('Timeout and retries of tool calls.'),
  compaction: compactionSchema.prefault({}).describe('Compaction of the message history.'),
  options: jsonObjectSchema
    .default({})
    .describe('Options of the strategy, which validates them. Default: {}.'),
});

/** Agent with every default filled in. */
export type AgentDefinition = z.infer<typeof agentDefinitionSchema>;
/** Agent as it is written; members with a default may be absent. */
export type SubmittedAgentDefinition = z.input<typeof agentDefinitionSchema>;
/** Approval mode of a tool: call it, ask, or deny. */
export type ApprovalMode = z.infer<typeof approvalModeSchema>;
/** Policy for a second run of a conversation. */
export type BusyPolicy = z.infer<typeof busyPolicySchema>;
/** Policy for `error` directives. */
export type ErrorPolicy = z.infer<typeof errorPolicySchema>;
/** Limits of a run with every default filled in. */
export type RunLimits = z.infer<typeof runLimitsSchema>;
