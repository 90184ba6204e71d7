// What an executor asks before it calls a model: may it, by the limits that all workers share?
// Must never wait: it answers at once, and the directive waits in its lane.
import type { ModelRef } from '../contract/model-name.ts';

/** What a limit is about: all models of a provider, or one of them. */
export type LimitScope = 'provider' | 'model';

export type Reservation =
  | {
      ok: true;
      /** Tells how many tokens the call really took, once it is known. Never throws, nor waits. */
      record(actualTokens: number): void;
    }
  | {
      ok: false;
      /** Milliseconds until it is worth asking again, at least 1. */
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
  /** The provider said to stay away for `ms` milliseconds: every worker does. */
  block(ref: ModelRef, scope: LimitScope, ms: number): Promise<void>;
}
