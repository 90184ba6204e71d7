// Whether an MCP server may ask a model of the service (sampling), and how much of it.
// Must never be on by default: the tokens are paid for by the operator.
import * as z from 'zod';
import { positiveDurationMsSchema } from '../contract/identifiers.ts';
import { notes } from './notes.ts';

const tokens = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** A hostile server is held to these by every worker, and by the installation as a whole. */
export const samplingSchema = z
  .strictObject({
    model: z.string().min(1).max(256).register(notes, {
      description: 'The model that answers: an alias of `models`, whose chain is used, or `provider:model`.',
      fallback: 'required',
    }),
    max_tokens: tokens.default(1_024).register(notes, {
      description: 'The longest answer; a server that asks for more gets this.',
      unit: 'tokens',
    }),
    max_requests_per_call: z.int().min(1).max(1_000).default(10).register(notes, {
      description: 'How often one tool call may ask, over all its attempts.',
      unit: 'requests',
    }),
    max_tokens_per_call: tokens.default(50_000).register(notes, {
      description: 'Tokens, read and written, that one tool call may use, over all its attempts.',
      unit: 'tokens',
    }),
    max_tokens_per_day: tokens.default(1_000_000).register(notes, {
      description: 'The same for the server, over all calls and workers, from midnight to midnight in UTC.',
      unit: 'tokens',
    }),
    timeout_ms: positiveDurationMsSchema.optional().register(notes, {
      description: 'Limit of one call of a model.',
      unit: 'ms',
      fallback: 'as the lane of the provider says',
    }),
  })
  .refine((given) => given.max_tokens < given.max_tokens_per_call, {
    path: ['max_tokens_per_call'],
    message: 'must be more than max_tokens: a call also reads what it is asked',
  })
  .refine((given) => given.max_tokens_per_call <= given.max_tokens_per_day, {
    path: ['max_tokens_per_day'],
    message: 'must be at least max_tokens_per_call',
  });
