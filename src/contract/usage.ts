// Token counts of a model call, whatever the provider names them.
// Must never invent a count: what was not reported is zero.
import * as z from 'zod';

const tokens = z.int().min(0);

export const usageSchema = z.object({
  input_tokens: tokens,
  output_tokens: tokens,
  total_tokens: tokens,
  cache_creation_input_tokens: tokens.optional(),
  cache_read_input_tokens: tokens.optional(),
});

export type Usage = z.infer<typeof usageSchema>;
