// Asks, before a model is called, whether the limits that all workers share allow the call.
// Must never wait: it answers at once, and the directive waits in its lane.
import type { ModelRef } from '../contract/model/model-name.ts';

/** Scope of a limit: all models of a provider, or one of them. */
export type LimitScope = 'provider' | 'model';

export type Reservation =
  | {
      ok: true;
      /** Reports how many tokens the call really took, once it is known. Never throws, nor waits. */
      record(actualTokens: number): void;
    }
  | {
      ok: false;
      /** Milliseconds until another try makes sense, at least 1. */
      retryAfterMs: number;
      /** Which limit refused. */
      scope: LimitScope;
    };

export interface ModelLimiter {
  /**
   * Takes one request and an estimate of its tokens (input and output) out of every limit of the model, or out of none.
   * Rejects only when Redis does not answer.
   */
  reserve(ref: ModelRef, estimate: { tokens: number }): Promise<Reservation>;
  /** The provider asks for a pause of `ms` milliseconds: every worker obeys. */
  block(ref: ModelRef, scope: LimitScope, ms: number): Promise<void>;
}
