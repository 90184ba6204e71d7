// Joins the MCP pool with the configuration and the catalog: which servers there are, what their tools do.
// Must never call a tool.
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { HttpServerConfig, ServerConfig, StdioServerConfig } from '../config/servers.ts';
import type { ListedTool } from '../contract/tool-listing.ts';
import { type RepeatPolicy, knownRepeatPolicy, type ToolExec } from '../contract/work-directive.ts';
import type { ToolPlace } from '../executors/tool-exec.ts';
import type { CatalogEntry, ToolCatalog } from '../catalog/tool-catalog.ts';
import type { SchemaChecks } from '../json-schema/schema-checks.ts';
import { repeatPolicyOf } from '../mcp/repeat-policy.ts';
import { createMcpPool, type McpPool, type ServerStatus } from '../mcp/pool.ts';
import type { Reading } from '../telemetry/gauges.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Meters } from '../telemetry/meters.ts';
import { LABEL } from '../telemetry/metric.ts';
import type { HttpTransportOptions, McpServerOptions } from '../mcp/server-options.ts';
import { withoutPercents } from '../mcp/server-secrets.ts';
import type { ToolDefinition } from '../mcp/tool-definition.ts';
import { serverOf, toolOnServer } from '../catalog/route.ts';
import type { Announced } from './announcer.ts';

