// The retry fields that every work directive carries, and the delay they ask for.
// Must never decide whether an error is retryable: the error envelope does.
import * as z from 'zod';
import { durationMsSchema, positiveDurationMsSchema } from '../identifiers.ts';

/** Schemas of the retry fields of every queued directive. */
export const retryFields = {
  max_retries: z
    .int()
    .min(0)
    .default(0)
    .describe('Maximum number of retries after the first attempt. Default: 0.'),
  retry_backoff_ms: durationMsSchema
    .default(0)
    .describe('Delay before the first retry, in milliseconds. Default: 0.'),
  backoff: z
    .enum(['fixed', 'exponential'])
    .default('fixed')
    .describe(
      'Growth of the delay: `fixed`, or `exponential`, which doubles it with each retry. Default: `fixed`.',
    ),
  max_backoff_ms: durationMsSchema
    .default(30_000)
    .describe(
      'Maximum of a growing delay, in milliseconds; it never shortens the first delay. Default: 30,000.',
    ),
  jitter: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('Fraction by which a delay is randomly shortened, 0 to 1. Default: 0.'),
  deadline_ms: positiveDurationMsSchema
    .default(900_000)
    .describe(
      'Time from the acceptance to the end, all attempts and waits included, in milliseconds. Default: 900,000 (15 minutes).',
    ),
};

/** Schema of the retry fields. */
export const retryPolicySchema = z.object(retryFields);

/** Retry fields with every default filled in. */
export type RetryPolicy = z.infer<typeof retryPolicySchema>;

/**
 * Milliseconds to wait before the next attempt.
 *
 * `failedAttempts` counts from 1. `random` returns 0..1 and is called only when there is jitter, which shortens the
 * delay by at most its fraction. `max_backoff_ms` caps the growth, never the first delay. A longer `retryAfterMs` wins,
 * also over the cap.
 */
export function retryDelayMs(
  policy: Pick<RetryPolicy, 'retry_backoff_ms' | 'backoff' | 'max_backoff_ms' | 'jitter'>,
  failedAttempts: number,
  random: () => number,
  retryAfterMs?: number | null,
): number {
  const doublings = policy.backoff === 'exponential' ? Math.max(0, failedAttempts - 1) : 0;
  const cap = Math.max(policy.max_backoff_ms, policy.retry_backoff_ms);
  const capped = Math.min(policy.retry_backoff_ms * 2 ** Math.min(doublings, 52), cap);
  const jittered = policy.jitter > 0 ? capped * (1 - policy.jitter * random()) : capped;
  return Math.max(Math.round(jittered), usableDelay(retryAfterMs));
}

function usableDelay(retryAfterMs: number | null | undefined): number {
  return typeof retryAfterMs === 'number' && retryAfterMs > 0 && Number.isFinite(retryAfterMs)
    ? Math.ceil(retryAfterMs)
    : 0;
}
