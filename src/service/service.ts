// The composition of a process: its connections, one store on each, and the roles that work on them.
// Must never hold behaviour of its own.
import { endNotices } from '../config/webhooks.ts';
import { tenantLimits } from '../config/tenants.ts';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { currentSpender } from '../http/access/caller.ts';
import { DEFAULT_ALIASES } from '../contract/model/model-name.ts';
import { createCore } from '../agents/core/core.ts';
import type { Engine } from '../agents/turn/engine.ts';
import { emitRequestError, emitToolError, emitToolResult } from '../worker/executors/emit.ts';
import { createRegistry, type Registry } from '../worker/executors/registry.ts';
import { logSdkWarnings } from '../mcp/sdk-warnings.ts';
import { type Modules, NO_MODULES } from '../agents/modules/modules.ts';
import { type Deadline, deadlineIn, type Startable, startAll, stopAll } from '../platform/lifecycle.ts';
import { confirmation } from '../queue/durability.ts';
import { createGateNews, type GateNews } from '../queue/gate-news.ts';
import { requireFitRedis } from '../platform/redis/fitness.ts';
import {
  closeRedis,
  type ConnectionRole,
  connectRedis,
  type RedisConnection,
} from '../platform/redis/connection.ts';
import { createRedisOutage, type RedisOutage } from '../platform/redis/outage.ts';
import { askRedis } from '../platform/redis/reach.ts';
import { openLog } from '../platform/telemetry/log.ts';
import { newShortId, PROCESS_CODE } from '../platform/telemetry/identifier.ts';
import type { SpanRole } from '../platform/telemetry/traces/span.ts';
import { spansOfRole } from '../platform/telemetry/traces/spans.ts';
import { createOutputGatherer, createOutputWriter } from '../features/server-output/server-output.ts';
import { createStatsWriter } from '../features/stats/stats-writer.ts';
import type { AdapterOptions } from './adapters.ts';
import { archiverOn } from './archive.ts';
import { payloadObjectsOf, payloadSweepOn } from './large-payloads.ts';
import { type Announced, createAnnouncer } from './announcer.ts';
import type { ApiRole } from './roles/api-role.ts';
import { clientOptions, type ClientSettings } from './client-options.ts';
import { payloadKeysOf } from './payload-keys.ts';
import { firingLoopOf } from './firing.ts';
import { loginsOn, needsLogins } from './roles/logins.ts';
import { configuredModels } from './roles/model-role.ts';
import { createObservation, createProbes, secretsOf } from './observation.ts';
import { preparerOn } from './preparer.ts';
import { createPresence, type LaneServer, type Presence, type PresenceOptions } from './presence.ts';
import { addedAgentsOn } from './runtime-definitions.ts';
import { remoteDefinitionsOf } from './remote-types.ts';
import { createRetention } from './retention.ts';
import { type RoleModules, roleModules } from './roles/role-modules.ts';
import { JOB_LOCK_MS, type Roles, STALLED_CHECK_MS } from './roles/roles.ts';
import { listKeepers } from './search.ts';
import { sweeperOn } from './sweeper.ts';
import { createStore, type Store, type StoreOptions } from './store.ts';
import { notifierOn } from './webhooks.ts';
import type { WorkerRole } from './roles/worker-role.ts';
import { createGatePump } from '../queue/gate-pump.ts';
import { createGateTending } from '../queue/gate-tending.ts';