/** User and password of the URL travel as a header: clients of HTTP refuse them in a URL, and repeat it in the refusal. */
function addressOf({ url, headers, bearer_token: token }: HttpServerConfig): HttpTransportOptions {
  const address = new URL(url);
  const user = [address.username, address.password].map(withoutPercents).join(':');
  address.username = '';
  address.password = '';
  const own = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  const basic = user === ':' || own ? {} : { Authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  const bearer = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return { kind: 'http', url: address.href, headers: { ...basic, ...headers, ...bearer } };
}

/** One server as the pool wants it. */
export function serverOptions(name: string, server: ServerConfig, directory: string): McpServerOptions {
  const shared = { name, serial: server.serial, maxInFlight: server.lane.concurrency };
  return { ...shared, transport: transportOptions(server, directory) };
}

function transportOptions(server: ServerConfig, directory: string): McpServerOptions['transport'] {
  switch (server.kind) {
    case 'http':
      return addressOf(server);
    case 'stdio':
      return processOf(server, directory);
  }
}

function processOf({ command, args, env, cwd = '.', uid, gid }: StdioServerConfig, directory: string) {
  const user = uid === undefined || gid === undefined ? {} : { user: { uid, gid } };
  return { kind: 'stdio', command, args, env, cwd: resolve(directory, cwd), ...user } as const;
}

function listedTool(tool: ToolDefinition, server: ServerConfig | undefined): ListedTool {
  const { effects, directives = 'none' } = server ?? {};
  return {
    name: `${tool.server}.${tool.name}`,
    server: tool.server,
    tool: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    ...(tool.description === undefined ? {} : { description: tool.description }),
    input_schema: { ...tool.inputSchema },
    ...(tool.outputSchema === undefined ? {} : { output_schema: { ...tool.outputSchema } }),
    ...(tool.annotations === undefined ? {} : { annotations: { ...tool.annotations } }),
    effect: effects?.get(tool.name) ?? repeatPolicyOf(tool.annotations),
    ...(directives === 'none' ? {} : { directives }),
  };
}

/** Writes what the pool learns into the catalog, one change of a server after the other. */
function catalogWriter(config: Config, catalog: ToolCatalog, onError: (error: Error) => void) {
  const entries = new Map<string, Promise<CatalogEntry>>();

  /** What another process found out stays known while this one has not reached the server. */
  async function stored(server: string): Promise<CatalogEntry> {
    const entry = (await catalog.read()).find((candidate) => candidate.server === server);
    return entry ?? unseen(server);
  }

  async function write(before: Promise<CatalogEntry>, change: Partial<CatalogEntry>): Promise<CatalogEntry> {
    const { error: _, ...known } = await before;
    const entry: CatalogEntry = { ...known, ...change, updatedAt: Date.now() };
    await catalog.publish(entry).catch(onError);
    return entry;
  }

  function change(server: string, changes: Partial<CatalogEntry>): Promise<unknown> {
    if (!config.mcpServers.has(server)) return Promise.resolve();
    const before = entries.get(server) ?? stored(server).catch(() => unseen(server));
    const written = write(before, changes);
    entries.set(server, written);
    return written;
  }

  /** As this process knows it: Redis never had it, or came back without it. */
  async function restore(server: string): Promise<void> {
    const entry = await entries.get(server);
    if (entry) await catalog.publish(entry);
    else await change(server, {});
  }

  return { change, restore };
}

function unseen(server: string): CatalogEntry {
  return { server, status: 'connecting', tools: [], updatedAt: 0 };
}

export interface ToolRole {
  pool: McpPool;
  /** Makes the servers known by name before they are reached, and says that this process serves them. */
  announced: Announced;
  /** Publishes that a lane waits for `pauseMs`, or goes on (null). */
  noteBlocked(lane: string, pauseMs: number | null): void;
  /** 1 for each server that is connected, 0 for the others. */
  connected(): Reading[];
  locate: Locate;
}

export interface ToolRoleOptions {
  config: Config;
  catalog: ToolCatalog;
  /** Of the process that serves them. */
  processId: string;
  logger: Logger;
  /** Checks arguments and results. Default: some of the pool's own. */
  schemas?: SchemaChecks;
  /** Default: nothing is measured. */
  meters?: Pick<Meters, 'reconnected'>;
  onError: (error: Error) => void;
}

export function createToolRole(options: ToolRoleOptions): ToolRole {
  const { config, catalog, logger, schemas, onError } = options;
  const { change, restore } = catalogWriter(config, catalog, onError);
  const servers = [...config.mcpServers.keys()];
  const pool = createMcpPool({
    servers: [...config.mcpServers].map(([name, server]) => serverOptions(name, server, config.directory)),
    onTools: (server, tools) =>
      void change(server, {
        tools: tools.map((tool) => listedTool(tool, config.mcpServers.get(server))),
      }),
    onStatus(server, status: ServerStatus, error) {
      if (status === 'ready') noteReady(server);
      void change(server, { status, ...(error === undefined ? {} : { error }) });
    },
    logger,
    ...(schemas === undefined ? {} : { schemas }),
  });

  const seen = new Set<string>();

  function noteReady(server: string): void {
    if (seen.has(server)) options.meters?.reconnected(server);
    seen.add(server);
  }

  let isKnown = false;

  /** Nobody else publishes what this worker's servers offer, and they say it once: what Redis has lost is restored. */
  async function publish(): Promise<void> {
    const lost = (await catalog.present(options.processId, servers).catch(onError)) ?? [];
    await Promise.all((isKnown ? lost : servers).map(restore));
    isKnown = true;
  }

  function noteBlocked(lane: string, pauseMs: number | null): void {
    const server = serverOfLane(config, lane);
    if (server !== undefined)
      void change(server, { blockedUntil: pauseMs === null ? 0 : Date.now() + pauseMs });
  }

  const announced = { publish, withdraw: () => catalog.deregister(options.processId) };
  return {
    pool,
    announced,
    noteBlocked,
    connected: () => servers.map((name) => connectedReading(pool, name)),
    locate: locator(config, pool, catalog),
  };
}

function connectedReading(pool: McpPool, server: string): Reading {
  const value = pool.status(server) === 'ready' ? 1 : 0;
  return { metric: 'mcpConnected', value, labels: { [LABEL.server]: server } };
}

function serverOfLane({ mcpServers }: Config, lane: string): string | undefined {
  const server = serverOf(lane);
  return server !== null && mcpServers.has(server) ? server : undefined;
}

type Locate = (directive: ToolExec, lane: string) => Promise<ToolPlace | null>;

/** Where a tool_exec of a lane goes, and what the operator decided about it. */
function locator(config: Config, pool: McpPool, catalog: ToolCatalog): Locate {
  async function published(server: string, tool: string): Promise<RepeatPolicy | undefined> {
    const entries = await catalog.read().catch(() => []);
    return entries.find((entry) => entry.server === server)?.tools.find((listed) => listed.tool === tool)
      ?.effect;
  }

  async function repeatPolicy(directive: ToolExec, server: string, tool: string): Promise<RepeatPolicy> {
    const decided = directive.effect ?? config.mcpServers.get(server)?.effects.get(tool);
    if (decided !== undefined) return decided;
    const described = pool.describe(server, tool);
    if (described) return repeatPolicyOf(described.annotations);
    return knownRepeatPolicy(await published(server, tool));
  }

  return async (directive, lane) => {
    const server = serverOfLane(config, lane);
    const options = server === undefined ? undefined : config.mcpServers.get(server);
    if (server === undefined || options === undefined) return null;
    const isListed = (name: string): boolean => pool.describe(server, name) !== null;
    const tool = toolOnServer(server, directive.tool_name, isListed);
    return {
      server,
      tool,
      repeatPolicy: await repeatPolicy(directive, server, tool),
      timeoutMs: options.lane.timeout_ms,
      trust: options.directives,
      context: options.context,
    };
  };
}
