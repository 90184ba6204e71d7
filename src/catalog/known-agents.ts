// The agents a run can be of, and the tools each may use: from the configuration and the catalogs.
// Must never change a run that has begun: what it was begun with is kept with it.
import { setTimeout as wait } from 'node:timers/promises';
import type { AgentDefinition } from '../contract/agent-definition.ts';
import type { ListedTool } from '../contract/tool-listing.ts';
import type { AgentCatalog } from './agent-catalog.ts';
import type { CatalogEntry, ToolCatalog } from './tool-catalog.ts';
import { recent } from './recent.ts';
import { toolMatches } from '../contract/tool-pattern.ts';

export interface Agents {
  /** null: nobody knows such an agent. */
  find(name: string): Promise<AgentDefinition | null>;
  names(): Promise<string[]>;
  list(): Promise<AgentDefinition[]>;
}

/** `configured` win over what engines have published. */
export function knownAgents(catalog: AgentCatalog, configured: readonly AgentDefinition[]): Agents {
  const own = new Map(configured.map((agent) => [agent.name, agent]));
  const published = recent(() => catalog.read());

  async function find(name: string): Promise<AgentDefinition | null> {
    const known = own.get(name) ?? (await published.current()).get(name);
    return known ?? (await published.recheck()).get(name) ?? null;
  }

  async function list(): Promise<AgentDefinition[]> {
    const all = new Map([...(await published.recheck()), ...own]);
    return [...all.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  return { find, list, names: async () => (await list()).map(({ name }) => name) };
}

export interface AgentToolsTiming {
  /** How long a run may wait for servers that are still being connected, milliseconds. Default: 10 000. */
  readonly patienceMs?: number;
  /** Milliseconds between two looks. Default: 200. */
  readonly pollMs?: number;
}

/**
 * The tools of the catalog that an agent may use, in the order of their names, but for servers that no worker serves any more.
 * A run keeps them to its end, so that it waits for a server that is about to be listed for the first time.
 */
export function agentTools(
  catalog: Pick<ToolCatalog, 'read'>,
  { patienceMs = 10_000, pollMs = 200 }: AgentToolsTiming = {},
): (agent: Pick<AgentDefinition, 'tools'>) => Promise<ListedTool[]> {
  const listed = recent(() => catalog.read());
  return async ({ tools: patterns }) => {
    if (patterns.length === 0) return [];
    const until = performance.now() + patienceMs;
    let entries = await listed.recheck();
    while (entries.some((entry) => isAwaited(entry, patterns)) && performance.now() < until) {
      await wait(pollMs);
      entries = await listed.recheck();
    }
    return entries
      .filter(({ served }) => served !== false)
      .flatMap((entry) => entry.tools)
      .filter(({ name }) => patterns.some((pattern) => toolMatches(pattern, name)))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  };
}

/** Whoever began to connect so long ago and has not said how it went is dead. */
const CONNECTING_MS = 60_000;

/** It was never listed, is about to be, and may have a tool that one of the patterns means. */
function isAwaited({ server, status, tools, updatedAt }: CatalogEntry, patterns: readonly string[]): boolean {
  if (status !== 'connecting' || tools.length > 0 || Date.now() - updatedAt > CONNECTING_MS) return false;
  const address = `${server}.`;
  const heads = patterns.map((pattern) => pattern.split('*', 1)[0] ?? '');
  return heads.some((head) => head.startsWith(address) || address.startsWith(head));
}
