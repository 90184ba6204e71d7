// Joins the servers that tenants add with the API and the worker of a process. Nothing of it exists where
// `runtime_servers` is not enabled.
import type { Config } from '../config/config.ts';
import type { McpServerConfig, ServerConfig } from '../config/servers.ts';
import { ownId, tenantOf } from '../contract/access/tenant.ts';
import { createKnownSecrets } from '../contract/json/secret-text.ts';
import type { ReconcileSettings } from '../contract/tool/reconcile.ts';
import type { RuntimeServerClient } from '../contract/tool/runtime-server.ts';
import { toolMatches } from '../contract/tool/tool-pattern.ts';
import { readDefinition } from '../features/runtime-servers/definition.ts';
import { createRuntimePool } from '../features/runtime-servers/runtime-pool.ts';
import { createServerFollower, type ServedServers } from '../features/runtime-servers/server-follower.ts';
import { createServerService } from '../features/runtime-servers/server-service.ts';
import type { DefinitionStore } from '../features/runtime-definitions/definition-store.ts';
import type { Audit } from '../http/access/audit.ts';
import { createMcpPool, type McpPoolOptions } from '../mcp/pool.ts';
import type { McpServerOptions } from '../mcp/server-options.ts';
import type { Startable } from '../platform/lifecycle.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import { createCatalogChanges } from '../store/catalog/catalog-changes.ts';
import { isTenantServer, toolLane } from '../store/catalog/route.ts';
import type { Worker } from '../worker/worker.ts';
import type { Adapters } from './adapters.ts';
import type { Execution } from './roles/execution.ts';
import { serverOptions } from './roles/mcp-servers.ts';
import { changing, definitionStoreOn } from './runtime-definitions.ts';
import type { Store } from './store.ts';

export interface Settings {
  readonly config: Config;
  readonly logger: Logger;
  readonly onError: (error: Error) => void;
}

/** HTTP to such a server follows no redirect, and reaches public addresses only unless the operator allows others. */
function optionsOf(key: string, server: McpServerConfig, config: Config): McpServerOptions {
  const options = serverOptions(key, server, { ...config, agents: [] });
  const { transport } = options;
  if (transport.kind !== 'http') return options;
  const privateAddresses = config.runtimeServerRules?.privateAddresses ?? false;
  return { ...options, transport: { ...transport, privateAddresses } };
}

/** How the outcome of a tool's call is found out, by the key of its server: of the configuration, or of a tenant. */
export function reconcileSettingsOf(
  { connection }: Store,
  config: Config,
): (server: string, tool: string) => Promise<ReconcileSettings | null> {
  const { mcpServers, runtimeServerRules: rules } = config;
  const added = rules === null ? null : definitionStoreOn('servers', connection, config);
  return async (server, tool) => {
    const ofFile = mcpServers.get(server);
    if (ofFile !== undefined) return ofFile.effects.get(tool)?.reconcile ?? null;
    if (rules === null || added === null || !isTenantServer(server)) return null;
    const tenant = tenantOf(server);
    const { definition = null } = (await added.read(tenant, ownId(server))) ?? {};
    const read = definition === null ? null : readDefinition(definition, tenant, rules);
    return read?.ok === true ? (read.config.effects.get(tool)?.reconcile ?? null) : null;
  };
}

/** The operations of each tenant; undefined: they are off. */
export function runtimeServersOf(
  store: Store,
  config: Config,
  audit: Audit,
): ((tenant: string) => RuntimeServerClient) | undefined {
  const { runtimeServerRules: rules } = config;
  if (rules === null) return undefined;
  return createServerService({
    ...changing('servers', store, config, audit),
    rules,
    catalog: store.catalog.published.tools,
    renewKnown: store.catalog.renewServers,
    ofFile: new Set(config.mcpServers.keys()),
    optionsOf: (key, server) => optionsOf(key, server, config),
  });
}

