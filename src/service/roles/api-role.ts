// The API of a process, joined from its store: the direct client behind HTTP routes.
// Must never know how a directive is executed.
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import {
  chargeCaller,
  currentCaller,
  guardClient,
  type StarterOf,
  type SubmitterOf,
} from '../../http/access/caller.ts';
import { type ClientOf, createCallersClient, currentTenant } from '../../http/access/callers-client.ts';
import { ownerOf } from '../../http/access/schedule-rights.ts';
import { forbiddenRun, forbiddenUse } from '../../http/access/use.ts';
import { allowedHosts } from '../../http/allowed-host.ts';
import { type ApiFeature, type ApiLimits, createApi } from '../../http/api.ts';
import { readPages } from '../../http/page-files.ts';
import type { McpHandler } from '../../http/routes/mcp.ts';
import type { Config } from '../../config/config.ts';
import { DEFAULT_TENANT, scopedId } from '../../contract/access/tenant.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { Modules } from '../../agents/modules/modules.ts';
import { createCallWaits } from '../../store/request/call-waits.ts';
import { decodeEnvelope } from '../../store/request/envelope.ts';
import type { Hearing } from '../../store/log/channel.ts';
import { sharedSecret } from '../../store/access/shared-secret.ts';
import { type CatalogChanges, createCatalogChanges } from '../../store/catalog/catalog-changes.ts';
import { OPERATING_SERVER } from '../../contract/identifiers.ts';
import { createOperatingEndpoint } from '../../features/operating/server.ts';
import { SESSIONS } from '../../http/mcp/endpoint.ts';
import type { CallsOfRuns } from '../../http/mcp/calls/run-call.ts';
import { responseWritten } from '../../http/mcp/host.ts';
import { createMcpEndpoints } from '../../http/mcp/endpoints.ts';
import type { Offer } from '../../http/mcp/offered-tools.ts';
import { createSessionPool } from '../../http/mcp/sessions.ts';
import type { Startable } from '../../platform/lifecycle.ts';
import { foreignRunRoutes } from '../../features/foreign-runs/routes.ts';
import { modelEndpoint } from '../../features/model-endpoint/routes.ts';
import type { TurnsOfRun } from '../../features/model-endpoint/turns-of-run.ts';
import { createQueueApi, type QueueApiOptions } from '../../features/queue-api/queue-api.ts';
import type { Preparer } from '../../directives/prepare.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { version } from '../../version.ts';
import { createClient } from '../client.ts';
import { clientOptions } from '../client-options.ts';
import { foreignRunsOf } from '../foreign-runs.ts';
import type { Observation } from '../observation.ts';
import { readiness } from '../readiness.ts';
import { type Access, createAccess } from '../access.ts';
import { type HostLoginOfApi, hostLoginOf } from '../host-login.ts';
import { type PersonalLoginsOfApi, personalPagesOf } from '../personal-logins.ts';
import { createOwnLogins } from '../../features/personal-logins/own-logins.ts';
import type { LoginDoor } from '../../http/routes/oidc.ts';
import { NO_SIGNALS } from '../../agents/turn/run-store.ts';
import type { RunSpec } from '../../agents/turn/transition.ts';
import { archivedReadsOf, archiveOf } from '../archive.ts';
import { addedClientsOf } from '../runtime-definitions.ts';
import { remoteWorkOf } from '../remote-types.ts';
import { reconcileSettingsOf, runtimeServersOf } from '../runtime-servers.ts';
import type { Store } from '../store.ts';
import { createTenantParts } from '../tenant-parts.ts';

export interface ApiRoleOptions {
  config: Config;
  modules: Modules;
  preparer: Preparer;
  /** Whether this process' worker receives cancellations; null: it has none. */
  cancellations: (() => Hearing) | null;
  /** A connection for the queue API; null: this process does not serve it. */
  queueing: RedisConnection | null;
  logger: Logger;
  observation: Observation;
  onError: (error: Error) => void;
}

export interface ApiRole extends Startable {
  /** null until it listens. */
  url(): string | null;
  /** Starts before everything that works: an API that may not listen ends the start. */
  readonly access: Startable;
  /** Parts that serve the same client beside HTTP, in the order of their start. */
  readonly parts: readonly Startable[];
}

/** Files that the build wrote: the same place seen from the sources and from the package. */
const builtPages = (name: string) =>
  readPages(fileURLToPath(new URL(`../../../dist/${name}`, import.meta.url)));

