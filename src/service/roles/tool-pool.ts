// The MCP servers of a process, and beside them the tools of modules, as one source of tools.
// Must never call a tool of a module: their executor does.
import { createServerEvents } from '../../mcp/server-events.ts';
import type { McpPool } from '../../mcp/pool.ts';
import type { ToolDefinition } from '../../mcp/tools/tool-definition.ts';
import type { LoadedTool, ToolModules } from '../../agents/modules/tool-modules.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';

/** Modules are ready from the start on. */
export function withModules(pool: McpPool, modules: ToolModules, logger: Logger): McpPool {
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
