// The options that a provider's client is created from.
// Must never be written anywhere: they give access to the key.
import type { ModelPrice } from '../pricing.ts';
import type { PromptCache } from './prompt-cache.ts';
import type { ProviderSettings } from '../providers.ts';
import type { ReasoningHistory } from './reasoning-history.ts';
import type { ModelSettings } from './request-params.ts';
import type { Script } from '../script.ts';
import type { ThinkTags } from '../wires/think-tags.ts';

interface SharedOptions {
  readonly settings: ProviderSettings;
  /** Takes the model's name without the provider. */
  readonly prices: ReadonlyMap<string, ModelPrice>;
  /** Most texts of one embedding call, by the model's name without the provider. */
  readonly embeddingBatches: ReadonlyMap<string, number>;
}

export interface RemoteOptions extends SharedOptions {
  /** With the version in its path. null = the provider's own URL. */
  readonly baseUrl: string | null;
  /** Sent with every call. */
  readonly headers: Readonly<Record<string, string>>;
  /** null = no key is sent. */
  readonly key: () => string | null;
  /** Parameters and structured output of a model. */
  readonly model: (name: string) => ModelSettings;
  /** The names that a caller's `provider_options` may set; null = all that the contract allows. */
  readonly callerNames: readonly string[] | null;
}

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A provider with an address and a key of its own. */
export interface RemoteProviderOptions extends RemoteOptions {
  readonly type: 'anthropic' | 'openai' | 'google' | 'openai-compatible';
  /** For `openai` only: which of its two text APIs to use. */
  readonly api: 'responses' | 'chat';
  /** For `openai-compatible` only: how thinking is marked in its texts. null = it is not. */
  readonly thinkTags: ThinkTags | null;
  /** For `openai-compatible` only. */
  readonly reasoningHistory: ReasoningHistory;
  /** For `openai-compatible` only; null: by the name of the model. */
  readonly assistantAfterTools: boolean | null;
  /** Takes the model's name without the provider. */
  readonly promptCache: (model: string) => PromptCache;
}

export interface BedrockOptions extends RemoteOptions {
  readonly type: 'bedrock';
  readonly region: string;
  /** Without a key, requests are signed with these. */
  readonly credentials: () => AwsCredentials | null;
}

export interface VertexOptions extends RemoteOptions {
  readonly type: 'vertex';
  /** null with a key, or as the credentials of the environment say. */
  readonly project: string | null;
  readonly location: string;
}

export interface AzureOptions extends RemoteOptions {
  readonly type: 'azure';
  /** null: `baseUrl` is set. */
  readonly resource: string | null;
  readonly api: 'responses' | 'chat';
  /** null: the URL has no version of its own, as Azure's `v1`. A version means the URLs of deployments. */
  readonly apiVersion: string | null;
}

export interface ScriptedProviderOptions extends SharedOptions {
  readonly type: 'scripted';
  readonly script: Script;
  /** Chunks a second. null = as the script says. */
  readonly pace: number | null;
}

export type ProviderOptions =
  | RemoteProviderOptions
  | BedrockOptions
  | VertexOptions
  | AzureOptions
  | ScriptedProviderOptions;
