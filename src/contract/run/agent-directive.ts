// Agent directives: what an agent requests of its own runtime.
// Must never be accepted from outside: only a turn produces them.
import * as z from 'zod';
import { durationMsSchema, identifierSchema, jsonObjectSchema } from '../identifiers.ts';
import { runOverridesSchema } from './run.ts';

const nameSchema = z.string().min(1).max(128);

/** A signal as an agent writes it; the runtime adds identity, time, cause and sequence. */
const emittedSignalSchema = z.strictObject({
  type: z.string().min(1).max(256).describe('Type of the signal, at most 256 characters.'),
  source: z.string().min(1).optional().describe('CloudEvents source of the signal. Default: `/agent`.'),
  subject: identifierSchema
    .optional()
    .describe('CloudEvents subject of the signal: the id of a request. Default: the request of the run.'),
  data: jsonObjectSchema.default({}).describe('Data of the signal. Default: {}.'),
});

/** Schema of the agent directive `emit`, which publishes a signal. */
export const emitSchema = z.strictObject({
  type: z.literal('emit').describe('Type of the directive.'),
  signal: emittedSignalSchema.describe('Signal to publish.'),
});

/** Schema of the agent directive `schedule`, which sets a timer. */
export const scheduleSchema = z.strictObject({
  type: z.literal('schedule').describe('Type of the directive.'),
  delay_ms: durationMsSchema.describe('Delay before the message is delivered to the run, in milliseconds.'),
  message: z.unknown().describe('Message that the run receives, any JSON value.'),
});

/** Schema of the agent directive `cancel`, which cancels a request. */
export const cancelSchema = z.strictObject({
  type: z.literal('cancel').describe('Type of the directive.'),
  request_id: identifierSchema.describe('Id of the request to cancel.'),
});

/** Schema of the agent directive `spawn_agent`, which starts a child run. */
export const spawnAgentSchema = z.strictObject({
  type: z.literal('spawn_agent').describe('Type of the directive.'),
  agent: nameSchema.describe('Name of the agent that the child runs.'),
  tag: nameSchema.describe("Name of the child within its parent's run."),
  input: z.unknown().default(null).describe('Input of the child, any JSON value. Default: null.'),
  overrides: runOverridesSchema.prefault({}).describe("Changes to the child's agent for this run."),
});

/** Schema of the agent directive `stop_child`, which ends a child run. */
export const stopChildSchema = z.strictObject({
  type: z.literal('stop_child').describe('Type of the directive.'),
  tag: nameSchema.describe("Name of the child within its parent's run."),
  reason: z.string().default('normal').describe('Reason that the child receives. Default: `normal`.'),
});

/** Schema of the agent directive `error`, which reports an error. */
export const errorSchema = z.strictObject({
  type: z.literal('error').describe('Type of the directive.'),
  error: z.unknown().describe('Error, any JSON value.'),
  context: z.unknown().default(null).describe('Context of the error, any JSON value. Default: null.'),
});

/** Schema of the agent directive `stop`, which ends the run. */
export const stopSchema = z.strictObject({
  type: z.literal('stop').describe('Type of the directive.'),
  reason: z.string().default('normal').describe('Reason of the stop. Default: `normal`.'),
});

/** Schema of an agent directive. */
export const agentDirectiveSchema = z.discriminatedUnion('type', [
  emitSchema,
  scheduleSchema,
  cancelSchema,
  spawnAgentSchema,
  stopChildSchema,
  errorSchema,
  stopSchema,
]);

/** Directive that an agent gives to the engine. */
export type AgentDirective = z.infer<typeof agentDirectiveSchema>;
/** Type of an agent directive. */
export type AgentDirectiveType = AgentDirective['type'];

/** Types of agent directives. */
export const AGENT_DIRECTIVE_TYPES: readonly string[] = agentDirectiveSchema.options.map(
  (option) => option.shape.type.value,
);
