// Tokens for browsers: each reads one request for a short time.
import * as z from 'zod';
import { instantSchema } from '../identifiers.ts';

const LONGEST_MS = 60 * 60_000;
const DEFAULT_MS = 10 * 60_000;

/** Schema of the body that makes a token for one request. */
export const viewTokenBodySchema = z.strictObject({
  lasts_ms: z
    .int()
    .min(1_000)
    .max(LONGEST_MS)
    .default(DEFAULT_MS)
    .describe('Lifetime of the token, in milliseconds, 1,000 to 3,600,000. Default: 600,000 (10 minutes).'),
});

/** Schema of a token for one request. */
export const viewTokenSchema = z.object({
  token: z
    .string()
    .describe(
      'Secret text, sent as an API key is. It reads the request, its signals, directives and payloads, and nothing else.',
    ),
  expires_at: instantSchema.describe(
    'Instant (UTC) from which it is refused. A stream that is open then goes on, unless the key was revoked.',
  ),
});

/** Body that makes a token for one request, as it is written. */
export type SubmittedViewToken = z.input<typeof viewTokenBodySchema>;
/** Token for one request. */
export type ViewToken = z.infer<typeof viewTokenSchema>;
