// The agents that runs can use, and the tools each may use: from the configuration and the catalogs.
// Must never change a run that has begun: it keeps its own copy.
import { setTimeout as wait } from 'node:timers/promises';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import type { AgentCatalog } from './agent-catalog.ts';
import { type CatalogEntry, entriesFor, type ToolCatalog } from './tool-catalog.ts';
import { recent } from './recent.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';

export interface Agents {
  /** null: the tenant has no such agent. */
  find(name: string, tenant: string): Promise<AgentDefinition | null>;
  names(tenant: string): Promise<string[]>;
  list(tenant: string): Promise<(AgentDefinition & AddedVersion)[]>;
  /** Whether it is configured, or published by an engine, so that no tenant may add it. */
  isOfFile(name: string): Promise<boolean>;
}

/** Version of an agent that a tenant has added; absent: it is configured. */
interface AddedVersion {
  readonly version?: string;
}

/** The agents that tenants have added at runtime. */
export interface AddedAgents {
  /** null: there is none, or the operator's bounds do not allow it now. */
  find(name: string, tenant: string): Promise<AgentDefinition | null>;
  list(tenant: string): Promise<(AgentDefinition & AddedVersion)[]>;
}

/** `configured` win over what engines have published, and both over what a tenant has added. `added`: null = tenants may add none. */
export function knownAgents(
  catalog: AgentCatalog,
  configured: readonly AgentDefinition[],
  added: AddedAgents | null,
): Agents {
  const own = new Map(configured.map((agent) => [agent.name, agent]));
  const published = recent(() => catalog.read());

  async function ofFile(name: string): Promise<AgentDefinition | null> {
    const known = own.get(name) ?? (await published.current()).get(name);
    return known ?? (await published.recheck()).get(name) ?? null;
  }

  async function list(tenant: string): ReturnType<Agents['list']> {
    const ofTenant = ((await added?.list(tenant)) ?? []).map((agent) => [agent.name, agent] as const);
    const all = new Map<string, AgentDefinition & AddedVersion>([
      ...ofTenant,
      ...(await published.recheck()),
      ...own,
    ]);
    return [...all.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  return {
    find: async (name, tenant) => (await ofFile(name)) ?? (await added?.find(name, tenant)) ?? null,
    list,
    names: async (tenant) => (await list(tenant)).map(({ name }) => name),
    isOfFile: async (name) => (await ofFile(name)) !== null,
  };
}

export interface AgentToolsTiming {
  /** How long a run may wait for servers that are still connecting, milliseconds. Default: 10 000. */
  readonly patienceMs?: number;
  /** Milliseconds between two reads. Default: 200. */
  readonly pollMs?: number;
}

/**
 * The tools that an agent of a tenant may use, by name, without servers that no worker serves any more. A run keeps this list to
 * its end, so it waits for a server that is about to be listed for the first time. null: `stop` has ended the wait.
 */
export function agentTools(
  catalog: Pick<ToolCatalog, 'read'>,
  { patienceMs = 10_000, pollMs = 200 }: AgentToolsTiming = {},
): (
  agent: Pick<AgentDefinition, 'tools'>,
  tenant?: string,
  stop?: AbortSignal,
) => Promise<ListedTool[] | null> {
  const listed = recent(() => catalog.read());
  return async ({ tools: patterns }, tenant = DEFAULT_TENANT, stop) => {
    if (patterns.length === 0) return [];
    const until = performance.now() + patienceMs;
    const read = async () => entriesFor(await listed.recheck(), tenant);
    let entries = await read();
    while (entries.some((entry) => isAwaited(entry, patterns)) && performance.now() < until) {
      await wait(pollMs, undefined, { signal: stop }).catch(() => {});
      if (stop?.aborted === true) return null;
      entries = await read();
    }
    return entries
      .filter(({ served }) => served !== false)
      .flatMap((entry) => entry.tools)
      .filter(({ name }) => patterns.some((pattern) => toolMatches(pattern, name)))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  };
}

/** A worker that began to connect this long ago, without a result, is dead. */
const CONNECTING_MS = 60_000;

/** Whether the server is about to be listed for the first time, and may have a tool that matches a pattern. */
function isAwaited({ server, status, tools, updatedAt }: CatalogEntry, patterns: readonly string[]): boolean {
  if (status !== 'connecting' || tools.length > 0 || Date.now() - updatedAt > CONNECTING_MS) return false;
  const address = `${server}.`;
  const heads = patterns.map((pattern) => pattern.split('*', 1)[0] ?? '');
  return heads.some((head) => head.startsWith(address) || address.startsWith(head));
}
