// The models this worker can call: one client for each configured provider, loaded and created when it is first needed.
// Must never read the environment, nor show a key.
import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible';
import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider';
import { errorEnvelope, type ErrorEnvelope } from '../contract/error-envelope.ts';
import type { ModelRef } from '../contract/model/model-name.ts';
import { type ClientSettings, clientSettings, type ModelMaker } from './client-settings.ts';
import { azure, bedrock, vertex } from './cloud-providers.ts';
import type { ModelPrice } from './pricing.ts';
import { OPEN_RULES, type PromptRules } from './requests/prompt.ts';
import type { PromptCache } from './requests/prompt-cache.ts';
import type {
  AzureOptions,
  ProviderOptions,
  RemoteOptions,
  RemoteProviderOptions,
  ScriptedProviderOptions,
} from './requests/provider-options.ts';
import { reasoningExtractor } from './requests/reasoning-history.ts';
import { withEmbeddingParams, withLanguageParams } from './requests/request-params.ts';
import { scriptedEmbeddingModel, scriptedLanguageModel } from './scripted-model.ts';
import { chatWire } from './wires/chat.ts';
import { GOOGLE } from './wires/google.ts';
import { MESSAGES } from './wires/messages.ts';
import { RESPONSES } from './wires/responses.ts';
import type { Wire } from './wires/wire.ts';

/** Time limits of a provider's calls, milliseconds. */
export interface ProviderSettings {
  /** For an attempt whose directive sets none. */
  readonly timeoutMs: number;
  /** Longest silence between two chunks of a stream. */
  readonly idleTimeoutMs: number;
}

/** A caller's `provider_options`. */
type CallerOptions = Readonly<Record<string, unknown>>;

type Served<M> = M | { readonly error: ErrorEnvelope };

export interface ModelProviders {
  /** Loads the clients of all configured providers, which holds the event loop up; otherwise the first call does that. */
  load(): Promise<void>;
  /**
   * Error `unknown_model`: this worker does not serve the provider, or it has no such model. Error `validation_error`: the
   * configuration does not let callers set one of their options.
   */
  language(ref: ModelRef, callerOptions?: CallerOptions): Promise<Served<LanguageModelV4>>;
  embedding(ref: ModelRef, callerOptions?: CallerOptions): Promise<Served<EmbeddingModelV4>>;
  /** The options of a provider whose API takes requests as they are; null: this worker serves none of the name. */
  direct(provider: string): RemoteProviderOptions | AzureOptions | null;
  /** Defaults for a provider that this worker does not serve. */
  settings(provider: string): ProviderSettings;
  /** null: no price is configured, so there is no cost. */
  price(ref: ModelRef): ModelPrice | null;
  /** The order and form of messages that the model's provider accepts. */
  promptRules(ref: ModelRef): PromptRules;
  /** How a model's provider is asked to keep the beginning that calls of one run share. */
  promptCache(ref: ModelRef): PromptCache;
  /** Configured most texts of one embedding call; null: not configured. */
  embeddingBatch(ref: ModelRef): number | null;
  /** Its answers come from a file of turns: true for the `scripted` type only. */
  isScripted(provider: string): boolean;
}

const DEFAULT_SETTINGS: ProviderSettings = { timeoutMs: 120_000, idleTimeoutMs: 60_000 };

/** Connects nothing before the first call. */
export function createModelProviders(options: ReadonlyMap<string, ProviderOptions>): ModelProviders {
  const makers = new Map<string, Promise<ModelMaker>>();

  function makerOf(name: string): Promise<ModelMaker> | null {
    const provider = options.get(name);
    if (provider === undefined) return null;
    const maker = makers.get(name) ?? makerFor(name, provider);
    makers.set(name, maker);
    return maker;
  }

  async function made<M>(ref: ModelRef, model: (maker: ModelMaker) => Served<M>): Promise<Served<M>> {
    const maker = await makerOf(ref.provider);
    return maker === null ? notServed(ref) : model(maker);
  }

  const settingsOf = (ref: ModelRef): RemoteOptions | null => {
    const provider = options.get(ref.provider);
    return provider === undefined || provider.type === 'scripted' ? null : provider;
  };

  return {
    async load() {
      for (const name of options.keys()) await makerOf(name);
    },
    async language(ref, caller = {}) {
      const remote = settingsOf(ref);
      return (
        refusedOption(ref, remote, caller) ??
        made(ref, (maker) => {
          const model = maker.language(ref.model);
          return remote === null ? model : withLanguageParams(model, remote.model(ref.model), caller);
        })
      );
    },
    async embedding(ref, caller = {}) {
      const remote = settingsOf(ref);
      return (
        refusedOption(ref, remote, caller) ??
        made(ref, (maker) => {
          const model = maker.embedding?.(ref.model) ?? withoutEmbeddings(ref);
          if ('error' in model || remote === null) return model;
          return withEmbeddingParams(model, remote.model(ref.model).params, caller);
        })
      );
    },
    direct(name) {
      const provider = options.get(name);
      if (provider === undefined || provider.type === 'scripted') return null;
      return provider.type === 'bedrock' || provider.type === 'vertex' ? null : provider;
    },
    settings: (provider) => options.get(provider)?.settings ?? DEFAULT_SETTINGS,
    price: ({ provider, model }) => options.get(provider)?.prices.get(model) ?? null,
    promptRules: (ref) => promptRules(ref, options.get(ref.provider)),
    promptCache({ provider, model }) {
      const found = options.get(provider);
      return found !== undefined && 'promptCache' in found ? found.promptCache(model) : 'off';
    },
    embeddingBatch: ({ provider, model }) => options.get(provider)?.embeddingBatches.get(model) ?? null,
    isScripted: (provider) => options.get(provider)?.type === 'scripted',
  };
}

