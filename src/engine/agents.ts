// The agents a run can be of, and the tools each may use: from the configuration and the catalogs.
// Must never change a run that has begun: what it was begun with is kept with it.
import type { AgentDefinition } from '../contract/agent-definition.ts';
import type { ListedTool } from '../contract/tool-listing.ts';
import type { AgentCatalog } from '../journal/agent-catalog.ts';
import type { ToolCatalog } from '../journal/tool-catalog.ts';
import { recent } from '../queue/recent.ts';
import { toolMatches } from './tool-pattern.ts';

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

/** The tools of the catalog that an agent may use, in the order of their names. */
export function agentTools(catalog: ToolCatalog): (agent: AgentDefinition) => Promise<ListedTool[]> {
  const listed = recent(() => catalog.read());
  return async ({ tools: patterns }) => {
    if (patterns.length === 0) return [];
    const tools = (await listed.recheck()).flatMap((entry) => entry.tools);
    return tools
      .filter(({ name }) => patterns.some((pattern) => toolMatches(pattern, name)))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  };
}