export interface RuntimeServing {
  readonly adapters: Adapters;
  /** The configuration of the worker, whose servers change. */
  readonly config: Config;
  /** The part that follows changes; it starts after the worker. */
  follow(
    store: Store,
    listening: RedisConnection,
    parts: { readonly worker: Worker; readonly servers: Execution['servers'] },
  ): Startable;
}

/** The adapters of a worker that serves what tenants add. */
export function runtimeServing(
  adapters: Adapters,
  { config, logger, onError, onOutput }: Settings & Pick<McpPoolOptions, 'onOutput'>,
): RuntimeServing {
  const mcpServers = new Map<string, ServerConfig>(config.mcpServers);
  // Their secrets are known to their own pool alone: a tenant's literal must redact nothing of other tenants.
  const open = (server: McpServerOptions) =>
    createMcpPool({
      servers: [server],
      logger,
      onOutput,
      schemas: adapters.schemas,
      secrets: createKnownSecrets(),
    });
  const { pool, put, drop, stop } = createRuntimePool(adapters.tools, open, onError);
  const closing = { name: 'runtime servers', start: async () => {}, stop };
  return {
    adapters: { ...adapters, tools: pool, parts: [...adapters.parts, closing] },
    config: { ...config, mcpServers },
    follow(store, listening, { worker, servers }) {
      const served = servedIn(mcpServers, {
        worker,
        servers,
        onError,
        drop,
        put: (key, server) => put(optionsOf(key, server, config)),
      });
      return following(store, listening, served, { config, logger, onError });
    },
  };
}

interface ServedIn {
  readonly worker: Worker;
  readonly servers: Execution['servers'];
  readonly onError: (error: Error) => void;
  readonly put: (key: string, server: McpServerConfig) => void;
  readonly drop: (key: string) => void;
}

/** How long the lane of a removed server is served on, so that the calls that wait in it end as calls of an unknown tool, milliseconds. */
const LINGER_MS = 30_000;

function servedIn(
  mcpServers: Map<string, ServerConfig>,
  { worker, servers, onError, put, drop }: ServedIn,
): ServedServers {
  /** Lanes that are served, each with the timer that leaves it; undefined: its server exists. */
  const lanes = new Map<string, NodeJS.Timeout | undefined>();

  async function leave(key: string): Promise<void> {
    lanes.delete(key);
    await worker.leave(toolLane(key));
  }

  return {
    async put(key, server) {
      mcpServers.set(key, server);
      await servers.publish();
      put(key, server);
      clearTimeout(lanes.get(key));
      if (!lanes.has(key)) {
        const { concurrency } = server.lane;
        await worker.serve({ name: toolLane(key), concurrency, globalConcurrency: null, rate: null });
      }
      lanes.set(key, undefined);
    },
    async remove(key) {
      mcpServers.delete(key);
      drop(key);
      if (lanes.has(key)) {
        clearTimeout(lanes.get(key));
        lanes.set(key, setTimeout(() => void leave(key).catch(onError), LINGER_MS).unref());
      }
      await servers.forget(key);
      await servers.publish();
    },
  };
}

function following(
  store: Store,
  listening: RedisConnection,
  served: ServedServers,
  { config, logger, onError }: Settings,
): Startable {
  const { runtimeServerRules: rules, lanePatterns } = config;
  if (rules === null) throw new Error('runtime_servers is not enabled');
  const { connection, keys } = store;
  const changes = createCatalogChanges({ listening, publishing: connection }, keys, onError);
  const followed: Pick<DefinitionStore, 'revisions' | 'all'> = definitionStoreOn(
    'servers',
    connection,
    config,
  );
  const follower = createServerFollower({
    store: followed,
    rules,
    served,
    ofFile: new Set(config.mcpServers.keys()),
    isServed: (key) => lanePatterns?.some((pattern) => toolMatches(pattern, toolLane(key))) ?? true,
    listen: changes.listen,
    logger,
    onError,
  });
  return {
    ...follower,
    async stop(by) {
      await follower.stop(by);
      changes.close();
    },
  };
}
