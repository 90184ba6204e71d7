// The result of a cancellation: what happened to each directive, and the errors of directives that were stopped.
// Must never report "cancelled" for a directive whose attempt still runs.
import * as z from 'zod';
import { errorEnvelope, type ErrorEnvelope } from '../error-envelope.ts';
import { identifierSchema } from '../identifiers.ts';
import { boundedText } from '../json/json-safe.ts';
import { signalSchema } from '../signal/signal.ts';

/** Schema of a directive in the answer to a cancellation. */
export const cancelledDirectiveSchema = z.object({
  id: identifierSchema.describe('Id of the directive.'),
  status: z
    .enum(['cancelled', 'requested', 'ended'])
    .describe(
      'State of the directive. `cancelled`: this call ended it. `requested`: its attempt is being aborted and will report its outcome. `ended`: it had ended before, and its result remains.',
    ),
  result: signalSchema
    .optional()
    .describe('The signal that ended it. Only where one directive is cancelled, not all of a request.'),
});

/** Schema of the answer to a cancellation. */
export const cancellationSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  directives: z
    .array(cancelledDirectiveSchema)
    .describe('Directives of the request that the cancellation concerned.'),
});

/** The body of a cancellation; may be absent. */
export const cancelBodySchema = z.strictObject({
  reason: z.string().max(1_000).optional().describe('Reason of the cancellation, at most 1,000 characters.'),
});

/** Counted as JSON; a reason of 1 000 plain characters fits. */
const LARGEST_REASON_BYTES = 1_100;
const SHORT_REASON = 160;

/** The error of a cancelled directive. `mayHaveRun`: a call that must not be repeated may have happened. */
export function cancelledError(reason: string | null, mayHaveRun: boolean): ErrorEnvelope {
  return errorEnvelope('cancelled', 'cancelled by a caller', {
    ...(reason === null ? {} : { reason: shortReason(reason) }),
    ...(mayHaveRun ? { outcome: 'unknown' } : {}),
  });
}

/** Keeps the end of a cancelled directive small, also in a request that is full of such ends. */
function shortReason(reason: string): string {
  const bytes = new TextEncoder().encode(JSON.stringify(reason)).length;
  return bytes <= LARGEST_REASON_BYTES ? reason : boundedText(reason, SHORT_REASON);
}

/** The error of a directive without a result by its deadline. `why`: what it waited for to the end. Default: unknown. */
export function deadlineExceededError(
  deadlineMs: number | null,
  details: Record<string, unknown> = {},
  why?: string,
): ErrorEnvelope {
  const message = `no terminal result by the deadline${why === undefined ? '' : `: ${why}`}`;
  const allDetails = { deadline_ms: deadlineMs, ...details };
  return errorEnvelope('deadline_exceeded', message, allDetails);
}

/** The error of what has not begun in time. */
export function expiredError(
  startByMs: number,
  details: Record<string, unknown> = {},
  why?: string,
): ErrorEnvelope {
  const message = `not begun within start_by_ms${why === undefined ? '' : `: ${why}`}`;
  return errorEnvelope('expired', message, { start_by_ms: startByMs, ...details });
}

/** Directive in the answer to a cancellation. */
export type CancelledDirective = z.infer<typeof cancelledDirectiveSchema>;
/** Answer to a cancellation. */
export type Cancellation = z.infer<typeof cancellationSchema>;