/** `listening`: a connection for subscriptions only. */
export function createApiRole(store: Store, listening: RedisConnection, options: ApiRoleOptions): ApiRole {
  const { config, cancellations, queueing, logger, observation } = options;
  const access = createAccess(store, listening, options);
  const { audit, spend, others } = access;
  const settings = clientOptions(options);
  const { clientOf, listen, hearing } = createClient(store, listening, {
    ...settings,
    archived: archivedReadsOf(config),
    added: { servers: runtimeServersOf(store, config, audit), ...addedClientsOf(store, options, audit) },
    reconcileOf: reconcileSettingsOf(store, config),
    charge: chargeCaller(spend),
    owner: () => ownerOf(currentCaller()),
  });
  const submitterOf = submitterIn(store);
  const personal = personalPagesOf(store, access, clientOf, options);
  const starterOf = personal && starterIn(store);
  const guard = (open: DirectiveClient): DirectiveClient =>
    guardClient(open, { audit, spend, others, maxDirectives: config.limits.batch, submitterOf, starterOf });
  const client = guard(createCallersClient(clientOf));
  const { connection, keys } = store;
  const { mustEncrypt = () => false } = settings;
  const warn = logger.warn.bind(logger);
  const foreignRuns = foreignRunsOf(store, { spend, mustEncrypt, warn });
  const changes = createCatalogChanges({ listening, publishing: connection }, keys, options.onError);
  const hosts = hostLoginOf(store, access, clientOf, options);
  const api = createApi({
    client,
    access: doorsOf(access, hosts, personal),
    ready: readinessOf(store, { announcements: hearing, cancellations }, config),
    allowedHosts: allowedHosts({ host: config.host, named: config.allowedHosts }),
    origins: { mcp: new Set(config.allowedOrigins), api: new Set(config.http.cors.origins) },
    trustedProxies: config.http.trusted_proxies,
    spans: store.spans,
    limits: apiLimits(config),
    logger,
    mcp: mcpOf({ client, clientOf, guard, toolCalls: foreignRuns.toolCalls }, store, changes, options),
    features: [
      modelEndpointOf({ client, clientOf, turns: foreignRuns.turns }, store, options),
      foreignRunRoutes(foreignRuns.calls),
      remoteWorkOf(store, listening, options),
      ...present(hosts?.feature, personal?.feature),
    ],
    scrape: observation.metrics.scrape,
    reports: { meters: observation.metrics.meters, failures: observation.failures },
    version,
    console: builtPages('console'),
    docs: builtPages('docs'),
    archive: archiveOf(config, () => currentCaller()?.tenant ?? DEFAULT_TENANT),
  });
  const { customTypes } = settings;
  const shared = { client, clientOf, gate: access.gate, submitterOf, customTypes };
  let url: string | null = null;
  return {
    name: 'api',
    url: () => url,
    access,
    parts: present(queueing && queueApiOf(shared, store, queueing, options), personal?.waking),
    async start() {
      // Without Redis it goes on trying; the first call that waits says what is wrong.
      await listen().catch(options.onError);
      url = await api.listen({ host: config.host, port: config.port });
    },
    async stop() {
      await api.close();
      changes.close();
      await client.close();
    },
  };
}

function present<T extends object>(...parts: readonly (T | null | undefined)[]): T[] {
  return parts.filter((part) => part !== null && part !== undefined);
}

function readinessOf(
  { connection, catalog }: Store,
  subscriptions: Parameters<typeof readiness>[1],
  { search }: Config,
) {
  return async () =>
    readiness(connection, subscriptions, { workers: catalog.workers, isListed: search.enabled });
}

/** The key is kept with whatever has a lane; of what ended as it was accepted its submitter has the content. */
function submitterIn({ records: { journal } }: Store): SubmitterOf {
  return async (requestId, directiveId) => {
    const json = await whileAvailable(() =>
      journal.envelope(scopedId(currentTenant(), requestId), directiveId),
    );
    return json === null ? null : (decodeEnvelope(json).spender?.key ?? null);
  };
}

/** The caller that a run acts for; null: it has none, or there is no such run. */
function starterIn({ records: { runs } }: Store): StarterOf {
  return async (requestId) => {
    const found = await whileAvailable(() => runs.read(scopedId(currentTenant(), requestId), NO_SIGNALS));
    return found === null ? null : ((JSON.parse(found.spec) as Pick<RunSpec, 'spender'>).spender ?? null);
  };
}

/** Access to the API, with the logins of hosts and of callers. */
function doorsOf(access: Access, hosts: HostLoginOfApi | null, personal: PersonalLoginsOfApi | null) {
  return {
    ...access,
    keys: {
      ...access.keys,
      ...(personal?.own ?? createOwnLogins(null)),
      async revoke(...key: Parameters<Access['keys']['revoke']>) {
        const revoked = await access.keys.revoke(...key);
        await personal?.forgetKey(revoked);
        return revoked;
      },
    },
    login: doorOf(hosts?.login ?? access.login, personal),
    hosts: hosts?.tokens ?? null,
  };
}

/** A person comes back from the issuer for a host, for a login at a server, or for the console. */
function doorOf(door: LoginDoor | null, personal: PersonalLoginsOfApi | null): LoginDoor | null {
  if (door === null || personal === null) return door;
  return {
    ...door,
    forHost: async (returnTo, principal) =>
      (await door.forHost?.(returnTo, principal)) ?? personal.forLogin(returnTo, principal),
  };
}

