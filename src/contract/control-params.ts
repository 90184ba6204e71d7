// The parameters of each control directive, by its type.
// Must never accept a value of the wrong kind: tools are not trusted to check.
import * as z from 'zod';
import { jsonObjectSchema } from './identifiers.ts';

const noParams = z.strictObject({}).default({});
const textSchema = z.string();
const nameSchema = z.string().min(1);

/** `target_tier` is the spelling of the proposal; only `tier` comes out. */
const tierParams = z
  .strictObject({
    tier: nameSchema.optional(),
    target_tier: nameSchema.optional(),
    reason: textSchema.default(''),
    task_state: textSchema.optional(),
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

export const CONTROL_PARAMS = {
  stop_processing: noParams,
  tier_change: tierParams,
  clear_self_todos: noParams,
  inject_context: z.strictObject({
    content: textSchema,
    role: z.enum(['user', 'system', 'assistant']).default('user'),
  }),
  prune_messages: z.strictObject({ keep_recent: z.int().min(0).default(2) }).default({ keep_recent: 2 }),
  todo_state_changed: z.strictObject({
    state: textSchema,
    count: z.int().min(0).default(0),
    items: z.union([z.array(z.unknown()), jsonObjectSchema, z.null()]).default(null),
  }),
  context_anchor: z.strictObject({ key: nameSchema, content: textSchema }),
  notify_presenter: z.strictObject({ key: nameSchema, data: jsonObjectSchema.default({}) }),
  delegate: z.strictObject({
    target: nameSchema,
    task: textSchema,
    /** null = absent: the target's own limit applies. */
    max_turns: z.int().min(1).nullable().optional(),
  }),
  pipeline: z.strictObject({ stages: z.array(nameSchema).min(2), task: textSchema }),
  complete: z.strictObject({
    summary: textSchema,
    coverage_gap: z.boolean().optional(),
    gap_description: textSchema.optional(),
    suggested_files: z.array(textSchema).optional(),
  }),
  phase_change: z.strictObject({ phase: nameSchema }),
} as const;

export type ControlDirectiveType = keyof typeof CONTROL_PARAMS;
