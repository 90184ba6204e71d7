// The models this worker can call: one client for each configured provider, loaded and created when it is first needed.
// Must never read the environment, nor show a key.
import { AwsV4Signer } from 'aws4fetch';
import type { OpenAIProvider } from '@ai-sdk/openai';
import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible';
import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider';
import { errorEnvelope, type ErrorEnvelope } from '../contract/error-envelope.ts';
import type { ModelRef } from '../contract/model-name.ts';
import { type AnswerLimits, EMBEDDING_LIMITS, LANGUAGE_LIMITS } from './answer-limits.ts';
import { withDirectText } from './direct-stream.ts';
import { ANTHROPIC_MESSAGES, CHAT_COMPLETIONS } from './direct-text.ts';
import { guardedFetch } from './guarded-fetch.ts';
import type { ModelPrice } from './pricing.ts';
import type {
  AwsCredentials,
  AzureOptions,
  BedrockOptions,
  ProviderOptions,
  RemoteOptions,
  RemoteProviderOptions,
  ScriptedProviderOptions,
  VertexOptions,
} from './provider-options.ts';
import { withChangedBody, withEmbeddingParams, withLanguageParams } from './request-params.ts';
import { scriptedEmbeddingModel, scriptedLanguageModel } from './scripted-model.ts';

/** Time limits of a provider's calls, milliseconds. */
export interface ProviderSettings {
  /** For an attempt whose directive sets none. */
  readonly timeoutMs: number;
  /** Between two pieces of a stream. */
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
  /** Defaults for a provider that this worker does not serve. */
  settings(provider: string): ProviderSettings;
  /** null: no price is configured, so there is no cost. */
  price(ref: ModelRef): ModelPrice | null;
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
    settings: (provider) => options.get(provider)?.settings ?? DEFAULT_SETTINGS,
    price: ({ provider, model }) => options.get(provider)?.prices.get(model) ?? null,
    isScripted: (provider) => options.get(provider)?.type === 'scripted',
  };
}

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
    default:
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

/** Two sets of settings, which differ in their size limits. */
interface BothSettings {
  readonly key: string;
  readonly language: ClientSettings;
  readonly embedding: ClientSettings;
}

/** Settings of a provider whose requests differ from the others'. */
interface RequestSettings {
  /** Changes the headers of a request whose body is final. */
  readonly sign?: Sign;
  /** Further secrets. */
  readonly hidden?: readonly string[];
  readonly binaryFrames?: boolean;
}

type Sign = (
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
) => Promise<RequestInit | undefined>;

const unsigned: Sign = async (_input, init) => init;

function clientSettings(
  options: RemoteOptions,
  baseURL: string,
  { sign = unsigned, hidden = [], binaryFrames = false }: RequestSettings = {},
): BothSettings {
  const key = options.key() ?? '';
  const headers = { ...options.headers };
  const settings = (limits: AnswerLimits): ClientSettings => ({
    baseURL,
    headers,
    fetch: withChangedBody(async (input, init) => {
      const signed = await sign(input, init);
      const secrets = [key, ...Object.values(headers), ...hidden, ...bearerToken(signed)];
      return guardedFetch({ secrets, limits, binaryFrames })(input, signed);
    }),
  });
  return { key, language: settings(LANGUAGE_LIMITS), embedding: settings(EMBEDDING_LIMITS) };
}

/** Some are made for the request, and are in no configuration. */
function bearerToken(init: RequestInit | undefined): string[] {
  const authorization = new Headers(init?.headers).get('authorization');
  return authorization === null ? [] : [authorization.replace(/^Bearer /i, '')];
}

async function remote(name: string, options: RemoteProviderOptions): Promise<ModelMaker> {
  const { key, language, embedding } = clientSettings(options, options.baseUrl ?? OWN_URL[options.type]);
  switch (options.type) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      const anthropic = createAnthropic({ ...language, apiKey: key });
      return {
        language: (model) => withDirectText(anthropic.languageModel(model), ANTHROPIC_MESSAGES),
        embedding: null,
      };
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
        language: textApi(openai, options.api),
        embedding: createOpenAI({ ...embedding, apiKey: key }).embeddingModel,
      };
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const compatible = (settings: ClientSettings): OpenAICompatibleProvider =>
        createOpenAICompatible({ ...settings, name, ...COMPATIBLE, ...(key === '' ? {} : { apiKey: key }) });
      const answering = compatible(language);
      return {
        language: kept((model) => withDirectText(answering.languageModel(model), CHAT_COMPLETIONS)),
        embedding: compatible(embedding).embeddingModel,
      };
    }
  }
}

