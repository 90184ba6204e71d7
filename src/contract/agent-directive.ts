// Agent directives: what an agent requests of its own runtime.
// Must never be accepted from outside: only a turn produces them.
import * as z from 'zod';
import { durationMsSchema, identifierSchema, jsonObjectSchema } from './identifiers.ts';
import { runOverridesSchema } from './run.ts';

const nameSchema = z.string().min(1).max(128);

/** A signal as an agent writes it; the runtime adds identity, time, cause and sequence. */
const emittedSignalSchema = z.strictObject({
  type: z.string().min(1).max(256),
  source: z.string().min(1).optional(),
  subject: identifierSchema.optional(),
  data: jsonObjectSchema.default({}),
});

export const emitSchema = z.strictObject({ type: z.literal('emit'), signal: emittedSignalSchema });

export const scheduleSchema = z.strictObject({
  type: z.literal('schedule'),
  delay_ms: durationMsSchema,
  message: z.unknown(),
});

export const cancelSchema = z.strictObject({ type: z.literal('cancel'), request_id: identifierSchema });

export const spawnAgentSchema = z.strictObject({
  type: z.literal('spawn_agent'),
  agent: nameSchema,
  tag: nameSchema,
  input: z.unknown().default(null),
  /** What this run of the child changes of its agent. */
  overrides: runOverridesSchema.prefault({}),
});

export const stopChildSchema = z.strictObject({
  type: z.literal('stop_child'),
  tag: nameSchema,
  reason: z.string().default('normal'),
});

export const errorSchema = z.strictObject({
  type: z.literal('error'),
  error: z.unknown(),
  context: z.unknown().default(null),
});

export const stopSchema = z.strictObject({
  type: z.literal('stop'),
  reason: z.string().default('normal'),
});

export const agentDirectiveSchema = z.discriminatedUnion('type', [
  emitSchema,
  scheduleSchema,
  cancelSchema,
  spawnAgentSchema,
  stopChildSchema,
  errorSchema,
  stopSchema,
]);

export type AgentDirective = z.infer<typeof agentDirectiveSchema>;
export type AgentDirectiveType = AgentDirective['type'];

export const AGENT_DIRECTIVE_TYPES: readonly string[] = agentDirectiveSchema.options.map(
  (option) => option.shape.type.value,
);