export interface Service {
  /** Where the API listens, once started; null without that role. */
  readonly url: string | null;
  /** Where the metrics of a process are that has a listener of its own for them, once started; else null. */
  readonly metricsUrl: string | null;
  /** `interrupt` leaves the rest unstarted; `stop` follows. */
  start(interrupt?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

export interface ServiceOptions extends Pick<StoreOptions, 'onEnd'> {
  /** As `loadModules` found them. Default: none. */
  modules?: Modules;
}

/** Directive types that end at their acceptance, in every role. */
const EMITTED = [emitToolError, emitToolResult, emitRequestError];

/** Builds a process with the given roles. Rejects when the configuration names no Redis. */
export async function createService(
  config: Config,
  roles: Roles,
  options: ServiceOptions = {},
): Promise<Service> {
  const of = await roleModules(roles);
  const shared = sharedBy(config, roles, options);
  const { redisUrl, underWay, outage, observation, onError } = shared;
  const redis = createConnections(redisUrl, outage);
  const { turns, work, entry } = storesOf(roles, redis, shared);
  const stores = [turns, work, entry].filter((store) => store !== null);

  const output = createOutputGatherer(shared.processId);
  const clients = of.worker && work && clientsOn(of.worker, work, redis, { ...shared, onOutput: output.add });
  const { adapters = null, runtime = null } = clients ?? {};
  const writesOutput = work ? [createOutputWriter(work.connection, work.keys, output, onError)] : [];
  const execution =
    of.worker && work && adapters && of.worker.createExecution(work, adapters, { ...shared, ...runtime });
  const registry = createRegistry([
    ...EMITTED,
    ...(execution?.definitions ?? []),
    ...(work ? remoteDefinitionsOf(work, () => redis.open('subscriber'), shared) : []),
  ]);
  const engine = of.engine && turns && engineOn(of.engine, turns, redis, { registry, shared });
  const worker =
    of.worker && work && execution && workerOn(of.worker, work, redis, { ...execution, registry }, shared);
  if (worker) underWay.set('attempts', worker.worker.inHand);
  if (engine) underWay.set('runs', engine.busyRuns);
  const api = of.api && entry && apiOn(of.api, entry, redis, { registry, shared, worker });

  const announced = [...(execution?.announced ?? []), ...(turns ? [agentsOf(turns, shared)] : [])];
  const cancellations = worker?.hearing ?? null;
  const probes = createProbes(stores, shared, { adapters, cancellations, hasApi: roles.api === true });
  const presence = presenceOn(stores, [worker?.worker, engine], { ...shared, roles });
  const parts = [
    observation.failures,
    observation.metrics,
    fitness(redisUrl, config),
    redis,
    ...(api ? [api.access] : []),
    ...storeParts(stores, shared, { leaving: presence?.leaving ?? null, registry }),
    createAnnouncer(announced, onError),
    ...(engine ? [engine] : []),
    ...writesOutput,
    ...(adapters?.parts ?? []),
    ...(worker?.parts ?? []),
    ...(runtime && work && worker && execution
      ? [runtime.follow(work, redis.open('subscriber'), { worker: worker.worker, ...execution })]
      : []),
    ...(api ? [api, ...api.parts] : []),
    ...(probes ? [probes] : []),
    ...(presence ? [presence.present] : []),
    outage,
  ];
  const drainMs = (engine ? config.engine.drain_ms : 0) + (worker ? config.worker.drain_ms : 0);
  const urls = { url: () => api?.url() ?? null, metricsUrl: () => probes?.url() ?? null };
  return serviceOf(parts, { ...urls, drainMs, logger: shared.logger });
}

/** Longest part of a host's name in the id of a process. */
const LONGEST_HOST = 48;

let services = 0;

/** New with each start, and tells a reader of an old attempt which host and process made it. Claims have its first part. */
function processName(): string {
  const host = hostname()
    .replaceAll(/[^A-Za-z0-9-]/g, '-')
    .slice(0, LONGEST_HOST);
  services += 1;
  const code = services === 1 ? PROCESS_CODE : newShortId().slice(-PROCESS_CODE.length);
  return `${code}.${host}.${process.pid}`;
}

/** Work of this process that is not recorded yet, by name: attempts, runs. */
type UnderWay = Map<string, () => number>;

type Shared = ReturnType<typeof sharedBy>;

/** Parts that every role of a process gets. */
function sharedBy(config: Config, roles: Roles, { modules = NO_MODULES, onEnd }: ServiceOptions) {
  const { redisUrl } = config;
  if (redisUrl === undefined) throw new Error('no Redis is configured: set REDIS_URL');
  const secrets = secretsOf(config);
  const logger = openLog({ level: config.logLevel, format: config.logFormat, secrets });
  logSdkWarnings(logger);
  const processId = processName();
  const observation = createObservation({ config, roles, modules, processId, logger, secrets });
  const underWay: UnderWay = new Map();
  const waiting = () => Object.fromEntries([...underWay].map(([name, count]) => [name, count()]));
  const outage = createRedisOutage({ logger, waiting });
  const onError = (error: Error): void => {
    if (!outage.explains(error))
      logger.warn({ error: error.message }, 'a background task failed and goes on');
  };
  const news = createGateNews();
  let first: RedisConnection | null = null;
  const retention = createRetention(() => first, config, onError);
  return {
    retention,
    /** The connection on which the memory of Redis is asked for. */
    use: (connection: RedisConnection) => (first ??= connection),
    config,
    roles,
    modules,
    redisUrl,
    processId,
    underWay,
    news,
    outage,
    logger,
    secrets,
    observation,
    onError,
    onEnd,
  };
}

/** Time of a stop beyond the drains: 5 s to write results to Redis, and the sign-off. */
const STOP_MS = 8_000;

interface ServiceParts {
  logger: Logger;
  url: () => string | null;
  metricsUrl: () => string | null;
  drainMs: number;
}

function serviceOf(parts: readonly Startable[], { logger, url, metricsUrl, drainMs }: ServiceParts): Service {
  return {
    get url() {
      return url();
    },
    get metricsUrl() {
      return metricsUrl();
    },
    start: (interrupt) => startAll(parts, interrupt),
    async stop() {
      const left = await stopAll(parts, deadlineIn(STOP_MS + drainMs));
      if (left.length > 0) logger.warn({ left }, 'not everything stopped in time; it is left behind');
    },
  };
}

/** A connection each: a write that waits for a disk or a replica holds back all that follows it on its own. */
function storesOf(roles: Roles, redis: Connections, shared: Shared) {
  return {
    turns: roles.engine ? storeOn(redis.open('commands'), shared, 'engine') : null,
    work: roles.worker ? storeOn(redis.open('commands'), shared, 'worker') : null,
    entry: roles.api ? storeOn(redis.open('submit'), shared, 'api') : null,
  };
}

function storeOn(
  connection: RedisConnection,
  { config, modules, news, logger, observation, retention, use, onEnd }: Shared,
  role: SpanRole,
): Store {
  use(connection);
  return createStore(connection, {
    prefix: config.prefix,
    retentionMs: config.retention.closed_ms,
    closedMs: retention.closedMs,
    listedMs: config.archive?.listed_ms,
    requestBytes: config.limits.request_bytes,
    limitsOf: tenantLimits(config.tenants),
    durability: config.durability,
    configured: {
      servers: [...config.mcpServers.keys()],
      models: configuredModels(config),
      agents: modules.agents,
      added: addedAgentsOn(connection, config, modules),
    },
    news,
    reports: observation.reports,
    onEnd,
    archiveAfterMs: config.archive?.after_ms,
    isListed: config.search.enabled,
    streamEntries: config.signals.stream?.max_entries,
    endNotices: endNotices(config.webhooks),
    objects: payloadObjectsOf(config, logger),
    spans: spansOfRole(observation.traces.spans, role),
  });
}

/** The clients of tool servers and models: of the configuration, and of what tenants add. */
function clientsOn(
  { createAdapters, personalLoginsOn, runtimeServing }: NonNullable<RoleModules['worker']>,
  { connection }: Store,
  redis: Connections,
  shared: Shared & Required<Pick<AdapterOptions, 'onOutput'>>,
) {
  const { config } = shared;
  const logins = needsLogins(config) ? loginsOn(redis.open('commands'), config) : null;
  const loginsOf = personalLoginsOn(connection, config)?.storeOf;
  const adapters = createAdapters({ ...shared, logins, loginsOf });
  if (!config.runtime_servers.enabled) return { adapters, runtime: null };
  const runtime = runtimeServing(adapters, shared);
  return { adapters: runtime.adapters, runtime };
}

function workerOn(
  { createWorkerRole }: NonNullable<RoleModules['worker']>,
  store: Store,
  redis: Connections,
  execution: Parameters<typeof createWorkerRole>[2],
  shared: Shared,
): WorkerRole {
  return createWorkerRole(store, redis.open('subscriber'), execution, shared);
}

function engineOn(
  { createEngineRole }: NonNullable<RoleModules['engine']>,
  store: Store,
  redis: Connections,
  { registry, shared: { config, modules, logger, onError } }: { registry: Registry; shared: Shared },
): Engine {
  const { strategies, directives } = modules;
  const modelAliases = [...DEFAULT_ALIASES.keys(), ...config.models.keys()];
  return createEngineRole(store, redis.open('subscriber'), {
    logger,
    onError,
    core: createCore({ strategies, directives, modelAliases }),
    preparer: preparerOn(store, registry, config),
    payloadKeys: payloadKeysOf(config),
    requestBytes: config.limits.request_bytes,
    concurrency: config.engine.concurrency,
    drainMs: config.engine.drain_ms,
    lockMs: JOB_LOCK_MS,
    stalledCheckMs: STALLED_CHECK_MS,
  });
}

function apiOn(
  { createApiRole }: NonNullable<RoleModules['api']>,
  store: Store,
  redis: Connections,
  { registry, shared, worker }: { registry: Registry; shared: Shared; worker: WorkerRole | null },
): ApiRole {
  const preparer = preparerOn(store, registry, shared.config, currentSpender);
  const listening = redis.open('subscriber');
  const queueing = shared.config.queue_api.enabled ? redis.open('commands') : null;
  const cancellations = worker?.hearing ?? null;
  return createApiRole(store, listening, { ...shared, preparer, queueing, cancellations });
}

function agentsOf({ catalog }: Store, { modules, processId }: Shared): Announced {
  const { agents } = catalog.published;
  return {
    publish: () => agents.publish(modules.agents, processId),
    withdraw: () => agents.deregister(processId),
  };
}

/** One sweeper, and one entry among those who are there, whatever number of connections. */
function storeParts(
  stores: readonly Store[],
  { config, observation: { traces, stats }, retention, ...shared }: Shared,
  { leaving, registry }: { leaving: Startable | null; registry: Registry },
): Startable[] {
  const [first] = stores;
  // Before the stores close, the last spans are sent, and no longer noted.
  const notify = notifierOn(stores, registry, config);
  const sweeping = first
    ? [sweeperOn(first, config, { ...shared, notify }), ...listKeepers(first, shared)]
    : [];
  const archiver = first ? archiverOn(first, config, shared) : null;
  const removing = first ? payloadSweepOn(first, config, shared) : null;
  const archiving = [archiver, removing].filter((part) => part !== null);
  const firing = first ? [firingOn(first, registry, { config, ...shared })] : [];
  const gates = first ? [gatesOn(first, shared)] : [];
  const counting = first ? [createStatsWriter({ ...first, ...shared, counter: stats })] : [];
  return [
    ...stores.map(closing),
    ...(leaving ? [leaving] : []),
    traces,
    ...counting,
    ...(first ? [retention] : []),
    ...sweeping,
    ...gates,
    ...archiving,
    ...firing,
  ];
}

function firingOn(store: Store, registry: Registry, settings: Omit<ClientSettings, 'preparer'>): Startable {
  const preparer = preparerOn(store, registry, settings.config, currentSpender);
  return firingLoopOf(store, clientOptions({ ...settings, preparer }));
}

function presenceOn(
  [first]: readonly Store[],
  working: readonly (LaneServer | null | undefined)[],
  options: Omit<PresenceOptions, 'workers' | 'servers'>,
): Presence | null {
  const servers = working.filter((server) => server !== null && server !== undefined);
  return first ? createPresence({ ...options, servers, workers: first.catalog.workers }) : null;
}

function closing(store: Store): Startable {
  return { name: 'store', start: () => Promise.resolve(), stop: () => store.close() };
}

/** A Redis that cannot keep the promises is refused before anything else starts. */
function fitness(redisUrl: string, { durability, prefix }: Config): Startable {
  return {
    name: 'redis check',
    async start() {
      await askRedis(redisUrl, async (connection) => {
        await requireFitRedis(connection, prefix);
        await confirmation(connection, durability);
      });
    },
    stop: () => Promise.resolve(),
  };
}

interface Connections extends Startable {
  open(role: ConnectionRole): RedisConnection;
}

function createConnections(redisUrl: string, outage: RedisOutage): Connections {
  const opened: RedisConnection[] = [];
  return {
    name: 'connections',
    open(role) {
      const connection = connectRedis(redisUrl, role);
      outage.watch(connection);
      opened.push(connection);
      return connection;
    },
    start: () => Promise.resolve(),
    async stop(by?: Deadline) {
      await Promise.all(opened.map((connection) => closeRedis(connection, by?.leftMs())));
    },
  };
}

interface GateSettings {
  /** Gate changes of the process, shared by its stores. */
  news: GateNews;
  onError: (error: Error) => void;
}

function gatesOn({ queue, records }: Store, { news, onError }: GateSettings): Startable {
  const tend = createGateTending({ ...queue, ...records });
  return createGatePump({ gate: queue.gated.gate, tend, news, onError });
}
