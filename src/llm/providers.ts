// The models this worker can call: one client for each configured provider, made when it is first needed.
// Must never read the environment, nor show a key.
import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import type { ModelRef } from '../contract/model-name.ts';
import type { ModelPrice } from './pricing.ts';

/** Time limits of a provider's calls, milliseconds. */
export interface ProviderSettings {
  /** Of an attempt whose directive names none. */
  readonly timeoutMs: number;
  /** Between two pieces of a stream. */
  readonly idleTimeoutMs: number;
}

export interface ModelProviders {
  /** The error is `unknown_model`: this worker does not serve the provider, or it has no such models. */
  language(ref: ModelRef): LanguageModelV4 | { readonly error: ErrorEnvelope };
  embedding(ref: ModelRef): EmbeddingModelV4 | { readonly error: ErrorEnvelope };
  settings(provider: string): ProviderSettings;
  /** null: none is configured, so there is no cost. */
  price(ref: ModelRef): ModelPrice | null;
  /** Its answers come from a file of turns: true for the `scripted` type only. */
  isScripted(provider: string): boolean;
}
