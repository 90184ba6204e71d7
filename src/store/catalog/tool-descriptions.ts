// The descriptions of tools for models, looked up in the catalog by the names that `tool_exec` takes.
// Must never call a tool, nor wait for a server that is known to be away.
import { setTimeout as wait } from 'node:timers/promises';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import type { CatalogEntry, ToolCatalog } from './tool-catalog.ts';
import { recent } from './recent.ts';
import { targetOf, type KnownServers } from './route.ts';

/** The description of a tool for a model. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly input_schema: Record<string, unknown>;
}

export interface DescriberTiming {
  /** Time to search for a tool while servers are still connecting, milliseconds. Default: 10 000. */
  readonly patienceMs?: number;
  /** Milliseconds between two reads. Default: 200. */
  readonly pollMs?: number;
}

interface KnownTools {
  servers: KnownServers;
  tools: ReadonlyMap<string, ListedTool>;
  /** A server is about to be listed for the first time. */
  awaited: boolean;
}

/** Describes a tool; null: no server has it, or several do. */
export function toolDescriber(
  catalog: Pick<ToolCatalog, 'read'>,
  { patienceMs = 10_000, pollMs = 200 }: DescriberTiming = {},
): (name: string) => Promise<ToolDescription | null> {
  const catalogued = recent(async () => knownTools(await catalog.read()));

  return async (name) => {
    const found = find(name, await catalogued.current());
    if (found) return described(name, found);
    const until = performance.now() + patienceMs;
    for (;;) {
      const known = await catalogued.recheck();
      const late = find(name, known);
      if (late) return described(name, late);
      if (!known.awaited || performance.now() >= until) return null;
      await wait(pollMs);
    }
  };
}

function knownTools(entries: readonly CatalogEntry[]): KnownTools {
  return {
    servers: new Map(entries.map(({ server, tools }) => [server, tools.map(({ tool }) => tool)])),
    tools: new Map(entries.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const))),
    awaited: entries.some(({ status, tools }) => status === 'connecting' && tools.length === 0),
  };
}

function find(name: string, { servers, tools }: KnownTools): ListedTool | undefined {
  const target = targetOf(name, undefined, servers);
  return 'server' in target ? tools.get(`${target.server}.${target.tool}`) : undefined;
}

function described(name: string, tool: ListedTool): ToolDescription {
  return { name, description: tool.description ?? tool.title ?? '', input_schema: tool.input_schema };
}
