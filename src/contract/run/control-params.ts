// The parameters of each control directive, by its type.
// Must never accept a value of the wrong kind: tools are not trusted to check.
import * as z from 'zod';
import { jsonObjectSchema } from '../identifiers.ts';

const noParams = z.strictObject({}).default({});
const textSchema = z.string();
const nameSchema = z.string().min(1);

/** `target_tier` is the spelling of the proposal; only `tier` comes out. */
const tierParams = z
  .strictObject({
    tier: nameSchema.optional().describe('Alias of the model for the following model calls.'),
    target_tier: nameSchema.optional().describe('Alternative spelling of `tier`.'),
    reason: textSchema.default('').describe('Reason of the change. Default: empty.'),
    task_state: textSchema.optional().describe('State of the task at the handoff, such as `plan_ready`.'),
  })
  .refine((params) => (params.tier ?? params.target_tier) !== undefined, {
    path: ['tier'],
    message: 'is required',
  })
  .refine((params) => !params.tier || !params.target_tier || params.tier === params.target_tier, {
    path: ['target_tier'],
    message: 'differs from tier',
  })
  .transform(({ tier, target_tier, reason, task_state }) => ({
    tier: tier ?? target_tier ?? '',
    reason,
    ...(task_state === undefined ? {} : { task_state }),
  }));

/** Schemas of the parameters of control directives, by type. */
export const CONTROL_PARAMS = {
  stop_processing: noParams,
  tier_change: tierParams,
  clear_self_todos: noParams,
  inject_context: z.strictObject({
    content: textSchema.describe('Text to add to the messages.'),
    role: z
      .enum(['user', 'system', 'assistant'])
      .default('user')
      .describe('Role of the message. Default: `user`.'),
  }),
  prune_messages: z
    .strictObject({
      keep_recent: z.int().min(0).default(2).describe('Number of the newest messages to keep. Default: 2.'),
    })
    .default({ keep_recent: 2 }),
  todo_state_changed: z.strictObject({
    state: textSchema.describe('State of the to-do list, as text for the model.'),
    count: z.int().min(0).default(0).describe('Number of items. Default: 0.'),
    items: z
      .union([z.array(z.unknown()), jsonObjectSchema, z.null()])
      .default(null)
      .describe('Items of the list, as an array or object; null: none. Default: null.'),
  }),
  context_anchor: z.strictObject({
    key: nameSchema.describe('Name of the anchor; the same name replaces its content.'),
    content: textSchema.describe('Text that stays in the context.'),
  }),
  notify_presenter: z.strictObject({
    key: nameSchema.describe('Name of the notification.'),
    data: jsonObjectSchema.default({}).describe('Data of the notification. Default: {}.'),
  }),
  delegate: z.strictObject({
    target: nameSchema.describe('Name of the agent that receives the task.'),
    task: textSchema.describe('Task of the delegate.'),
    max_turns: z
      .int()
      .min(1)
      .nullable()
      .optional()
      .describe(
        'Maximum number of model turns of the delegate; null or absent: the limit of its own definition.',
      ),
  }),
  pipeline: z.strictObject({
    stages: z
      .array(nameSchema)
      .min(2)
      .describe('Names of the agents that run one after the other, at least two.'),
    task: textSchema.describe('Task of the first stage.'),
  }),
  complete: z.strictObject({
    summary: textSchema.describe('Result of the run, as text.'),
    coverage_gap: z.boolean().optional().describe('Whether the result leaves part of the task uncovered.'),
    gap_description: textSchema.optional().describe('Description of the uncovered part.'),
    suggested_files: z.array(textSchema).optional().describe('Files suggested for further work.'),
  }),
  phase_change: z.strictObject({ phase: nameSchema.describe('Name of the phase that the run enters.') }),
} as const;

/** Type of a control directive. */
export type ControlDirectiveType = keyof typeof CONTROL_PARAMS;
