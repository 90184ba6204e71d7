// Decides which lane serves a directive, from its fields and the known servers and models.
// Must never do I/O: what is known is passed in.
import { DEFAULT_TENANT, ownId, TENANT_MARK, tenantOf } from '../../contract/access/tenant.ts';
import { closeNames } from '../../platform/bounds/close-names.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import {
  type ModelChoice,
  modelLane,
  type ModelTable,
  resolveModels,
} from '../../contract/model/model-name.ts';
import { WEBHOOK_TYPE } from '../../contract/signal/webhook.ts';
import { familyOf, missingProvider, speaks } from '../../contract/model/model-wire.ts';
import { TOOL_LANE } from '../../contract/tool/tool-pattern.ts';
import type { LlmRequest, ToolExec } from '../../contract/directive/work-directive.ts';

/** Tool names by server. A server that has not been listed yet has null. */
export type KnownServers = ReadonlyMap<string, readonly string[] | null>;

/** `models`: the names that may answer a model directive, in order; the lane is that of the first one's provider. */
export type Route =
  | { kind: 'lane'; lane: string; models?: readonly string[] }
  | { kind: 'ended'; error: ErrorEnvelope };

/** The known places where work can be done. */
export interface Known {
  servers: KnownServers;
  models: ModelTable;
}

export interface ToolTarget {
  server: string;
  tool: string;
}

const CUSTOM_LANE = 'custom.';
const WEBHOOK_LANE = 'webhook.';
/** The lane of callers' addresses: no endpoint has a dot in its name. */
const CALLERS_LANE = `${WEBHOOK_LANE}callers.urls`;
const NAMED_CANDIDATES = 5;

export function toolLane(server: string): string {
  return `${TOOL_LANE}${server}`;
}

/** The server that a lane belongs to; null: it is no lane of tools. */
export function serverOf(lane: string): string | null {
  return lane.startsWith(TOOL_LANE) ? lane.slice(TOOL_LANE.length) : null;
}

/** Key of a server that a tenant has added: no name of a file has the mark in it. */
export function tenantServer(tenant: string, name: string): string {
  return `${tenant}${TENANT_MARK}${name}`;
}

/** Whether the key is that of a server that some tenant has added. */
export function isTenantServer(server: string): boolean {
  return server.includes(TENANT_MARK);
}

/** Whether a tenant may know that there is such a lane: those of servers that others have added are for operators. */
export function isLaneSeen(lane: string, tenant: string): boolean {
  const server = serverOf(lane);
  if (server === null || tenant === DEFAULT_TENANT || !isTenantServer(server)) return true;
  return tenantOf(server) === tenant;
}

/** Those that a tenant may call, by the names that it knows. A name of a file wins over the same name of a tenant. */
function serversFor(known: KnownServers, tenant: string): KnownServers {
  const keys = [...known.keys()];
  if (!keys.some(isTenantServer)) return known;
  const own = keys.filter((key) => isTenantServer(key) && tenantOf(key) === tenant);
  const shared = [...known].filter(([key]) => !isTenantServer(key));
  return new Map([...own.map((key) => [ownId(key), known.get(key) ?? null] as const), ...shared]);
}

/** The part of the installation's servers that each tenant sees, for as long as the list is the same. */
const views = new WeakMap<KnownServers, Map<string, KnownServers>>();

function viewOf(known: KnownServers, tenant: string): KnownServers {
  const kept = views.get(known) ?? new Map<string, KnownServers>();
  views.set(known, kept);
  const view = kept.get(tenant) ?? serversFor(known, tenant);
  kept.set(tenant, view);
  return view;
}

export function isToolLane(lane: string): boolean {
  return lane.startsWith(TOOL_LANE);
}

/** The lane of a custom directive type. */
export function customLane(type: string): string {
  return `${CUSTOM_LANE}${type}`;
}

/** The custom directive type of a lane; null: it is of another kind. */
export function customTypeOf(lane: string): string | null {
  return lane.startsWith(CUSTOM_LANE) ? lane.slice(CUSTOM_LANE.length) : null;
}

/** The lane of deliveries to an endpoint; null: to addresses that callers gave. */
export function webhookLane(endpoint: string | null): string {
  return endpoint === null ? CALLERS_LANE : `${WEBHOOK_LANE}${endpoint}`;
}

export function isWebhookLane(lane: string): boolean {
  return lane.startsWith(WEBHOOK_LANE);
}

/** The tool's name on its own server: a leading `<server>.` is the address, unless the server has a tool of that whole name. */
export function toolOnServer(server: string, toolName: string, isListed: (name: string) => boolean): string {
  const address = `${server}.`;
  if (!toolName.startsWith(address) || isListed(toolName)) return toolName;
  return toolName.slice(address.length);
}

function listedBy(known: KnownServers, server: string): (name: string) => boolean {
  return (name) => known.get(server)?.includes(name) ?? false;
}

function unknownTool(toolName: string, known: KnownServers): ErrorEnvelope {
  return errorEnvelope('unknown_tool', `no MCP server has the tool "${toolName}"`, {
    field: 'tool_name',
    tool_name: toolName,
    servers: [...known.keys()].slice(0, 100),
    close_names: closeTools(toolName, known),
  });
}