/** OpenAI alone takes instructions at any place. Chat templates of other servers (Qwen, Gemma, Mistral) raise an error. */
function promptRules({ provider, model }: ModelRef, options: ProviderOptions | undefined): PromptRules {
  if (options === undefined || TAKES_ALL.has(options.type)) return OPEN_RULES;
  const argumentNames = isClaude(options.type, model) ? OF_CLAUDE : null;
  const strict = { ...OPEN_RULES, systemAnywhere: false, argumentNames };
  if (options.type !== 'openai-compatible') return strict;
  return {
    ...strict,
    assistantAfterTools: options.assistantAfterTools ?? OF_MISTRAL.test(model),
    reasoning: { provider, history: options.reasoningHistory },
  };
}

const TAKES_ALL: ReadonlySet<ProviderOptions['type']> = new Set(['scripted', 'openai', 'azure']);

function isClaude(type: ProviderOptions['type'], model: string): boolean {
  return type === 'anthropic' || ((type === 'bedrock' || type === 'vertex') && /claude/i.test(model));
}

/** The names of arguments that Anthropic accepts; it refuses a request with another one. */
const OF_CLAUDE = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Mistral answers 400 to a user message after a tool's, wherever its models are served. */
const OF_MISTRAL = /(?:mistral|ministral|mixtral|magistral|devstral|codestral|pixtral)/i;

/** null: the caller may set all of its options. */
function refusedOption(
  { provider, name }: ModelRef,
  remote: RemoteOptions | null,
  caller: CallerOptions,
): { error: ErrorEnvelope } | null {
  const allowed = remote?.callerNames ?? null;
  const refused = allowed && Object.keys(caller).find((option) => !allowed.includes(option));
  if (refused === null || refused === undefined) return null;
  const message = `provider_options.${refused}: the configuration of the provider "${provider}" does not let callers set it`;
  return {
    error: errorEnvelope('validation_error', message, { field: `provider_options.${refused}`, model: name }),
  };
}

function notServed({ provider, name }: ModelRef): { error: ErrorEnvelope } {
  const message = `this worker does not serve the provider "${provider}" of "${name}"`;
  return { error: errorEnvelope('unknown_model', message, { model: name }) };
}

function withoutEmbeddings({ provider, name }: ModelRef): { error: ErrorEnvelope } {
  const message = `the provider "${provider}" has no embedding models`;
  return { error: errorEnvelope('unknown_model', message, { model: name }) };
}

async function makerFor(name: string, options: ProviderOptions): Promise<ModelMaker> {
  switch (options.type) {
    case 'scripted':
      return scripted(options);
    case 'bedrock':
      return bedrock(options);
    case 'vertex':
      return vertex(options);
    case 'azure':
      return azure(options);
    case 'anthropic':
    case 'google':
    case 'openai':
    case 'openai-compatible':
      return remote(name, options);
  }
}

function scripted({ script, pace }: ScriptedProviderOptions): ModelMaker {
  return {
    language: (model) => scriptedLanguageModel({ model, script, pace }),
    embedding: scriptedEmbeddingModel,
  };
}

/** Always set, so that no client reads a URL or key from the environment. */
export const OWN_URL = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-compatible': '',
} as const;

async function remote(name: string, options: RemoteProviderOptions): Promise<ModelMaker> {
  const baseUrl = options.baseUrl ?? OWN_URL[options.type];
  const { key, language, embedding } = clientSettings(options, baseUrl, { wire: wireOf(options) });
  switch (options.type) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      const anthropic = createAnthropic({ ...language, apiKey: key });
      return { language: anthropic.languageModel, embedding: null };
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google');
      return {
        language: createGoogle({ ...language, apiKey: key }).languageModel,
        embedding: createGoogle({ ...embedding, apiKey: key }).embeddingModel,
      };
    }
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const openai = createOpenAI({ ...language, apiKey: key });
      return {
        language: options.api === 'chat' ? openai.chat : openai.responses,
        embedding: createOpenAI({ ...embedding, apiKey: key }).embeddingModel,
      };
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const compatible = (settings: ClientSettings): OpenAICompatibleProvider =>
        createOpenAICompatible({
          ...settings,
          name,
          metadataExtractor: reasoningExtractor(name),
          ...COMPATIBLE,
          ...(key === '' ? {} : { apiKey: key }),
        });
      const answering = compatible(language);
      return {
        language: kept(answering.languageModel),
        embedding: compatible(embedding).embeddingModel,
      };
    }
  }
}

function wireOf({ type, api, thinkTags }: RemoteProviderOptions): Wire {
  switch (type) {
    case 'anthropic':
      return MESSAGES;
    case 'google':
      return GOOGLE;
    case 'openai':
      return api === 'chat' ? chatWire(null) : RESPONSES;
    case 'openai-compatible':
      return chatWire(thinkTags);
  }
}

/** Usage is requested, because these streams send it only on demand. */
const COMPATIBLE = { includeUsage: true, supportsStructuredOutputs: true };

/** Models that are kept for the next call: a caller may name any number of them. */
const MOST_KEPT = 64;

/** These models hold nothing of a call; making one builds the schemas of its answers anew. */
function kept<M>(make: (model: string) => M): (model: string) => M {
  const models = new Map<string, M>();
  return (name) => {
    const model = models.get(name) ?? make(name);
    if (models.size >= MOST_KEPT && !models.has(name)) models.clear();
    models.set(name, model);
    return model;
  };
}
