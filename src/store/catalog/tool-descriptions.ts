// The descriptions of tools for models, looked up in the catalog by the names that `tool_exec` takes.
// Must never call a tool, nor wait for a server that is known to be away.
import { setTimeout as wait } from 'node:timers/promises';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import { type CatalogEntry, entriesFor, type ToolCatalog } from './tool-catalog.ts';
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

/** Describes a tool to a tenant; null: no server has it, or several do. */
export function toolDescriber(
  catalog: Pick<ToolCatalog, 'read'>,
  { patienceMs = 10_000, pollMs = 200 }: DescriberTiming = {},
): (name: string, tenant?: string) => Promise<ToolDescription | null> {
  const catalogued = recent(async () => knownByTenant(await catalog.read()));

  return async (name, tenant = DEFAULT_TENANT) => {
    const found = find(name, (await catalogued.current())(tenant));
    if (found) return described(name, found);
    const until = performance.now() + patienceMs;
    for (;;) {
      const now = (await catalogued.recheck())(tenant);
      const late = find(name, now);
      if (late) return described(name, late);
      if (!now.awaited || performance.now() >= until) return null;
      await wait(pollMs);
    }
  };
}

/** Made once for all tenants where none has a server of its own. */
function knownByTenant(entries: readonly CatalogEntry[]): (tenant: string) => KnownTools {
  const made = new Map<readonly CatalogEntry[] | string, KnownTools>();
  return (tenant) => {
    const seen = entriesFor(entries, tenant);
    const key = seen === entries ? entries : tenant;
    const known = made.get(key) ?? knownTools(seen);
    made.set(key, known);
    return known;
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