function unknownServer(server: string, known: KnownServers): ErrorEnvelope {
  return errorEnvelope('unknown_tool', `no MCP server is named "${server}"`, {
    field: 'server',
    servers: [...known.keys()].slice(0, 100),
    close_names: closeNames(server, [...known.keys()]),
  });
}

/** The same tool on servers with a similar name, or there the tool with the closest name. */
function closeTools(toolName: string, known: KnownServers): string[] {
  const [server = '', tool = ''] = toolName.split(/\.(.*)/s, 2);
  if (tool === '') return [];
  return closeNames(server, [...known.keys()]).flatMap((near) => {
    const tools = known.get(near) ?? [tool];
    const names = tools.includes(tool) ? [tool] : closeNames(tool, tools).slice(0, 1);
    return names.map((name) => `${near}.${name}`);
  });
}

function ambiguousTool(toolName: string, servers: readonly string[]): ErrorEnvelope {
  const names = servers.slice(0, NAMED_CANDIDATES).map((server) => `${server}.${toolName}`);
  return errorEnvelope(
    'validation_error',
    `several servers have "${toolName}": name one of ${names.join(', ')}`,
    {
      field: 'tool_name',
      candidates: names,
    },
  );
}

/** The pinned server. While no server is known at all, the pin is accepted: its workers may start later. */
function pinnedTarget(toolName: string, server: string, known: KnownServers): ToolTarget | ErrorEnvelope {
  const isOfTenant = server.includes(TENANT_MARK);
  // @guard pinned-tenant
  if (isOfTenant || (known.size > 0 && !known.has(server))) return unknownServer(server, known);
  return { server, tool: toolOnServer(server, toolName, listedBy(known, server)) };
}

/** The server that runs `toolName`: the pinned one, the one named before the first dot, or the only one that has it. */
export function targetOf(
  toolName: string,
  pinned: string | undefined,
  known: KnownServers,
): ToolTarget | ErrorEnvelope {
  if (pinned !== undefined) return pinnedTarget(toolName, pinned, known);
  const named = [...known.keys()].filter((server) => toolName.startsWith(`${server}.`));
  const [addressed] = named.sort((left, right) => right.length - left.length);
  if (addressed !== undefined) {
    return { server: addressed, tool: toolOnServer(addressed, toolName, listedBy(known, addressed)) };
  }
  const offering = [...known].filter(([, tools]) => tools?.includes(toolName)).map(([server]) => server);
  const [only, ...others] = offering;
  if (only === undefined) return unknownTool(toolName, known);
  return others.length > 0 ? ambiguousTool(toolName, offering) : { server: only, tool: toolName };
}

/** `request_id`: with its tenant, whose own servers are known beside those of all. */
function toolRoute({ tool_name, server, request_id: requestId }: ToolExec, known: KnownServers): Route {
  const tenant = tenantOf(requestId);
  const target = targetOf(tool_name, server, viewOf(known, tenant));
  if (!('server' in target)) return { kind: 'ended', error: target };
  const own = tenantServer(tenant, target.server);
  return { kind: 'lane', lane: toolLane(!known.has(target.server) && known.has(own) ? own : target.server) };
}

/** The models that answer an `llm_request` are of one wire: the others of an alias cannot read it. */
function requestRoute(directive: LlmRequest, { aliases, providers }: ModelTable): Route {
  const family = familyOf(directive.wire);
  const speaking = [...providers].filter(([, { type }]) => speaks(type, family));
  const route = modelRoute(directive, { aliases, providers: new Map(speaking) });
  if (route.kind === 'lane' || modelRoute(directive, { aliases, providers }).kind === 'ended') return route;
  const named = directive.model || directive.model_alias;
  const known =
    speaking.length === 0
      ? `none is configured: ${missingProvider(family, providers)}`
      : `those are ${speaking.map(([name]) => name).join(', ')}`;
  const message = `no provider of "${named}" answers requests in the form of ${family}; ${known}`;
  return {
    kind: 'ended',
    error: errorEnvelope('unknown_model', message, { field: 'model', wire: directive.wire }),
  };
}

function modelRoute(directive: ModelChoice, table: ModelTable): Route {
  const resolved = resolveModels(directive, table);
  if (!resolved.ok) return { kind: 'ended', error: resolved.error };
  const [first] = resolved.models;
  if (!first) throw new Error('models were resolved to none');
  return { kind: 'lane', lane: modelLane(first.provider), models: resolved.models.map(({ name }) => name) };
}

function otherLane(directive: { type: string; endpoint?: unknown }): string {
  const { type, endpoint } = directive;
  if (type !== WEBHOOK_TYPE) return customLane(type);
  return webhookLane(typeof endpoint === 'string' ? endpoint : null);
}

/** The lane of a work directive; immediate directives have none. Any other type was admitted as a custom directive. */
export function routeOf(directive: Directive, { servers, models }: Known): Route {
  switch (directive.type) {
    case 'tool_exec':
      return toolRoute(directive, servers);
    case 'llm_stream':
    case 'llm_generate':
    case 'llm_embed':
      return modelRoute(directive, models);
    case 'llm_request':
      return requestRoute(directive, models);
    case 'emit_tool_error':
    case 'emit_tool_result':
    case 'emit_request_error':
      throw new Error(`${directive.type} is immediate and has no lane`);
    default:
      return { kind: 'lane', lane: otherLane(directive) };
  }
}
