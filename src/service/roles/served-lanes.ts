// The lanes that a worker serves, with the limits that are configured for them.
// Must never know Redis.
import { customLane, toolLane } from '../../store/catalog/route.ts';
import type { Config } from '../../config/config.ts';
import { modelLane } from '../../contract/model/model-name.ts';
import { knownRepeatPolicy } from '../../contract/directive/work-directive.ts';
import { queuedTypes } from '../../agents/core/directive-exec.ts';
import type { Modules } from '../../agents/modules/modules.ts';
import { webhookLanes } from '../webhooks.ts';
import type { ServedLane } from '../../worker/worker.ts';

/** Directives of one custom type at once in one worker. */
const CUSTOM_CONCURRENCY = 50;

/** One lane for each server, provider, custom directive type and receiver of webhooks. */
export function servedLanes({ config, modules }: { config: Config; modules: Modules }): ServedLane[] {
  return [...toolLanes(config), ...modelLanes(config), ...customLanes(modules), ...webhookLanes(config)];
}

function toolLanes({ mcpServers }: Config): ServedLane[] {
  return [...mcpServers].map(([name, { lane, serial }]) => ({
    name: toolLane(name),
    concurrency: serial ? 1 : lane.concurrency,
    globalConcurrency: serial ? 1 : (lane.global_concurrency ?? null),
    rate: lane.rate ?? null,
    serial,
  }));
}

function modelLanes({ providers }: Config): ServedLane[] {
  return [...providers].map(([name, { lane }]) => ({
    name: modelLane(name),
    concurrency: lane.concurrency,
    globalConcurrency: lane.global_concurrency ?? null,
    rate: lane.rate ?? null,
    mayRepeat: true,
  }));
}

function customLanes(modules: Modules): ServedLane[] {
  return queuedTypes(modules.directives).map(({ type, effect }) => ({
    name: customLane(type),
    concurrency: CUSTOM_CONCURRENCY,
    globalConcurrency: null,
    rate: null,
    mayRepeat: knownRepeatPolicy(effect) !== 'once',
  }));
}
