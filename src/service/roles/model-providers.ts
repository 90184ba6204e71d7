// The model providers of a process, from the configuration.
// Must never call a model, nor know a store: limits and catalogs are each store's own.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, requireKeys } from '../../config/config.ts';
import { ConfigError } from '../../config/error.ts';
import type { ProviderConfig } from '../../config/models.ts';
import { fieldErrors } from '../../contract/json/field-error.ts';
import { cachePrices, type ModelPrice } from '../../models/pricing.ts';
import type { PromptCache } from '../../models/requests/prompt-cache.ts';
import type { ProviderOptions } from '../../models/requests/provider-options.ts';
import { createModelProviders, type ModelProviders } from '../../models/providers.ts';
import { knownParams, type ModelSettings } from '../../models/requests/request-params.ts';
import { DEMO_SCRIPT, type Script, scriptSchema } from '../../models/script.ts';

/** Throws `ConfigError` when a key is missing, or a script cannot be used. */
export function modelProviders(config: Config): ModelProviders {
  requireKeys(config);
  const options = [...config.providers].map(
    ([name, provider]) => [name, providerOptions(name, provider, config.directory)] as const,
  );
  return createModelProviders(new Map(options));
}

const HTTP_DEFAULTS = {
  thinkTags: null,
  reasoningHistory: 'as_received',
  assistantAfterTools: null,
  api: 'responses',
} as const;

function providerOptions(name: string, provider: ProviderConfig, directory: string): ProviderOptions {
  const shared = sharedOptions(provider);
  if (provider.type === 'scripted') {
    const script =
      provider.file === undefined ? DEMO_SCRIPT : readScript(name, resolve(directory, provider.file));
    return { ...shared, type: provider.type, script, pace: provider.pace ?? null };
  }
  const remote = { ...shared, ...remoteOptions(provider) };
  const own = { ...HTTP_DEFAULTS, promptCache: promptCacheOf(provider) };
  switch (provider.type) {
    case 'bedrock':
      return { ...remote, type: provider.type, region: provider.region, credentials: provider.awsKey };
    case 'vertex': {
      const { type, project = null, location } = provider;
      return { ...remote, type, project, location };
    }
    case 'azure': {
      const { type, resource = null, api, api_version: apiVersion = null } = provider;
      return { ...remote, type, resource, api, apiVersion };
    }
    case 'openai':
      return { ...remote, ...own, type: provider.type, api: provider.api };
    case 'anthropic':
    case 'google':
      return { ...remote, ...own, type: provider.type };
    case 'openai-compatible':
      return {
        ...remote,
        ...own,
        type: provider.type,
        thinkTags: provider.think_tags === 'none' ? null : provider.think_tags,
        reasoningHistory: provider.reasoning_history,
        assistantAfterTools: provider.assistant_after_tools ?? null,
      };
  }
}

/** The options of every provider. */
function sharedOptions(provider: ProviderConfig) {
  const { lane, models } = provider;
  const promptCache = promptCacheOf(provider);
  return {
    settings: { timeoutMs: lane.timeout_ms, idleTimeoutMs: lane.idle_timeout_ms },
    prices: new Map(
      [...models].flatMap(([model, { price }]) => priceEntry(model, price, promptCache(model))),
    ),
    embeddingBatches: new Map(
      [...models].flatMap(([model, { embedding_batch: texts }]) =>
        texts === undefined ? [] : [[model, texts] as const],
      ),
    ),
  };
}

/** The options of every provider that is reached over HTTP. */
function remoteOptions(provider: RemoteConfig) {
  return {
    baseUrl: provider.base_url ?? null,
    headers: provider.headers,
    key: () => (provider.awsKey() === null ? provider.key.read() : null),
    model: (model: string) => modelSettings(provider, model),
    callerNames: provider.provider_options ?? null,
  };
}

type RemoteConfig = Exclude<ProviderConfig, { type: 'scripted' }>;

/** Settings of the model win over its provider's, and those over what is known of the model. */
function modelSettings(provider: RemoteConfig, name: string): ModelSettings {
  const model = provider.models.get(name);
  const configured = { ...provider.params, ...model?.params };
  return {
    params: { ...knownParams(provider.type, name), ...configured },
    configured,
    structuredOutput: model?.structured_output ?? provider.structured_output ?? 'json_schema',
  };
}

type ModelConfig = NonNullable<ReturnType<ProviderConfig['models']['get']>>;

function promptCacheOf(provider: ProviderConfig): (model: string) => PromptCache {
  if (provider.type === 'openai') return () => (provider.prompt_cache_key ? 'key' : 'off');
  if (provider.type !== 'anthropic') return () => 'off';
  const { models, prompt_cache } = provider;
  return (model) => models.get(model)?.prompt_cache ?? prompt_cache;
}

function priceEntry(model: string, price: ModelConfig['price'], cache: PromptCache): [string, ModelPrice][] {
  if (price === undefined) return [];
  const { input, output } = price;
  const usual = cachePrices(input, cache);
  const { cache_read: cacheRead = usual.cacheRead, cache_write: cacheWrite = usual.cacheWrite } = price;
  return [[model, { input, output, cacheRead, cacheWrite }]];
}

function readScript(provider: string, path: string): Script {
  const parsed = scriptSchema.safeParse(jsonOf(provider, path));
  if (parsed.success) return parsed.data;
  throw new ConfigError(path, fieldErrors(parsed.error));
}

function jsonOf(provider: string, path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new ConfigError(path, [{ path: '', message: `${why}; providers.${provider}.file names it` }]);
  }
}
