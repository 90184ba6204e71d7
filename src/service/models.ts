// Joins models with the configuration and the catalogs: providers and their limits, lanes, what is published.
// Must never call a model.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, requireKeys } from '../config/config.ts';
import { ConfigError } from '../config/error.ts';
import type { ProviderConfig } from '../config/models.ts';
import { fieldErrors } from '../contract/field-error.ts';
import { modelLane, type ModelRef, type ModelTable } from '../contract/model-name.ts';
import type { DirectiveDefinition } from '../executors/definition.ts';
import { llmEmbed } from '../executors/llm-embed.ts';
import { llmGenerate } from '../executors/llm-generate.ts';
import { llmStream } from '../executors/llm-stream.ts';
import type { KeySpace } from '../journal/keys.ts';
import type { SchemaChecks } from '../json-schema/schema-checks.ts';
import { createRateLimits, type LimitsOfModel, type MinuteLimits } from '../journal/rate-limits.ts';
import type { ModelLimiter } from '../llm/model-limiter.ts';
import type { ModelPrice } from '../llm/pricing.ts';
import type { ProviderOptions } from '../llm/provider-options.ts';
import { createModelProviders, type ModelProviders } from '../llm/providers.ts';
import { DEMO_SCRIPT, type Script, scriptSchema } from '../llm/script.ts';
import type { RedisConnection } from '../redis/connection.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ServedLane } from '../worker/worker.ts';
import type { Announced } from './announcer.ts';

/** The providers and aliases of this configuration. */
export function configuredModels({ providers, models }: Pick<Config, 'providers' | 'models'>): ModelTable {
  return {
    providers: new Map([...providers].map(([name, { type }]) => [name, { type }])),
    aliases: models,
  };
}

/** One lane for each provider. */
export function modelLanes({ providers }: Config): ServedLane[] {
  return [...providers].map(([name, { lane }]) => ({
    name: modelLane(name),
    concurrency: lane.concurrency,
    globalConcurrency: lane.global_concurrency ?? null,
    rate: lane.rate ?? null,
  }));
}

/** The clients of a worker. Throws `ConfigError` when a key is missing, or a script cannot be used. */
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

const NO_LIMITS: MinuteLimits = { requests: null, tokens: null };

/** What is configured to limit a model, whoever calls it. */
export function limitsOf({ providers }: Config): (ref: ModelRef) => LimitsOfModel {
  const minute = (limits: {
    requests_per_minute?: number | undefined;
    tokens_per_minute?: number | undefined;
  }) => ({
    requests: limits.requests_per_minute ?? null,
    tokens: limits.tokens_per_minute ?? null,
  });
  return ({ provider: name, model }) => {
    const provider = providers.get(name);
    if (provider === undefined) return { provider: NO_LIMITS, model: NO_LIMITS };
    const own = provider.models.get(model);
    return { provider: minute(provider), model: own ? minute(own) : NO_LIMITS };
  };
}

export interface ModelRole {
  /** The directive types that call models. */
  definitions: DirectiveDefinition[];
  /** The providers and aliases of this process. */
  announced: Announced;
  /** Publishes that a lane waits for `pauseMs`, or goes on (null). */
  noteBlocked(lane: string, pauseMs: number | null): void;
}

export interface ModelRoleOptions {
  config: Config;
  connection: RedisConnection;
  keys: KeySpace;
  /** `describeTool` is for tools that a directive names without describing them. */
  catalog: Pick<Catalog, 'published' | 'describeTool'>;
  /** Of the process that calls them. */
  processId: string;
  schemas: SchemaChecks;
  onError: (error: Error) => void;
}

/** What a worker needs to call models. Throws `ConfigError` when a key is missing, or a script cannot be used. */
export function createModelRole(options: ModelRoleOptions): ModelRole {
  const { config, connection, keys, catalog, processId, schemas, onError } = options;
  const { models } = catalog.published;
  const providers = modelProviders(config);
  const table = configuredModels(config);
  const limiter: ModelLimiter = createRateLimits({
    connection,
    keys,
    limitsOf: limitsOf(config),
    longestBlockMs: config.limits.pause_ms,
    onError,
  });
  const parts = { providers, limiter, describeTool: catalog.describeTool, schemas };
  const providerOfLane = new Map([...config.providers.keys()].map((name) => [modelLane(name), name]));
  return {
    definitions: [llmStream, llmGenerate, llmEmbed].map((define) => define(parts)),
    announced: {
      publish: () => models.publish(table, processId),
      withdraw: () => models.deregister(processId),
    },
    noteBlocked(lane, pauseMs) {
      const provider = providerOfLane.get(lane);
      if (provider === undefined) return;
      models.noteBlocked(provider, pauseMs === null ? 0 : Date.now() + pauseMs).catch(onError);
    },
  };
}
