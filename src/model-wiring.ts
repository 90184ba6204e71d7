// Joins models with the configuration and the catalogs: lanes, what submitters know, what is published.
// Must never call a model.
import type { Config } from './config.ts';
import { modelLane, type ModelTable } from './contract/model-name.ts';
import type { ServedLane } from './worker/worker.ts';

/** The providers and aliases of this configuration. */
export function configuredModels({ providers, models }: Config): ModelTable {
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
