// A request that is run again, with changes where the caller gives some, and a fork of a run at one of its turns.
// Must never let a caller name the origin of a request: the service does.
import * as z from 'zod';
import { agentNameSchema } from './agent-definition.ts';
import { requestOriginSchema } from './run-origin.ts';
import { runOverridesSchema } from './run.ts';
import { anyDirectiveTypeSchema } from '../directive/directive.ts';
import { identifierSchema, jsonObjectSchema } from '../identifiers.ts';

/** Maximum number of descendants that a request lists; the first ones stay. */
export const MOST_DESCENDANTS = 64;

const newRequest = identifierSchema
  .optional()
  .describe(
    'Id of the new request; the same id with the same changes is the same request. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated, or made of the idempotency key.',
  );

const model = z
  .string()
  .min(1)
  .max(256)
  .optional()
  .describe('Model as `provider:model`. Default: the model of the original.');

/** Schema of the changes with which a request is run again. */
export const againBodySchema = z.strictObject({
  request_id: newRequest,
  directive: identifierSchema
    .optional()
    .describe(
      'Id of the directive of the original to submit again. Default: the run, or the only directive of a request without a run.',
    ),
  query: z
    .string()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe(
      'Task in place of the last message of the user, at most 1,000,000 characters; only of a run. Default: as the original.',
    ),
  agent: agentNameSchema
    .optional()
    .describe('Name of the agent of a run. Default: the agent of the original.'),
  model,
  overrides: runOverridesSchema
    .optional()
    .describe(
      'Changes to the agent of a run, member by member over those of the original. Default: as the original.',
    ),
  arguments: jsonObjectSchema
    .optional()
    .describe('Arguments of a tool call, in place of those of the original. Default: as the original.'),
});

/** Schema of a fork of a run. */
export const forkBodySchema = z.strictObject({
  request_id: newRequest,
  at: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe(
      'Turn at which the fork begins, from 1: its model call is made anew. The messages before it are those that the original sent.',
    ),
  say: z
    .string()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe(
      'Message of the user that is added before the turn, at most 1,000,000 characters. Default: none.',
    ),
  model,
  system_prompt: z
    .string()
    .max(1_000_000)
    .optional()
    .describe('System prompt, at most 1,000,000 characters. Default: as the original.'),
  results: z
    .record(z.string().min(1).max(256), z.unknown())
    .optional()
    .describe(
      "Other results of tool calls before the turn, by the id of the call's directive or the call id of the model: a text, or any JSON. Default: none.",
    ),
  act: z
    .boolean()
    .default(false)
    .describe(
      'Whether a tool with the effect `once` may be called without a question to a person, where the original has no equal call. Default: false.',
    ),
  dry: z
    .boolean()
    .default(false)
    .describe(
      'Whether no tool is called: each call gets the recorded result of an equal call of the original, and the fork fails at the first call that has none. Default: false.',
    ),
});

/** Schema of the answer to a request that was run again or forked. */
export const repeatedRequestSchema = z.object({
  request_id: identifierSchema.describe('Id of the new request.'),
  id: identifierSchema.optional().describe('Id of its directive. Absent: it is a run.'),
  type: anyDirectiveTypeSchema.optional().describe('Type of its directive. Absent: it is a run.'),
  agent: agentNameSchema.optional().describe('Agent of its run. Absent: it is no run.'),
  origin: requestOriginSchema.describe('Request that it comes from.'),
  links: z
    .object({
      request: z.string().describe('Path of the new request.'),
      signals: z.string().describe('Path of its signals.'),
    })
    .describe('Paths of related resources.'),
});

/** Changes with which a request is run again. */
export type AgainBody = z.input<typeof againBodySchema>;
/** Fork of a run; members with a default may be absent. */
export type ForkBody = z.input<typeof forkBodySchema>;
/** Answer to a request that was run again or forked. */
export type RepeatedRequest = z.infer<typeof repeatedRequestSchema>;
