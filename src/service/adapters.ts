// The adapters of a process, whichever store the work comes from: MCP servers, model providers, schema checks. Never
// know a store: a second one shares them.
import type { Config } from '../config/config.ts';
import { createKnownSecrets, type KnownSecrets } from '../contract/json/secret-text.ts';
import { type Modules, NO_MODULES } from '../agents/modules/modules.ts';
import { createSchemaChecks, type SchemaChecks } from '../platform/json-schema/schema-checks.ts';
import type { Startable } from '../platform/lifecycle.ts';
import type { ModelProviders } from '../models/providers.ts';
import type { LoginStore } from '../mcp/oauth/login-store.ts';
import type { McpPool, McpPoolOptions } from '../mcp/pool.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import { mcpServers } from './roles/mcp-servers.ts';
import { modelProviders } from './roles/model-providers.ts';
import { createServerEvents } from '../mcp/server-events.ts';
import type { ToolDefinition } from '../mcp/tools/tool-definition.ts';
import type { LoadedTool, ToolModules } from '../agents/modules/tool-modules.ts';

export interface Adapters {
  servers: McpPool;
  /** Those, and the tools of modules. */
  tools: McpPool;
  providers: ModelProviders;
  schemas: SchemaChecks;
  /** In the order of their start. */
  parts: Startable[];
}

export interface AdapterOptions {
  config: Config;
  modules?: Pick<Modules, 'agents' | 'tools'>;
  logger: Logger;
  /** Those of the MCP servers are added. Default: a list of their own. */
  secrets?: KnownSecrets;
  /** Where the logins at MCP servers are. Default: nowhere. */
  logins?: LoginStore | null;
  /** Options of `McpPoolOptions`. */
  loginsOf?: McpPoolOptions['loginsOf'];
  onOutput?: McpPoolOptions['onOutput'];
}

/** Throws `ConfigError` when a provider has no key, or a script cannot be used. */
export function createAdapters({
  config,
  modules = NO_MODULES,
  logger,
  secrets = createKnownSecrets(),
  logins = null,
  loginsOf,
  onOutput,
}: AdapterOptions): Adapters {
  const providers = modelProviders(config);
  const schemas = createSchemaChecks({ limitMs: config.limits.schema_check_ms });
  const servers = mcpServers(config, {
    logger,
    secrets,
    schemas,
    logins,
    loginsOf,
    onOutput,
    agents: modules.agents,
  });
  const tools = withModules(servers, modules.tools, logger);
  return {
    servers,
    tools,
    providers,
    schemas,
    parts: [
      { name: 'schema checks', start: async () => {}, stop: () => schemas.stop() },
      { name: 'model clients', start: () => providers.load(), stop: async () => {} },
      { name: 'mcp servers', start: async () => tools.start(), stop: () => tools.stop() },
    ],
  };
}

/** Modules are ready from the start on. */
function withModules(pool: McpPool, modules: ToolModules, logger: Logger): McpPool {
  if (modules.size === 0) return pool;
  const events = createServerEvents();
  const listed = new Map([...modules].map(([server, tools]) => [server, definitionsOf(server, tools)]));
  const sources = new Map([...listed.keys()].map((server) => [server, events.sourceOf(server, logger)]));
  return {
    ...pool,
    start() {
      pool.start();
      for (const [server, source] of sources) {
        source.tools(listed.get(server) ?? [], [], '');
        source.status('ready');
      }
    },
    subscribe(listener) {
      const ends = [pool.subscribe(listener), events.subscribe(listener)];
      return () => ends.forEach((end) => end());
    },
    tools: (server) => listed.get(server) ?? pool.tools(server),
    describe: (server, tool) =>
      listed.get(server)?.find(({ name }) => name === tool) ?? pool.describe(server, tool),
    status: (server) => (listed.has(server) ? 'ready' : pool.status(server)),
    servers: () => [...pool.servers(), ...listed.keys()],
  };
}

function definitionsOf(server: string, tools: ReadonlyMap<string, LoadedTool>): ToolDefinition[] {
  return [...tools.values()].map(({ tool, inputSchema }) => {
    const { name, description, effect = 'once', destructive = false } = tool;
    const readOnlyHint = effect === 'read';
    const annotations = { readOnlyHint, destructiveHint: destructive, idempotentHint: effect !== 'once' };
    return { server, name, description, inputSchema, annotations };
  });
}
