// The API of a process, joined from its store: the direct client behind HTTP routes.
// Must never know how a directive is executed.
import type { Logger } from 'pino';
import { allowedHosts } from '../api/allowed-host.ts';
import { createApi } from '../api/api.ts';
import { toolLane } from '../catalog/route.ts';
import type { Config } from '../config/config.ts';
import type { DirectiveClient } from '../contract/directive-client.ts';
import { modelLane } from '../contract/model-name.ts';
import { submittableTypes } from '../engine/core/directive-exec.ts';
import type { Modules } from '../extend/modules.ts';
import { createCallWaits } from '../journal/call-waits.ts';
import type { Hearing } from '../journal/channel.ts';
import { sharedSecret } from '../journal/shared-secret.ts';
import { type CatalogChanges, createCatalogChanges } from '../catalog/catalog-changes.ts';
import { createMcpEndpoints } from '../mcp-server/endpoints.ts';
import type { Startable } from '../lifecycle.ts';
import type { Preparer } from '../queue/prepare.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { version } from '../version.ts';
import { type ClientOptions, createClient } from './client.ts';
import type { Observation } from './observation.ts';
import { readiness } from './readiness.ts';
import type { Store } from './store.ts';

export interface ApiRoleOptions {
  config: Config;
  modules: Modules;
  preparer: Preparer;
  /** Whether this process' worker hears cancellations; null: it has none. */
  cancellations: (() => Hearing) | null;
  logger: Logger;
  observation: Observation;
  onError: (error: Error) => void;
}

export interface ApiRole extends Startable {
  /** null until it listens. */
  url(): string | null;
}

/** `listening`: a connection for subscriptions only. */
export function createApiRole(store: Store, listening: RedisConnection, options: ApiRoleOptions): ApiRole {
  const { config, cancellations, logger, observation } = options;
  const { client, listen, hearing } = createClient(store, listening, clientOptions(options));
  const { connection, keys, catalog } = store;
  const changes = createCatalogChanges({ listening, publishing: connection }, keys, options.onError);
  const api = createApi({
    client,
    ready: () => readiness(connection, { announcements: hearing, cancellations }, catalog.workers),
    allowedHosts: allowedHosts({ host: config.host, named: config.allowedHosts }),
    spans: store.spans,
    limits: { bodyBytes: config.limits.body_bytes },
    logger,
    mcp: mcpOf(client, store, changes, options),
    scrape: observation.metrics.scrape,
    reports: { meters: observation.metrics.meters, failures: observation.failures },
    version,
  });
  let url: string | null = null;
  return {
    name: 'api',
    url: () => url,
    async start() {
      // Without Redis it goes on trying; the first call that waits says what is wrong.
      await listen().catch(options.onError);
      url = await api.listen({ host: config.host, port: config.port });
    },
    async stop() {
      await api.close();
      changes.close();
      await client.close();
    },
  };
}

function mcpOf(
  client: DirectiveClient,
  { connection, keys }: Store,
  changes: CatalogChanges,
  { config, onError }: ApiRoleOptions,
) {
  const sealingKey = async (): Promise<string> => sharedSecret(connection, keys.seal);
  const holdMs = config.limits.mcp_hold_ms;
  const keysFrom = config.mcp.keys_from;
  const hints = changes.listen;
  const waits = createCallWaits(connection, keys);
  const shared = { sealingKey, hints, waits };
  return createMcpEndpoints({ client, version, onError, holdMs, keysFrom, ...shared });
}

function clientOptions({ config, modules, preparer }: ApiRoleOptions): ClientOptions {
  const { limits, mcpServers, providers, telemetry } = config;
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
    maxQueuedIn: (lane) => limitOf.get(lane) ?? null,
    maxOpen: limits.max_open,
    traceUrl: telemetry.traceUrl,
  };
}
