// The model providers of a process, from the configuration.
// Must never call a model, nor know a store: limits and catalogs are each store's own.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, requireKeys } from '../config/config.ts';
import { ConfigError } from '../config/error.ts';
import type { ProviderConfig } from '../config/models.ts';
import { fieldErrors } from '../contract/field-error.ts';
import type { ModelPrice } from '../llm/pricing.ts';
import type { ProviderOptions } from '../llm/provider-options.ts';
import { createModelProviders, type ModelProviders } from '../llm/providers.ts';
import { DEMO_SCRIPT, type Script, scriptSchema } from '../llm/script.ts';

/** Throws `ConfigError` when a key is missing, or a script cannot be used. */
export function modelProviders(config: Config): ModelProviders {
  requireKeys(config);
  const options = [...config.providers].map(
    ([name, provider]) => [name, providerOptions(name, provider, config.directory)] as const,
  );
  return createModelProviders(new Map(options));
}

function providerOptions(name: string, provider: ProviderConfig, directory: string): ProviderOptions {
  const { lane, models } = provider;
  const shared = {
    settings: { timeoutMs: lane.timeout_ms, idleTimeoutMs: lane.idle_timeout_ms },
    prices: new Map([...models].flatMap(([model, { price }]) => priceEntry(model, price))),
    embeddingBatches: new Map(
      [...models].flatMap(([model, { embedding_batch: texts }]) =>
        texts === undefined ? [] : [[model, texts] as const],
      ),
    ),
  };
  if (provider.type === 'scripted') {
    const script =
      provider.file === undefined ? DEMO_SCRIPT : readScript(name, resolve(directory, provider.file));
    return { ...shared, type: provider.type, script, pace: provider.pace ?? null };
  }
  return {
    ...shared,
    type: provider.type,
    baseUrl: provider.base_url ?? null,
    headers: provider.headers,
    key: () => provider.key.read(),
    api: provider.type === 'openai' ? provider.api : 'responses',
  };
}

type ModelConfig = NonNullable<ReturnType<ProviderConfig['models']['get']>>;

function priceEntry(model: string, price: ModelConfig['price']): [string, ModelPrice][] {
  if (price === undefined) return [];
  const { input, output, cache_read: cacheRead = input, cache_write: cacheWrite = input } = price;
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
