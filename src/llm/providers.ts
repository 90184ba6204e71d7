// The models this worker can call: one client for each configured provider, created when it is first needed.
// Must never read the environment, nor show a key.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider';
import { errorEnvelope, type ErrorEnvelope } from '../contract/error-envelope.ts';
import type { ModelRef } from '../contract/model-name.ts';
import { type AnswerLimits, EMBEDDING_LIMITS, LANGUAGE_LIMITS } from './answer-limits.ts';
import { withDirectText } from './direct-stream.ts';
import { ANTHROPIC_MESSAGES, CHAT_COMPLETIONS } from './direct-text.ts';
import { guardedFetch } from './guarded-fetch.ts';
import type { ModelPrice } from './pricing.ts';
import type { ProviderOptions, RemoteProviderOptions, ScriptedProviderOptions } from './provider-options.ts';
import { scriptedEmbeddingModel, scriptedLanguageModel } from './scripted-model.ts';

/** Time limits of a provider's calls, milliseconds. */
export interface ProviderSettings {
  /** For an attempt whose directive sets none. */
  readonly timeoutMs: number;
  /** Between two pieces of a stream. */
  readonly idleTimeoutMs: number;
}

export interface ModelProviders {
  /** Error `unknown_model`: this worker does not serve the provider, or it has no such model. */
  language(ref: ModelRef): LanguageModelV4 | { readonly error: ErrorEnvelope };
  embedding(ref: ModelRef): EmbeddingModelV4 | { readonly error: ErrorEnvelope };
  /** Defaults for a provider that this worker does not serve. */
  settings(provider: string): ProviderSettings;
  /** null: no price is configured, so there is no cost. */
  price(ref: ModelRef): ModelPrice | null;
  /** Configured most texts of one embedding call; null: not configured. */
  embeddingBatch(ref: ModelRef): number | null;
  /** Its answers come from a file of turns: true for the `scripted` type only. */
  isScripted(provider: string): boolean;
}

const DEFAULT_SETTINGS: ProviderSettings = { timeoutMs: 120_000, idleTimeoutMs: 60_000 };

/** Creates the models of a provider. Throws for a model that the provider cannot have. */
interface ModelMaker {
  language(model: string): LanguageModelV4;
  /** null: the provider has no embeddings. */
  embedding: ((model: string) => EmbeddingModelV4) | null;
}

/** Connects nothing, and creates no client, before the first call. */
export function createModelProviders(options: ReadonlyMap<string, ProviderOptions>): ModelProviders {
  const makers = new Map<string, ModelMaker>();

  function makerOf(ref: ModelRef): ModelMaker | null {
    const provider = options.get(ref.provider);
    if (provider === undefined) return null;
    const maker = makers.get(ref.provider) ?? makerFor(ref.provider, provider);
    makers.set(ref.provider, maker);
    return maker;
  }

  return {
    language: (ref) => makerOf(ref)?.language(ref.model) ?? notServed(ref),
    embedding(ref) {
      const maker = makerOf(ref);
      if (maker === null) return notServed(ref);
      return maker.embedding?.(ref.model) ?? withoutEmbeddings(ref);
    },
    settings: (provider) => options.get(provider)?.settings ?? DEFAULT_SETTINGS,
    price: ({ provider, model }) => options.get(provider)?.prices.get(model) ?? null,
    embeddingBatch: ({ provider, model }) => options.get(provider)?.embeddingBatches.get(model) ?? null,
    isScripted: (provider) => options.get(provider)?.type === 'scripted',
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

function makerFor(name: string, options: ProviderOptions): ModelMaker {
  return options.type === 'scripted' ? scripted(options) : remote(name, options);
}

function scripted({ script, pace }: ScriptedProviderOptions): ModelMaker {
  return {
    language: (model) => scriptedLanguageModel({ model, script, pace }),
    embedding: scriptedEmbeddingModel,
  };
}

/** Always set, so that no client reads a URL or key from the environment. */
const OWN_URL = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-compatible': '',
} as const;

/** What every provider's client is created from. `language` and `embedding` differ in their size limits. */
interface ClientSettings {
  readonly baseURL: string;
  readonly headers: Record<string, string>;
  readonly fetch: typeof fetch;
}

function remote(name: string, options: RemoteProviderOptions): ModelMaker {
  const key = options.key() ?? '';
  const headers = { ...options.headers };
  const settings = (limits: AnswerLimits): ClientSettings => ({
    baseURL: options.baseUrl ?? OWN_URL[options.type],
    headers,
    fetch: guardedFetch({ secrets: [key, ...Object.values(headers)], limits }),
  });
  const language = settings(LANGUAGE_LIMITS);
  const embedding = settings(EMBEDDING_LIMITS);
  switch (options.type) {
    case 'anthropic': {
      const anthropic = createAnthropic({ ...language, apiKey: key });
      return {
        language: (model) => withDirectText(anthropic.languageModel(model), ANTHROPIC_MESSAGES),
        embedding: null,
      };
    }
    case 'google':
      return {
        language: createGoogle({ ...language, apiKey: key }).languageModel,
        embedding: createGoogle({ ...embedding, apiKey: key }).embeddingModel,
      };
    case 'openai': {
      const openai = createOpenAI({ ...language, apiKey: key });
      return {
        language: options.api === 'chat' ? openai.chat : openai.responses,
        embedding: createOpenAI({ ...embedding, apiKey: key }).embeddingModel,
      };
    }
    case 'openai-compatible': {
      const answering = compatible(name, key, language);
      return {
        language: kept((model) => withDirectText(answering.languageModel(model), CHAT_COMPLETIONS)),
        embedding: compatible(name, key, embedding).embeddingModel,
      };
    }
  }
}

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

/** Sends no Authorization without a key. Requests usage, which these streams send only on demand. */
function compatible(
  name: string,
  key: string,
  settings: ClientSettings,
): ReturnType<typeof createOpenAICompatible> {
  return createOpenAICompatible({
    ...settings,
    name,
    ...(key === '' ? {} : { apiKey: key }),
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
}
