// The tools of a store: those of the servers of this process, in its catalog, and the targets of its calls. Never calls
// a tool, nor starts a server.
import { hash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { passesOn, type ServerConfig } from '../../config/servers.ts';
import { ownId } from '../../contract/access/tenant.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { type ServerOffers, serverReadOf } from '../../contract/tool/server-read.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';
import { knownRepeatPolicy, type RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { ServerReadsOptions } from '../../worker/executors/server-read.ts';
import type { ToolExecOptions, ToolPlace } from '../../worker/executors/tool-exec.ts';
import { compileReconcile, type Reconcile } from '../../features/reconcile/reconcile.ts';
import { serverOf, toolLane, toolOnServer } from '../../store/catalog/route.ts';
import type { CatalogEntry, ToolCatalog } from '../../store/catalog/tool-catalog.ts';
import type { McpPool, ServerOutage } from '../../mcp/pool.ts';
import type { DeclaredOffers } from '../../mcp/tools/server-offers.ts';
import { repeatPolicyOf, type ToolDefinition } from '../../mcp/tools/tool-definition.ts';
import type { CircuitBreaker } from '../../worker/circuit-breaker.ts';
import type { Announced } from '../announcer.ts';
import { listedLogin } from './logins.ts';

/** Entry of one server in the catalog. */
const MAX_FAULTS = 100;

/** Hidden is not forbidden: other ways into the service still call it. */
function isExposed(tool: string, expose: ServerConfig['expose'] = true): boolean {
  return typeof expose === 'boolean' ? expose : expose.some((pattern) => toolMatches(pattern, tool));
}

function listedTool(tool: ToolDefinition, server: ServerConfig | undefined): ListedTool {
  const { effects, directives = 'none' } = server ?? {};
  const serverName = ownId(tool.server);
  return {
    name: `${serverName}.${tool.name}`,
    server: serverName,
    tool: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    ...(tool.description === undefined ? {} : { description: tool.description }),
    input_schema: { ...tool.inputSchema },
    ...(tool.outputSchema === undefined ? {} : { output_schema: { ...tool.outputSchema } }),
    ...(tool.annotations === undefined ? {} : { annotations: { ...tool.annotations } }),
    effect: effects?.get(tool.name)?.repeat ?? repeatPolicyOf(tool.annotations),
    ...(server !== undefined && approvalMs(server, tool.name) !== null ? { approval: true as const } : {}),
    ...(directives === 'none' ? {} : { directives }),
    ...(isExposed(tool.name, server?.expose) ? {} : { exposed: false as const }),
  };
}

/** undefined: nothing. */
function offersOf(declared: DeclaredOffers, server: ServerConfig | undefined): ServerOffers | undefined {
  if (server === undefined) return undefined;
  const passed = passesOn(server);
  const resources = declared.resources && passed.resources;
  const prompts = declared.prompts && passed.prompts;
  if (!resources && !prompts) return undefined;
  return {
    ...(resources ? { resources } : {}),
    ...(prompts ? { prompts } : {}),
    ...(declared.completions ? { completions: true } : {}),
    revision: declared.revision,
  };
}

/** Tool of a read by its name; `mcpServers`: those of this process. */
export function readable({ mcpServers }: Pick<Config, 'mcpServers'>): ServerReadsOptions['isExposed'] {
  return (name, method, { ref }) => {
    const server = mcpServers.get(name);
    if (server === undefined) return false;
    const { resources, prompts } = passesOn(server);
    const isOfPrompts =
      method === 'completion/complete'
        ? isObject(ref) && ref['type'] === 'ref/prompt'
        : method.startsWith('prompts/');
    return isOfPrompts ? prompts : resources;
  };
}

/** Writes what the pool learns into the catalog, one change of a server after the other. */
function catalogWriter(config: Config, catalog: ToolCatalog, onError: (error: Error) => void) {
  const entries = new Map<string, Promise<CatalogEntry>>();

  /** Keeps the entry of another process while this one has not reached the server. */
  async function stored(server: string): Promise<CatalogEntry> {
    const entry = (await catalog.read()).find((candidate) => candidate.server === server);
    return entry ?? unseen(server);
  }

  async function write(before: Promise<CatalogEntry>, change: Partial<CatalogEntry>): Promise<CatalogEntry> {
    const known = 'status' in change ? withoutStatus(await before) : await before;
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

  /** A server that is added again begins without the entry of the one before. */
  async function forget(server: string): Promise<void> {
    await entries.get(server);
    entries.delete(server);
    await catalog.forget(server);
  }

  return { change, restore, forget };
}

/** A new status comes with what belongs to it. */
function withoutStatus(entry: CatalogEntry): CatalogEntry {
  const { error: _, down: __, blockedUntil: ___, ...known } = entry;
  return known;
}

function outageFields({ sinceAt, tries, retryAt, type }: ServerOutage): Partial<CatalogEntry> {
  return type === 'auth' ? {} : { blockedUntil: retryAt, down: { sinceAt, tries } };
}

function unseen(server: string): CatalogEntry {
  return { server, status: 'connecting', tools: [], updatedAt: 0 };
}

export interface ToolRole extends ToolExecOptions {
  /** Removes a server from the catalog that the configuration has no more. */
  forget(server: string): Promise<void>;
  /** Makes the servers known by name before they are reached, and says that this process serves them. */
  announced: Announced;
  /** Reports each lane whose server is down, with the time until it is tried again, and each whose server is up. */
  watchReach(reach: Pick<CircuitBreaker, 'down' | 'up'>): void;
  /** Publishes that a lane waits for `pauseMs`, or goes on (null). Not of a server that is known to be down: its status says so. */
  noteBlocked(lane: string, pauseMs: number | null): void;
}

export interface ToolRoleOptions {
  config: Config;
  catalog: ToolCatalog;
  /** Id of the process that serves them. */
  processId: string;
  onError: (error: Error) => void;
}

export function createToolRole(pool: McpPool, options: ToolRoleOptions): ToolRole {
  const { config, catalog, processId, onError } = options;
  const { change, restore, forget } = catalogWriter(config, catalog, onError);
  const servers = (): string[] => [...config.mcpServers.keys()];
  const unsubscribes = [publishing(pool, config, change)];
  let isKnown = false;

  /** Publishes the tools of this worker's servers again after a loss of Redis, since no other process does. */
  async function publish(): Promise<void> {
    const lost = (await catalog.present(processId, servers()).catch(onError)) ?? [];
    await Promise.all((isKnown ? lost : servers()).map(restore));
    isKnown = true;
  }

  async function withdraw(): Promise<void> {
    for (const unsubscribe of unsubscribes) unsubscribe();
    await catalog.deregister(processId);
  }

  function watchReach(reach: Pick<CircuitBreaker, 'down' | 'up'>): void {
    unsubscribes.push(reachOf(pool, reach));
  }

  function noteBlocked(lane: string, pauseMs: number | null): void {
    const server = serverOf(lane);
    if (server !== null && pauseMs !== Infinity)
      void change(server, { blockedUntil: pauseMs === null ? 0 : Date.now() + pauseMs });
  }

  return {
    pool,
    announced: { publish, withdraw },
    forget,
    watchReach,
    noteBlocked,
    ...toolsOf(config, pool, catalog),
  };
}

/** Publishes the facts that a pool learns of its servers to the catalog. Returns a function that ends it. */
function publishing(
  pool: McpPool,
  { mcpServers }: Config,
  change: (server: string, changes: Partial<CatalogEntry>) => Promise<unknown>,
): () => void {
  return pool.subscribe({
    onTools: (server, tools, faults, instructions, offers) =>
      void change(server, {
        tools: tools.map((tool) => listedTool(tool, mcpServers.get(server))),
        faults: faults.slice(0, MAX_FAULTS),
        sampling: samplingOf(mcpServers.get(server))?.model ?? null,
        instructions,
        offers: offersOf(offers, mcpServers.get(server)),
      }),
    onStatus(server, status, error, outage) {
      const why = error === undefined ? {} : { error };
      void change(server, { status, ...why, ...(outage ? outageFields(outage) : {}) });
    },
    onLogin: (server, login) =>
      void change(server, { login: login === null || login.refused !== null ? null : listedLogin(login) }),
  });
}

/** A server that refuses us is up: each call ends at once, and says so. Returns what ends it. */
function reachOf(pool: McpPool, { down, up }: Pick<CircuitBreaker, 'down' | 'up'>): () => void {
  return pool.subscribe({
    onStatus(server, status, _error, outage) {
      const lane = toolLane(server);
      if (outage?.type === 'network') down(lane, outage.retryAt - Date.now());
      else if (status === 'ready' || outage?.type === 'auth') up(lane);
    },
  });
}

/** Tells one server from another that has its name later. Without its secrets, which change. */
function endpointOf(server: ServerConfig): string {
  return hash('sha256', JSON.stringify(placeOf(server)), 'hex').slice(0, 16);
}

function placeOf(server: ServerConfig): string[] {
  switch (server.kind) {
    case 'http':
      return [server.url];
    case 'stdio':
      return [server.command, ...server.args];
    case 'builtin':
      return [server.builtin];
    case 'module':
      return [server.module];
    case 'openapi':
      return [server.openapi, server.base_url ?? ''];
  }
}

/** Reads of hosts are no calls of tools. */
function approvalMs({ approve, approve_timeout_ms }: ServerConfig, tool: string): number | null {
  const isAsked = serverReadOf(tool) === null && approve.some((pattern) => toolMatches(pattern, tool));
  return isAsked ? approve_timeout_ms : null;
}

function samplingOf(server: ServerConfig | undefined): ToolPlace['sampling'] {
  const sampling = server !== undefined && 'sampling' in server ? server.sampling : undefined;
  if (sampling === undefined) return null;
  const { model, max_tokens: maxTokens, timeout_ms: timeoutMs } = sampling;
  const limits = {
    requestsPerCall: sampling.max_requests_per_call,
    tokensPerCall: sampling.max_tokens_per_call,
    tokensPerDay: sampling.max_tokens_per_day,
  };
  return { model, maxTokens, timeoutMs, limits };
}

/** Compiled settings, by name of the tool with its server. */
function reconcilesOf(mcpServers: Config['mcpServers']): ReadonlyMap<string, Reconcile> {
  const found = [...mcpServers].flatMap(([server, { effects }]) =>
    [...effects].flatMap(([tool, { reconcile }]) =>
      reconcile === null ? [] : [[`${server}.${tool}`, compileReconcile(reconcile)] as const],
    ),
  );
  return new Map(found);
}

/** Where a tool_exec of a lane goes, and what the operator, the tool or the catalog says about a repeat. */
function toolsOf(
  { mcpServers }: Config,
  pool: McpPool,
  catalog: ToolCatalog,
): Pick<ToolExecOptions, 'placeOf' | 'repeatPolicyOf'> {
  const reconciles = reconcilesOf(mcpServers);

  async function published({ server, tool }: ToolPlace): Promise<RepeatPolicy | undefined> {
    const entries = await catalog.read().catch(() => []);
    const listed = entries.find((entry) => entry.server === server)?.tools;
    return listed?.find((each) => each.tool === tool)?.effect;
  }

  return {
    placeOf({ tool_name: name }, lane) {
      const server = serverOf(lane);
      const settings = server === null ? undefined : mcpServers.get(server);
      if (server === null || settings === undefined) return null;
      const { lane: limits, directives: trust, context } = settings;
      const tool = toolOnServer(ownId(server), name, (listed) => pool.describe(server, listed) !== null);
      const questionMs = settings.questions ? settings.question_timeout_ms : null;
      const place = { server, tool, timeoutMs: limits.timeout_ms, trust, context };
      const sampling = samplingOf(settings);
      return {
        ...place,
        questionMs,
        approvalMs: approvalMs(settings, tool),
        sampling,
        endpoint: endpointOf(settings),
        reconcile: reconciles.get(`${server}.${tool}`) ?? null,
      };
    },

    async repeatPolicyOf(directive, place) {
      const { server, tool } = place;
      if (serverReadOf(tool) !== null) return 'read';
      const decided = directive.effect ?? mcpServers.get(server)?.effects.get(tool)?.repeat;
      if (decided !== undefined) return decided;
      const described = pool.describe(server, tool);
      return described ? repeatPolicyOf(described.annotations) : knownRepeatPolicy(await published(place));
    },
  };
}
