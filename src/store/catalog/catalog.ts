// Who serves what, configured here or published by the processes of an installation: servers, tools, models, agents.
// Must never be needed to execute what has been accepted: it routes, lists and describes.
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import type { ModelTable } from '../../contract/model/model-name.ts';
import type { KeySpace } from '../keys.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { createAgentCatalog } from './agent-catalog.ts';
import { type AddedAgents, agentTools, knownAgents } from './known-agents.ts';
import { knownModels } from './known-models.ts';
import { createModelCatalog } from './model-catalog.ts';
import { recent, type Recent, type Renewable } from './recent.ts';
import { createRemotePrograms } from './remote-programs.ts';
import type { KnownServers } from './route.ts';
import { type CatalogEntry, createToolCatalog, type ToolCatalog } from './tool-catalog.ts';
import { toolDescriber } from './tool-descriptions.ts';
import { createWorkers } from './workers.ts';

/** The entries of this process' configuration: they count before any other process has published them. */
export interface Configured {
  readonly servers: readonly string[];
  readonly models: ModelTable;
  readonly agents: readonly AgentDefinition[];
  /** Default: tenants may add none. */
  readonly added?: AddedAgents | null | undefined;
}

export type Catalog = ReturnType<typeof createCatalog>;

export function createCatalog(connection: RedisConnection, keys: KeySpace, configured: Configured) {
  const published = {
    tools: createToolCatalog(connection, keys),
    models: createModelCatalog(connection, keys),
    agents: createAgentCatalog(connection, keys),
  };
  const servers = knownServers(published.tools, configured.servers);
  const shared: Recent<KnownServers> = servers;
  return {
    /** Reads the known servers again after this process has changed them. */
    renewServers: servers.renew,
    /** The entries that workers and engines publish in Redis. */
    published,
    /** The facts for routing; reads of Redis are shared for a second. */
    servers: shared,
    models: knownModels(published.models, configured.models),
    agents: knownAgents(published.agents, configured.agents, configured.added ?? null),
    /** The processes that are there. */
    workers: createWorkers(connection, keys),
    /** The programs that execute remote directive types. */
    programs: createRemotePrograms(connection, keys),
    /** The tools that an agent may use. */
    toolsOf: agentTools(published.tools),
    /** The description of a tool for a model. */
    describeTool: toolDescriber(published.tools),
  };
}

type KnownServersSource = Renewable<KnownServers>;

/** `configured` servers are known before any worker publishes them. */
export function knownServers(
  catalog: Pick<ToolCatalog, 'read'>,
  configured: readonly string[],
  now: () => number = Date.now,
): KnownServersSource {
  async function read(): Promise<KnownServers> {
    const entries = await catalog.read();
    const tools = entries.map((entry) => [entry.server, namesOf(entry)] as const);
    const known = new Map<string, readonly string[] | null>(configured.map((name) => [name, null]));
    for (const [server, names] of tools) known.set(server, names);
    return known;
  }

  return recent(read, now);
}

/** A tool that was left out is known too: a call of it goes to its server's worker, which says why. */
function namesOf({ tools, faults = [] }: CatalogEntry): string[] {
  return [...new Set([...tools, ...faults].map(({ tool }) => tool))];
}
