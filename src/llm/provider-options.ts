// The options that a provider's client is created from.
// Must never be written anywhere: they give access to the key.
import type { ModelPrice } from './pricing.ts';
import type { PromptCache } from './prompt-cache.ts';
import type { ProviderSettings } from './providers.ts';
import type { ReasoningHistory } from './reasoning-history.ts';
import type { Script } from './script.ts';
import type { ThinkTags } from './wires/think-tags.ts';

interface SharedOptions {
  readonly settings: ProviderSettings;
  /** By the model's name without the provider. */
  readonly prices: ReadonlyMap<string, ModelPrice>;
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
  /** For `openai-compatible` only: how thinking is marked in its texts. null = it is not. */
  readonly thinkTags: ThinkTags | null;
  /** For `openai-compatible` only. */
  readonly reasoningHistory: ReasoningHistory;
  /** For `openai-compatible` only; null: by the name of the model. */
  readonly assistantAfterTools: boolean | null;
  /** By the model's name without the provider. */
  readonly promptCache: (model: string) => PromptCache;
}

export interface ScriptedProviderOptions extends SharedOptions {
  readonly type: 'scripted';
  readonly script: Script;
  /** Pieces a second. null = as the script says. */
  readonly pace: number | null;
}

export type ProviderOptions = RemoteProviderOptions | ScriptedProviderOptions;
