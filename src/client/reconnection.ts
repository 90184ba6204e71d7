/** The pause before a call to an unreachable service is repeated: exponential, with jitter, capped.
 *  It must never retry a refusal, only a service that does not answer. */
import { ServiceUnavailable } from '../contract/problem.ts';
import { retryDelayMs } from '../contract/directive/retry-policy.ts';
import { pause } from '../platform/lifecycle.ts';

const POLICY = { retry_backoff_ms: 200, backoff: 'exponential', max_backoff_ms: 5_000, jitter: 0.5 } as const;

export interface Reconnection {
  /** Call after an answer of the service: the next pause is short again. */
  succeeded(): void;
  /** Pauses before the next attempt, at least as long as the service asked for. Returns early when `signal` aborts. */
  wait(error: unknown, signal?: AbortSignal): Promise<void>;
}

export function createReconnection(random: () => number): Reconnection {
  let failures = 0;
  return {
    succeeded: () => {
      failures = 0;
    },
    wait: async (error, signal) => {
      failures += 1;
      const retryAfterMs = error instanceof ServiceUnavailable ? error.retryAfterMs : null;
      await pause(retryDelayMs(POLICY, failures, random, retryAfterMs), signal);
    },
  };
}
