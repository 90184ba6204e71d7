/** A kind of directive: `webhook` posts JSON to a URL, under the same Idempotency-Key at every attempt.
 *  It must never leave the receiver in doubt whether a request is a repeat. */
import { defineDirective, errorEnvelope, errorResult, okResult, retryFields } from 'adjutant/engine';
import * as z from 'zod';

/** Time limit of one attempt. */
const ATTEMPT_MS = 10_000;

export const webhook = defineDirective({
  type: 'webhook',
  mode: 'queued',
  schema: z.strictObject({ url: z.url({ protocol: /^https?$/ }), body: z.unknown(), ...retryFields }),
  effect: 'idempotent',
  async execute({ url, body }, { idempotencyKey, signal, traceparent }) {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey, traceparent },
        body: JSON.stringify(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]),
      });
      const text = await response.text();
      if (!response.ok) return { result: errorResult(refusal(response, text)) };
      return { result: okResult({ status: response.status, text }) };
    } catch (error) {
      return { result: errorResult(errorEnvelope('network', String(error), { url })), ambiguous: true };
    }
  },
});

/** 429 and 5xx may get better, other refusals will not. */
function refusal({ status, headers }: Response, text: string) {
  const message = `the receiver answered ${status}`;
  const details = { status, text: text.slice(0, 1_000) };
  if (status >= 500) return errorEnvelope('provider_error', message, details);
  if (status !== 429) return errorEnvelope('validation_error', message, details);
  const seconds = Number(headers.get('retry-after') ?? 1);
  return errorEnvelope('rate_limited', message, { ...details, retry_after_ms: (seconds || 1) * 1_000 });
}
