// The settings of the direct client as the configuration of a process has them.
// Must never hold a limit that the configuration does not name.
import { currentSpender } from '../http/access/caller.ts';
import { budgetSettings } from '../config/budgets.ts';
import { requiresEncryption } from '../config/encryption.ts';
import { isTenantServer, toolLane } from '../store/catalog/route.ts';
import type { Config } from '../config/config.ts';
import { modelLane } from '../contract/model/model-name.ts';
import { submittableTypes } from '../agents/core/directive-exec.ts';
import type { Modules } from '../agents/modules/modules.ts';
import type { Preparer } from '../directives/prepare.ts';
import type { ClientOptions } from './client.ts';

export interface ClientSettings {
  readonly config: Config;
  readonly modules: Modules;
  readonly preparer: Preparer;
  readonly onError: (error: Error) => void;
}

/** Directives that may wait in the lane of a server that a tenant has added. */
const MOST_QUEUED = 10_000;

export function clientOptions({ config, modules, preparer, onError }: ClientSettings): ClientOptions {
  const { budgets, encryption, limits, mcpServers, providers, telemetry } = config;
  const limitOf = new Map([
    ...[...mcpServers].map(([name, { lane }]) => [toolLane(name), lane.max_queued] as const),
    ...[...providers].map(([name, { lane }]) => [modelLane(name), lane.max_queued] as const),
  ]);
  return {
    preparer,
    customTypes: submittableTypes(modules.directives),
    argumentsBytes: limits.arguments_bytes,
    requestBytes: limits.request_bytes,
    totalBytes: limits.total_bytes,
    maxDirectives: limits.batch,
    maxQueuedIn: (lane) => limitOf.get(lane) ?? (isTenantServer(lane) ? MOST_QUEUED : null),
    maxOpen: limits.max_open,
    budgets: budgetSettings(budgets),
    caller: currentSpender,
    traceUrl: telemetry.traceUrl,
    mustEncrypt: (tenant) => requiresEncryption(encryption, tenant),
    onError,
  };
}
