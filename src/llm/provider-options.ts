// The options that a provider's client is created from.
// Must never be written anywhere: they give access to the key.
import type { ModelPrice } from './pricing.ts';
import type { ProviderSettings } from './providers.ts';
import type { Script } from './script.ts';

interface SharedOptions {
  readonly settings: ProviderSettings;
  /** By the model's name without the provider. */
  readonly prices: ReadonlyMap<string, ModelPrice>;
  /** Most texts of one embedding call, by the model's name without the provider. */
  readonly embeddingBatches: ReadonlyMap<string, number>;
}

export interface RemoteProviderOptions extends SharedOptions {
  readonly type: 'anthropic' | 'openai' | 'google' | 'openai-compatible';
  /** With the version in its path. null = the provider's own URL. */
  readonly baseUrl: string | null;
  /** Sent with every call. */
  readonly headers: Readonly<Record<string, string>>;
  /** null = no key is sent. */
  readonly key: () => string | null;
  /** For `openai` only: which of its two text APIs to use. */
  readonly api: 'responses' | 'chat';
}

export interface ScriptedProviderOptions extends SharedOptions {
  readonly type: 'scripted';
  readonly script: Script;
  /** Pieces a second. null = as the script says. */
  readonly pace: number | null;
}

export type ProviderOptions = RemoteProviderOptions | ScriptedProviderOptions;
