// The composition root: builds the parts of a process from its configuration and roles, and starts and stops them.
// Must never hold behaviour of its own.
import { randomUUID } from 'node:crypto';
import { pino, type Logger } from 'pino';
import { allowedHosts } from './api/allowed-host.ts';
import { createApi } from './api/api.ts';
import { assembleClient, type ClientOptions } from './client-parts.ts';
import type { Config } from './config.ts';
import { DEFAULT_ALIASES, modelLane } from './contract/model-name.ts';
import { confirmation, confirmations } from './queue/durability.ts';
import { createRegistry } from './executors/registry.ts';
import { emitRequestError } from './executors/emit-request-error.ts';
import { emitToolError } from './executors/emit-tool-error.ts';
import { toolExec } from './executors/tool-exec.ts';
import { createDeadLetterIndex } from './journal/dead-letter-index.ts';
import { createCore } from './engine/core/core.ts';
import { submittableKinds } from './engine/core/directive-exec.ts';
import type { Engine } from './engine/engine.ts';
import { createJournal } from './journal/journal.ts';
import { keySpace } from './journal/keys.ts';
import { createPayloadStore } from './journal/payload-store.ts';
import { createModelCatalog } from './journal/model-catalog.ts';
import { createSettlement } from './journal/settlement.ts';
import { createSweepIndex } from './journal/sweep-index.ts';
import { createToolCatalog } from './journal/tool-catalog.ts';
import { wireEngine } from './engine-wiring.ts';
import { startAll, stopAll, type Startable } from './lifecycle.ts';
import { type Modules, NO_MODULES, queuedDefinitions } from './modules.ts';
import { configuredModels, modelLanes, modelProviders, wireModels } from './model-wiring.ts';
import { knownModels } from './queue/known-models.ts';
import { knownServers } from './queue/known-servers.ts';
import { createLanes } from './queue/lanes.ts';
import { createPreparer } from './queue/prepare.ts';
import { createRunBell, ringForRuns, type WakeRun } from './queue/run-bell.ts';
import { customLane, toolLane } from './queue/route.ts';
import { createSweeper } from './queue/sweep.ts';
import { closeRedis, connectRedis, type ConnectionRole, type RedisConnection } from './redis.ts';
import { requireFitRedis } from './redis-fitness.ts';
import { wireTools } from './tool-wiring.ts';
import { version } from './version.ts';
import { createThreadedHeartbeat } from './worker/threaded-heartbeat.ts';
import { createCircuitBreaker, DEFAULT_BREAKER } from './worker/circuit-breaker.ts';
import { createCancelListener } from './worker/cancel-listener.ts';
import type { Heartbeat } from './worker/heartbeat.ts';
import { createRunningAttempts } from './worker/running-attempts.ts';
import { createWorker, type ServedLane } from './worker/worker.ts';

/** What a process does. The sweeper runs in every process; one of them sweeps at a time. */
export interface Roles {
  api?: boolean;
  engine?: boolean;
  worker?: boolean;
}

