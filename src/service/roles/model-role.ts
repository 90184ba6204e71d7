// The models of a store: their shared limits, what is published of them, the directive types that call them.
// Must never call a model.
import type { Config } from '../../config/config.ts';
import { modelLane, type ModelRef, type ModelTable } from '../../contract/model/model-name.ts';
import type { DirectiveDefinition } from '../../worker/executors/definition.ts';
import type { LlmOptions } from '../../worker/executors/llm-call.ts';
import { llmEmbed } from '../../worker/executors/llm-embed.ts';
import { llmGenerate } from '../../worker/executors/llm-generate.ts';
import { llmStream } from '../../worker/executors/llm-stream.ts';
import { llmRequest } from '../../features/model-endpoint/llm-request.ts';
import { createRateLimits, type LimitsOfModel, type MinuteLimits } from '../../store/limits/rate-limits.ts';
import type { ModelLimiter } from '../../models/model-limiter.ts';
import type { Adapters } from '../adapters.ts';
import type { Announced } from '../announcer.ts';
import type { Store } from '../store.ts';
import { budgetsOn } from '../budgets.ts';

/** The providers and aliases of this configuration. */
export function configuredModels({ providers, models }: Pick<Config, 'providers' | 'models'>): ModelTable {
  return {
    providers: new Map([...providers].map(([name, { type }]) => [name, { type }])),
    aliases: models,
  };
}

const NO_LIMITS: MinuteLimits = { requests: null, tokens: null };

/** Configured limits of a model, for every caller. */
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
  /** How they call a language model. */
  llm: LlmOptions;
  /** The providers and aliases of this process. */
  announced: Announced;
  /** Publishes that a lane waits for `pauseMs`, or goes on (null). */
  noteBlocked(lane: string, pauseMs: number | null): void;
}

export interface ModelRoleOptions {
  config: Config;
  /** Id of the process that calls them. */
  processId: string;
  onError: (error: Error) => void;
}

export function createModelRole(
  { connection, keys, catalog }: Pick<Store, 'connection' | 'keys' | 'catalog'>,
  { providers, schemas }: Pick<Adapters, 'providers' | 'schemas'>,
  { config, processId, onError }: ModelRoleOptions,
): ModelRole {
  const { models } = catalog.published;
  const table = configuredModels(config);
  const limiter: ModelLimiter = createRateLimits({
    connection,
    keys,
    limitsOf: limitsOf(config),
    longestBlockMs: config.limits.pause_ms,
    onError,
  });
  const budgets = budgetsOn({ connection, keys }, config, table, onError);
  const parts = { providers, limiter, describeTool: catalog.describeTool, schemas, ...budgets };
  const providerOfLane = new Map([...config.providers.keys()].map((name) => [modelLane(name), name]));
  return {
    definitions: [llmStream, llmGenerate, llmEmbed, llmRequest].map((define) => define(parts)),
    llm: parts,
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
