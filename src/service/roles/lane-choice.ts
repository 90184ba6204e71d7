// A worker that serves some lanes only: what is left of the configuration and the modules for it.
// Must never change what the other roles see: it is for a process that is a worker and nothing else.
import { customLane, toolLane, webhookLane } from '../../store/catalog/route.ts';
import type { Config } from '../../config/config.ts';
import { modelLane } from '../../contract/model/model-name.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';
import type { Modules } from '../../agents/modules/modules.ts';
import { servedLanes } from './served-lanes.ts';

export interface LaneChoice {
  config: Config;
  modules: Modules;
}

/** Each kind of lanes as a whole: manifests name them for any configuration. */
export const WHOLE_KINDS: readonly string[] = [
  toolLane('*'),
  modelLane('*'),
  customLane('*'),
  webhookLane('*'),
];

/** The names of the lanes that a worker serves. */
export function laneNames(choice: LaneChoice): string[] {
  return servedLanes(choice).map(({ name }) => name);
}

/** `patterns`: names of lanes with the wildcard `*`. */
export function onlyLanes({ config, modules }: LaneChoice, patterns: readonly string[]): LaneChoice {
  const isChosen = (lane: string): boolean => patterns.some((pattern) => toolMatches(pattern, lane));
  const queued = new Set(laneNames({ config, modules }).flatMap((lane) => (isChosen(lane) ? [lane] : [])));
  return {
    config: {
      ...config,
      // The endpoints stay: every process passes on ends, whatever lanes it serves.
      deliversTo: queued,
      lanePatterns: patterns,
      mcpServers: new Map([...config.mcpServers].filter(([name]) => queued.has(toolLane(name)))),
      providers: new Map([...config.providers].filter(([name]) => queued.has(modelLane(name)))),
    },
    modules: {
      ...modules,
      directives: modules.directives.filter(
        ({ type, mode }) => mode !== 'queued' || queued.has(customLane(type)),
      ),
    },
  };
}
