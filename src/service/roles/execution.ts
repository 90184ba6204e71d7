// The executors of a worker for a store, with the adapters of its process: tools, models and custom directive types.
// Never starts what other stores share.
import type { Config } from '../../config/config.ts';
import { DEFAULT_ALIASES, resolveModels } from '../../contract/model/model-name.ts';
import type { DirectiveDefinition } from '../../worker/executors/definition.ts';
import type { LlmOptions } from '../../worker/executors/llm-call.ts';
import { LONGEST_PAUSE_MS } from '../../worker/executors/llm-sampled-answer.ts';
import { createModelPlaces } from '../../models/requests/model-places.ts';
import { serverReads } from '../../worker/executors/server-read.ts';
import { toolExec } from '../../worker/executors/tool-exec.ts';
import type { SamplingOptions } from '../../worker/executors/tool-sampling.ts';
import { type Modules, queuedDefinitions } from '../../agents/modules/modules.ts';
import { ownTools } from '../../agents/modules/module-tool-call.ts';
import { createSamplingBudgets } from '../../store/limits/sampling-budgets.ts';
import type { ServedLane } from '../../worker/worker.ts';
import type { Adapters } from '../adapters.ts';
import type { Announced } from '../announcer.ts';
import { configuredModels, createModelRole } from './model-role.ts';
import { servedLanes } from './served-lanes.ts';
import type { Store } from '../store.ts';
import { webhookDefinitions } from '../webhooks.ts';
import { createToolRole, readable, type ToolRole } from './tool-role.ts';

export interface ExecutionSettings {
  config: Config;
  modules: Modules;
  processId: string;
  onError: (error: Error) => void;
}

export interface Execution {
  definitions: DirectiveDefinition[];
  lanes: readonly ServedLane[];
  announced: Announced[];
  /** Catalog of the servers of this process, which tenants may add to and remove from. */
  servers: Pick<ToolRole, 'forget'> & Pick<Announced, 'publish'>;
  /** Publishes that a lane waits for `pauseMs`, or goes on (null). */
  noteBlocked(lane: string, pauseMs: number | null): void;
  watchReach: ToolRole['watchReach'];
}

/** Bound of the content that a model reads of a tool's result: no signal holds more of a result than `result_bytes`. */
export function contentCharacters({ limits }: Config): number {
  return Math.min(limits.model_content_characters, limits.result_bytes);
}

export function createExecution(store: Store, adapters: Adapters, settings: ExecutionSettings): Execution {
  const { modules } = settings;
  const { catalog, queue } = store;
  const tools = createToolRole(adapters.tools, { ...settings, catalog: catalog.published.tools });
  const models = createModelRole(store, adapters, settings);
  const lanes = servedLanes(settings);
  const ownReads = serverReads({ pool: adapters.tools, isExposed: readable(settings.config) });
  const ownCalls = ownTools(modules.tools);
  const names = lanes.map(({ name }) => name);
  return {
    definitions: [
      toolExec(
        {
          ...tools,
          own: (place) => ownReads(place) ?? ownCalls(place),
          contentCharacters: contentCharacters(settings.config),
        },
        samplingFor(store, models.llm, settings),
      ),
      ...models.definitions,
      ...queuedDefinitions(modules),
      ...webhookDefinitions(store, settings.config),
    ],
    lanes,
    announced: [
      { publish: async () => queue.lanes.note(names), withdraw: async () => {} },
      models.announced,
      tools.announced,
    ],
    servers: { forget: tools.forget, publish: tools.announced.publish },
    watchReach: tools.watchReach,
    noteBlocked(lane, pauseMs) {
      tools.noteBlocked(lane, pauseMs);
      models.noteBlocked(lane, pauseMs);
    },
  };
}

/** The models that tools may ask are those of this process. */
function samplingFor(
  { connection, keys, spans, reports }: Store,
  llm: LlmOptions,
  { config, onError }: ExecutionSettings,
): SamplingOptions {
  const { providers, aliases } = configuredModels(config);
  const table = { providers, aliases: new Map([...DEFAULT_ALIASES, ...aliases]) };
  return {
    llm,
    spans,
    reports,
    places: createModelPlaces({ placesOf: samplingPlaces(config), longestWaitMs: LONGEST_PAUSE_MS }),
    resolve: (model) => resolveModels({ model }, table),
    budgets: createSamplingBudgets(connection, keys, onError),
  };
}

/** At each provider, in this process. */
function samplingPlaces({ providers }: Config): (provider: string) => number {
  return (provider) => {
    const lane = providers.get(provider)?.lane;
    return lane === undefined ? 1 : Math.min(lane.concurrency, lane.global_concurrency ?? Infinity);
  };
}