export interface Service {
  /** Where the API listens, once started; null without that role. */
  readonly url: string | null;
  /** `interrupt` leaves the rest unstarted; `stop` follows. */
  start(interrupt?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** BullMQ's lock and check: a dead worker's jobs are handed out again after 4.5 to 6.2 s. */
const JOB_LOCK_MS = 5_000;
const STALLED_CHECK_MS = 2_000;
/** Directives of one user's kind at once in one worker. */
const CUSTOM_CONCURRENCY = 50;

type Onward = (error: Error) => void;

interface Ground {
  config: Config;
  modules: Modules;
  /** Takes turns in this process; null: it is rung for them. */
  engine: Engine | null;
  redisUrl: string;
  logger: Logger;
  onError: Onward;
}

/** What every role needs on one connection to Redis. */
function journalParts(connection: RedisConnection, { config, engine }: Ground) {
  const keys = keySpace(config.prefix);
  const lanes = createLanes(connection, config.prefix);
  const wakeRun = engine ? engine.wake : ringForRuns(createRunBell(lanes));
  const journal = createJournal({ connection, keys, retentionMs: config.retention.closed_ms, wakeRun });
  const index = createSweepIndex(connection, keys);
  const dead = createDeadLetterIndex(connection, keys);
  const settlement = createSettlement(index, dead);
  const payloads = createPayloadStore(connection, keys, config.retention.closed_ms);
  return {
    connection,
    keys,
    journal,
    index,
    dead,
    settlement,
    payloads,
    lanes,
    catalog: createToolCatalog(connection, keys),
  };
}

function open(
  ground: Pick<Ground, 'redisUrl'>,
  role: ConnectionRole,
  name: string,
): { connection: RedisConnection; part: Startable } {
  const connection = connectRedis(ground.redisUrl, role);
  const part = { name, start: () => Promise.resolve(), stop: () => closeRedis(connection) };
  return { connection, part };
}

function sweeperPart(parts: ReturnType<typeof journalParts>, ground: Ground): Startable {
  const retentionMs = ground.config.retention.closed_ms;
  return createSweeper({ ...parts, retentionMs, owner: randomUUID(), onError: ground.onError });
}

/** Attempts at once, with room for those that were told to stop and have not yet. */
function attemptSlots(ground: Ground): number {
  return servedLanes(ground).reduce((sum, { concurrency }) => sum + 2 * concurrency, 64);
}

function heartbeatOf(ground: Ground): Heartbeat {
  const { config, redisUrl, onError } = ground;
  const { prefix, worker } = config;
  const slots = attemptSlots(ground);
  return createThreadedHeartbeat({ redisUrl, prefix, leaseMs: worker.lease_ms, slots, onError });
}

function servedLanes({ config, modules }: Ground): ServedLane[] {
  const tools = [...config.mcpServers].map(([name, { lane, serial }]) => ({
    name: toolLane(name),
    concurrency: serial ? 1 : lane.concurrency,
    globalConcurrency: serial ? 1 : (lane.global_concurrency ?? null),
    rate: lane.rate ?? null,
  }));
  const own = queuedDefinitions(modules).map(({ type }) => ({
    name: customLane(type),
    concurrency: CUSTOM_CONCURRENCY,
    globalConcurrency: null,
    rate: null,
  }));
  return [...tools, ...modelLanes(config), ...own];
}

function workerParts(ground: Ground): Startable[] {
  const { config, logger, onError } = ground;
  const providers = modelProviders(config);
  const { connection, part } = open(ground, 'commands', 'worker connection');
  const parts = journalParts(connection, ground);
  const tools = wireTools({ config, catalog: parts.catalog, logger, onError });
  const models = wireModels({ config, providers, ...parts, onError });
  const listening = open(ground, 'subscriber', 'worker subscriber');
  const running = createRunningAttempts();
  const breaker = createCircuitBreaker({
    ...DEFAULT_BREAKER,
    onChange: (lane, pauseMs) => {
      worker.pauseLane(lane, pauseMs);
      tools.noteBlocked(lane, pauseMs);
      models.noteBlocked(lane, pauseMs);
    },
  });
  const resultBound = { bytes: config.limits.result_bytes, overflow: config.limits.result_overflow };
  const worker = createWorker({
    ...parts,
    prefix: config.prefix,
    registry: createRegistry([
      toolExec(tools),
      ...models.calls,
      emitToolError,
      emitRequestError,
      ...queuedDefinitions(ground.modules),
    ]),
    heartbeat: heartbeatOf(ground),
    running,
    confirm: confirmations(connection, config.durability),
    breaker,
    resultBound,
    leaseMs: config.worker.lease_ms,
    logger,
    serves: servedLanes(ground),
    drainMs: config.worker.drain_ms,
    lockMs: JOB_LOCK_MS,
    stalledCheckMs: STALLED_CHECK_MS,
    onError,
  });
  const lanes = { name: 'worker lanes', start: () => Promise.resolve(), stop: () => parts.lanes.close() };
  const start = (): Promise<void> => tools.announce().then(() => tools.pool.start());
  const pool = { name: 'mcp pool', start, stop: () => tools.pool.stop() };
  const cancels = createCancelListener(listening.connection, parts.keys, running);
  const sweeper = sweeperPart(parts, ground);
  return [part, listening.part, lanes, sweeper, models.announcer, pool, cancels, worker];
}

/** Its own connection, so that a turn waits for nobody's blocking call. */
function engineParts(ground: Omit<Ground, 'engine'>): { engine: Engine; parts: Startable[] } {
  const { config, modules } = ground;
  const { connection, part } = open(ground, 'commands', 'engine connection');
  const keys = keySpace(config.prefix);
  const { strategies, directives } = modules;
  const preparer = createPreparer({
    servers: knownServers(createToolCatalog(connection, keys), [...config.mcpServers.keys()]),
    models: knownModels(createModelCatalog(connection, keys), configuredModels(config)),
    executeImmediately: createRegistry([emitToolError, emitRequestError]).executeImmediately,
  });
  const wired = wireEngine({
    ...ground,
    core: createCore({
      strategies,
      directives,
      modelAliases: [...DEFAULT_ALIASES.keys(), ...config.models.keys()],
    }),
    connection,
    preparer,
    lockMs: JOB_LOCK_MS,
    stalledCheckMs: STALLED_CHECK_MS,
  });
  return { engine: wired.engine, parts: [part, ...wired.parts] };
}

interface ApiPart {
  parts: Startable[];
  url(): string | null;
}

function clientOptions({ config, modules, engine }: Ground): ClientOptions {
  const { limits, mcpServers, providers } = config;
  const limitOf = new Map([
    ...[...mcpServers].map(([name, { lane }]) => [toolLane(name), lane.max_queued] as const),
    ...[...providers].map(([name, { lane }]) => [modelLane(name), lane.max_queued] as const),
  ]);
  return {
    prefix: config.prefix,
    knownServers: [...mcpServers.keys()],
    knownModels: configuredModels(config),
    retentionMs: config.retention.closed_ms,
    durability: config.durability,
    argumentsBytes: limits.arguments_bytes,
    maxDirectives: limits.batch,
    maxQueuedIn: (lane) => limitOf.get(lane) ?? null,
    maxOpen: limits.max_open,
    runs: {
      agents: modules.agents,
      kinds: submittableKinds(modules.directives),
      ...(engine ? { wake: rouseWith(engine) } : {}),
    },
  };
}

/** A caller is answered when the run is durable; its turn follows. */
function rouseWith(engine: Engine): WakeRun {
  return async (requestId, version) => void engine.wake(requestId, version);
}

function apiParts(ground: Ground): ApiPart {
  const { config, logger } = ground;
  const commands = open(ground, 'submit', 'api connection');
  const listening = open(ground, 'subscriber', 'api subscriber');
  const parts = journalParts(commands.connection, ground);
  const client = assembleClient(
    { connection: commands.connection, listening: listening.connection },
    clientOptions(ground),
  );
  const limits = { bodyBytes: config.limits.body_bytes };
  const api = createApi({
    client,
    ready: () => readiness(commands.connection),
    allowedHosts: allowedHosts({ host: config.host, named: config.allowedHosts }),
    limits,
    logger,
    version,
  });
  let url: string | null = null;
  const server: Startable = {
    name: 'api',
    start: async () => {
      url = await api.listen({ host: config.host, port: config.port });
    },
    stop: async () => {
      await api.close();
      await client.close();
    },
  };
  return { parts: [commands.part, listening.part, sweeperPart(parts, ground), server], url: () => url };
}

async function readiness(connection: RedisConnection) {
  const answered = await connection.ping().then(
    () => true,
    () => false,
  );
  return { ok: answered, checks: { redis: answered ? 'ok' : 'out of reach' } };
}

/** A Redis that cannot keep the promises is refused before anything else starts. */
function fitnessPart(ground: Ground): Startable {
  return {
    name: 'redis check',
    async start() {
      const connection = connectRedis(ground.redisUrl, 'submit');
      try {
        await requireFitRedis(connection);
        await confirmation(connection, ground.config.durability);
      } finally {
        await closeRedis(connection);
      }
    },
    stop: () => Promise.resolve(),
  };
}

/** Builds a process with the given roles; `modules` as `loadModules` found them. Throws when the configuration names no Redis. */
export function createService(config: Config, roles: Roles, modules: Modules = NO_MODULES): Service {
  if (config.redisUrl === undefined) throw new Error('no Redis is configured: set REDIS_URL');
  const logger = pino({ level: config.logLevel, base: null }, pino.destination({ fd: 2, sync: false }));
  const onError: Onward = (error) =>
    logger.warn({ error: error.message }, 'a background task failed and goes on');
  const base = { config, modules, redisUrl: config.redisUrl, logger, onError };
  const running = roles.engine ? engineParts(base) : null;
  const ground: Ground = { ...base, engine: running?.engine ?? null };
  const api = roles.api ? apiParts(ground) : null;
  const parts = [
    fitnessPart(ground),
    ...(running?.parts ?? []),
    ...(roles.worker ? workerParts(ground) : []),
    ...(api?.parts ?? []),
  ];
  return {
    get url() {
      return api?.url() ?? null;
    },
    start: (interrupt) => startAll(parts, interrupt),
    stop: () => stopAll(parts),
  };
}
