// Reserves and records what a model call takes from the limits that all workers share.
// Must never hold a call back because the limits are unavailable: the provider has its own.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import { errorResult } from '../../contract/result.ts';
import { SHORTEST_PAUSE_MS } from '../../contract/request/waiting.ts';
import type { LimitScope, ModelLimiter } from '../../models/model-limiter.ts';
import type { ModelFailure } from '../../models/answers/model-failure.ts';
import { exhaustedForMs, type ResponseHeaders } from '../../models/answers/rate-headers.ts';
import type { Execution } from './definition.ts';

export type Reserved =
  | { ok: true; record(actualTokens: number): void }
  | { ok: false; retryAfterMs: number; scope: LimitScope };

const UNLIMITED: Reserved = { ok: true, record: () => {} };

export async function reserve(limiter: ModelLimiter, ref: ModelRef, tokens: number): Promise<Reserved> {
  try {
    return await limiter.reserve(ref, { tokens });
  } catch {
    return UNLIMITED;
  }
}

/** Nothing was sent. */
export function refusedByLimit(
  ref: ModelRef,
  { retryAfterMs, scope }: Extract<Reserved, { ok: false }>,
): Execution {
  const whose = scope === 'provider' ? `the provider "${ref.provider}"` : `the model "${ref.name}"`;
  const error = errorEnvelope('rate_limited', `the limit of calls to ${whose} is used up`, {
    model: ref.name,
    retry_after_ms: retryAfterMs,
    limited_by: 'configuration',
    scope,
  });
  return { result: errorResult(error), unavailable: true, unsent: true, pauseScope: pauseScope(scope) };
}

export function pauseScope(scope: LimitScope): 'lane' | 'directive' {
  return scope === 'provider' ? 'lane' : 'directive';
}

/** A provider's refusal because of its limits holds for every worker, for no less than a pause after a refused call. */
export async function noteFailure(
  limiter: ModelLimiter,
  ref: ModelRef,
  failure: ModelFailure,
): Promise<void> {
  const wait = failure.error.details['retry_after_ms'];
  if (failure.limits === undefined) return;
  const blockMs = Math.max(typeof wait === 'number' ? wait : 0, SHORTEST_PAUSE_MS);
  await limiter.block(ref, failure.limits, blockMs).catch(() => {});
}

/** An answer may use up the provider's limit. */
export async function noteAnswer(
  limiter: ModelLimiter,
  ref: ModelRef,
  headers: ResponseHeaders,
): Promise<void> {
  const wait = exhaustedForMs(headers, Date.now());
  if (wait !== null) await limiter.block(ref, 'model', wait).catch(() => {});
}