function apiLimits({ limits }: Config): ApiLimits {
  return { bodyBytes: limits.body_bytes, bodyValues: limits.body_values, streams: limits.streams };
}

/** Bounds of a job: those of an HTTP body. */
function queueApiOf(
  shared: Pick<QueueApiOptions, 'client' | 'clientOf' | 'gate' | 'submitterOf' | 'customTypes'>,
  { keys }: Store,
  connection: RedisConnection,
  { config: { limits }, onError }: ApiRoleOptions,
): Startable {
  return createQueueApi({
    ...shared,
    connection,
    prefix: keys.prefix,
    secret: async () => sharedSecret(connection, keys.seal),
    bounds: { bytes: limits.body_bytes, values: limits.body_values },
    onError,
  });
}

function modelEndpointOf(
  {
    client,
    clientOf,
    turns,
  }: { readonly client: DirectiveClient; readonly clientOf: ClientOf; readonly turns: TurnsOfRun },
  { connection, keys, catalog }: Store,
  { config, onError }: ApiRoleOptions,
): ApiFeature {
  const tenants = createTenantParts((tenant) => ({
    own: clientOf(tenant),
    waits: createCallWaits(connection, keys, tenant),
  }));
  return modelEndpoint({
    client,
    tenant: () => tenants.of(currentTenant()),
    principal: currentCaller,
    models: catalog.models,
    turns,
    configured: new Map([...config.providers].map(([name, { models }]) => [name, [...models.keys()]])),
    limits: { bodyBytes: config.limits.body_bytes, bodyValues: config.limits.body_values },
    graceMs: config.limits.model_grace_ms,
    onError,
  });
}

interface McpClients {
  /** Acts for the caller of now, of whichever tenant. */
  readonly client: DirectiveClient;
  readonly clientOf: ClientOf;
  /** The client with the rights of the caller. */
  readonly guard: (open: DirectiveClient) => DirectiveClient;
  readonly toolCalls: ReturnType<typeof foreignRunsOf>['toolCalls'];
}

/** Whether the key of the caller allows a call of a tool, or a run of an agent. */
function mayCall({ server, tool }: Offer): boolean {
  const caller = currentCaller();
  if (caller === null) return true;
  const refusal =
    server === null
      ? forbiddenRun(caller, { agent: tool })
      : forbiddenUse(caller, { type: 'tool_exec', server, tool_name: tool });
  return refusal === null;
}

/** undefined: no host gets a handle, beside those that search. */
function patienceIn({ mcp, mcpServers }: Config): ((server: string | null) => number | null) | undefined {
  const { host_patience_ms: usual = null } = mcp;
  if (usual === null && ![...mcpServers.values()].some(({ host_patience_ms: own }) => own !== undefined))
    return undefined;
  return (server) => (server === null ? undefined : mcpServers.get(server)?.host_patience_ms) ?? usual;
}

const OPERATING_ADDRESS = `The server that operates Adjutant belongs to no run: its address is /mcp/${OPERATING_SERVER}.`;

/** Each tenant has endpoints of its own: a session, a task and a call that waits are as little seen by others as its requests. */
function mcpOf(
  { client, clientOf, guard, toolCalls }: McpClients,
  { connection, keys }: Store,
  changes: CatalogChanges,
  { config, onError }: ApiRoleOptions,
): McpHandler {
  const sealingKey = async (): Promise<string> => sharedSecret(connection, keys.seal);
  const holdMs = config.limits.mcp_hold_ms;
  const keysFrom = config.mcp.keys_from;
  const hints = changes.listen;
  const callerOf = (): string | null => currentCaller()?.id ?? null;
  const sessions = createSessionPool(SESSIONS);
  const runs: CallsOfRuns = {
    find: async (call) => toolCalls.find(call, currentCaller()),
    given: async (run, requestId) => toolCalls.given(run, requestId, currentCaller()),
  };
  const prefersSearch = (): boolean => currentCaller()?.prefersSearch === true;
  const calls = { holdMs, keysFrom, runs, mayCall, patienceOf: patienceIn(config) };
  const shared = { sealingKey, hints, callerOf, version, onError, sessions, prefersSearch, ...calls };
  const endpoints = createTenantParts(
    (tenant) => {
      const own = clientOf(tenant);
      const waits = createCallWaits(connection, keys, tenant);
      return createMcpEndpoints({ ...shared, client: guard(own), own, waits });
    },
    (made) => void made.close().catch(onError),
  );
  const operating = createOperatingEndpoint({ client, keysFrom, version, onError });
  return {
    handle: async (server, request, body) => {
      if (server !== OPERATING_SERVER) return endpoints.of(currentTenant()).handle(server, request, body);
      const isOfRun = new URL(request.url).pathname.startsWith('/runs/');
      return isOfRun ? OPERATING_ADDRESS : operating.handle(request, body);
    },
    written: responseWritten,
    close: async () =>
      void (await Promise.all([operating, ...endpoints.all()].map(async (made) => made.close()))),
  };
}
