// What a process reaches the outside with, whichever store the work comes from: MCP servers, model providers, schema checks.
// Must never know a store: a second one shares them.
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
import { withModules } from './roles/tool-pool.ts';
import { modelProviders } from './roles/model-providers.ts';

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
  /** Option of `McpPoolOptions`. */
  onOutput?: McpPoolOptions['onOutput'];
}

/** Throws `ConfigError` when a provider has no key, or a script cannot be used. */
export function createAdapters({
  config,
  modules = NO_MODULES,
  logger,
  secrets = createKnownSecrets(),
  logins = null,
  onOutput,
}: AdapterOptions): Adapters {
  const providers = modelProviders(config);
  const schemas = createSchemaChecks({ limitMs: config.limits.schema_check_ms });
  const servers = mcpServers(config, {
    logger,
    secrets,
    schemas,
    logins,
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