/** Usage is requested, because these streams send it only on demand. */
const COMPATIBLE = { includeUsage: true, supportsStructuredOutputs: true };

function textApi(
  provider: Pick<OpenAIProvider, 'chat' | 'responses'>,
  api: 'responses' | 'chat',
): ModelMaker['language'] {
  return api === 'chat' ? provider.chat : provider.responses;
}

/** The client signs before a request's parameters are changed, so it gets a key, and the signature replaces that. */
async function bedrock(options: BedrockOptions): Promise<ModelMaker> {
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
  const { region } = options;
  const baseURL = options.baseUrl ?? `https://bedrock-runtime.${region}.amazonaws.com`;
  const credentials = options.credentials();
  const signing =
    credentials === null
      ? {}
      : { sign: awsSignature(credentials, region), hidden: Object.values(credentials) };
  const { key, ...settings } = clientSettings(options, baseURL, { binaryFrames: true, ...signing });
  const client = { region, apiKey: key === '' ? 'signed' : key };
  return {
    language: createAmazonBedrock({ ...settings.language, ...client }).languageModel,
    embedding: createAmazonBedrock({ ...settings.embedding, ...client }).embeddingModel,
  };
}

function awsSignature(credentials: AwsCredentials, region: string): Sign {
  return async (input, init) => {
    if (typeof init?.body !== 'string') return init;
    const headers = new Headers(init.headers);
    headers.delete('authorization');
    const url = input instanceof Request ? input.url : String(input);
    const signer = new AwsV4Signer({
      url,
      method: 'POST',
      headers,
      body: init.body,
      region,
      service: 'bedrock',
      ...credentials,
    });
    return { ...init, headers: (await signer.sign()).headers };
  };
}

/** Gemini, and Claude under its own API. Without a key, Google's library finds the credentials of the environment. */
async function vertex(options: VertexOptions): Promise<ModelMaker> {
  const { createGoogleVertex } = await import('@ai-sdk/google-vertex');
  const { project, location, baseUrl } = options;
  const root = baseUrl ?? vertexRoot(project, location);
  const { key, language, embedding } = clientSettings(options, `${root}/publishers/google`);
  const account = key === '' ? { location, ...(project === null ? {} : { project }) } : { apiKey: key };
  const gemini = createGoogleVertex({ ...language, ...account });
  const { createGoogleVertexAnthropic } = await import('@ai-sdk/google-vertex/anthropic');
  const claude = createGoogleVertexAnthropic({
    ...language,
    baseURL: `${root}/publishers/anthropic/models`,
    location,
    ...(project === null ? {} : { project, googleAuthOptions: { projectId: project } }),
  });
  return {
    language: (model) => (model.startsWith('claude') ? claude : gemini).languageModel(model),
    embedding: createGoogleVertex({ ...embedding, ...account }).embeddingModel,
  };
}

/** A key belongs to its project, which is then not in the address. */
function vertexRoot(project: string | null, location: string): string {
  if (project === null) return 'https://aiplatform.googleapis.com/v1';
  const regional =
    location === 'eu' || location === 'us' ? `aiplatform.${location}.rep` : `${location}-aiplatform`;
  const host = location === 'global' ? 'aiplatform' : regional;
  return `https://${host}.googleapis.com/v1/projects/${project}/locations/${location}`;
}

async function azure(options: AzureOptions): Promise<ModelMaker> {
  const { createAzure } = await import('@ai-sdk/azure');
  const { apiVersion, api } = options;
  const root = options.baseUrl ?? `https://${options.resource ?? ''}.openai.azure.com/openai`;
  const { key, language, embedding } = clientSettings(options, apiVersion === null ? withV1(root) : root);
  const client = {
    apiKey: key,
    ...(apiVersion === null ? {} : { apiVersion, useDeploymentBasedUrls: true }),
  };
  return {
    language: textApi(createAzure({ ...language, ...client }), api),
    embedding: createAzure({ ...embedding, ...client }).embeddingModel,
  };
}

function withV1(root: string): string {
  return root.endsWith('/v1') ? root : `${root}/v1`;
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
