// The worker of a process, joined from its store: what it executes, the lanes it serves, its heartbeat and its breaker.
// Must never make an attempt itself.
import { customLane, toolLane } from '../catalog/route.ts';
import type { Config } from '../config/config.ts';
import type { DirectiveDefinition, QueuedDefinition } from '../executors/definition.ts';
import type { Registry } from '../executors/registry.ts';
import { toolExec } from '../executors/tool-exec.ts';
import { type Modules, queuedDefinitions } from '../extend/modules.ts';
import type { Hearing } from '../journal/channel.ts';
import { createSchemaChecks } from '../json-schema/schema-checks.ts';
import type { Startable } from '../lifecycle.ts';
import type { RedisConnection } from '../redis/connection.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createCancelListener } from '../worker/cancel-listener.ts';
import { createCircuitBreaker, DEFAULT_BREAKER } from '../worker/circuit-breaker.ts';
import type { AttemptLimits } from '../worker/claimed.ts';
import type { Heartbeat } from '../worker/heartbeat.ts';
import { createReachLog } from '../worker/reach-log.ts';
import { createRunningAttempts } from '../worker/running-attempts.ts';
import { createThreadedHeartbeat } from '../worker/threaded-heartbeat.ts';
import { createWorker, type ServedLane, type Worker } from '../worker/worker.ts';
import type { Announced } from './announcer.ts';
import { createModelRole, modelLanes, type ModelRole } from './models.ts';
import type { Store } from './store.ts';
import { createToolRole, type ToolRole } from './tools.ts';

/** Directives of one custom type at once in one worker. */
const CUSTOM_CONCURRENCY = 50;

export interface WorkerSettings {
  config: Config;
  modules: Modules;
  redisUrl: string;
  processId: string;
  logger: Logger;
  onError: (error: Error) => void;
}

/** What executes: tools, models and custom directive types. */
export interface Execution {
  definitions: DirectiveDefinition[];
  tools: ToolRole;
  models: ModelRole;
  announced: Announced[];
  /** In the order of their start. */
  parts: Startable[];
}

/** Throws `ConfigError` when a provider has no key. */
export function createExecution(store: Store, settings: WorkerSettings): Execution {
  const { config, processId, logger, onError } = settings;
  const { connection, keys, catalog, queue } = store;
  const schemas = createSchemaChecks({ limitMs: config.limits.schema_check_ms });
  const shared = { config, processId, schemas, onError };
  const tools = createToolRole({
    ...shared,
    catalog: catalog.published.tools,
    logger,
    meters: store.reports.meters,
  });
  const models = createModelRole({ ...shared, connection, keys, catalog });
  const names = servedLanes(settings).map(({ name }) => name);
  const lanes = { publish: async () => queue.lanes.note(names), withdraw: async () => {} };
  return {
    definitions: [toolExec(tools), ...models.definitions, ...queuedDefinitions(settings.modules)],
    tools,
    models,
    announced: [lanes, models.announced, tools.announced],
    parts: [
      { name: 'schema checks', start: async () => {}, stop: () => schemas.stop() },
      { name: 'mcp pool', start: async () => tools.pool.start(), stop: () => tools.pool.stop() },
    ],
  };
}

/** One lane for each server, provider and custom directive type. */
export function servedLanes({ config, modules }: Pick<WorkerSettings, 'config' | 'modules'>): ServedLane[] {
  const tools = [...config.mcpServers].map(([name, { lane, serial }]) => ({
    name: toolLane(name),
    concurrency: serial ? 1 : lane.concurrency,
    globalConcurrency: serial ? 1 : (lane.global_concurrency ?? null),
    rate: lane.rate ?? null,
    serial,
  }));
  const custom = queuedDefinitions(modules).map(({ type }: QueuedDefinition) => ({
    name: customLane(type),
    concurrency: CUSTOM_CONCURRENCY,
    globalConcurrency: null,
    rate: null,
  }));
  return [...tools, ...modelLanes(config), ...custom];
}

export interface WorkerRole {
  worker: Worker;
  /** Whether cancellations are heard as they are announced. */
  hearing(): Hearing;
  /** In the order of their start. */
  parts: Startable[];
}

/** `listening`: a connection for subscriptions only. */
export function createWorkerRole(
  store: Store,
  listening: RedisConnection,
  { tools, models, registry }: Pick<Execution, 'tools' | 'models'> & { registry: Registry },
  settings: WorkerSettings,
): WorkerRole {
  const { connection, keys, records, queue } = store;
  const { journal, index, serial, ends, payloads } = records;
  const { lanes, confirm } = queue;
  const running = createRunningAttempts();
  const reach = createReachLog(settings.logger);
  const breaker = createCircuitBreaker({
    ...DEFAULT_BREAKER,
    onChange(lane, pauseMs) {
      worker.pauseLane(lane, pauseMs);
      tools.noteBlocked(lane, pauseMs);
      models.noteBlocked(lane, pauseMs);
      reach.note(lane, pauseMs);
    },
  });
  const worker = createWorker({
    ...workerSettings(settings),
    connection,
    keys,
    attempt: {
      records: { journal, index, serial, ends, payloads },
      registry,
      heartbeat: heartbeatOf(settings),
      lanes,
      spans: store.spans,
      confirm,
      running,
      breaker,
      limits: attemptLimits(settings),
      logger: settings.logger,
      reports: store.reports,
    },
  });
  const cancels = createCancelListener({ listening, publishing: connection }, keys, running);
  return { worker, hearing: cancels.hearing, parts: [cancels, worker] };
}

/** BullMQ's lock at most, and its check. Where workers live too short for the check, the sweeper enqueues when the lease ends. */
export const JOB_LOCK_MS = 5_000;
export const STALLED_CHECK_MS = 2_000;

/** Share of a lease, so that BullMQ has let go of a dead worker's job when its lease ends, and the sweeper can enqueue it anew. */
const LOCK_PER_LEASE = 0.6;

function lockMsFor(leaseMs: number): number {
  return Math.min(JOB_LOCK_MS, Math.ceil(leaseMs * LOCK_PER_LEASE));
}

function workerSettings(settings: WorkerSettings) {
  const { worker } = settings.config;
  return {
    serves: servedLanes(settings),
    drainMs: worker.drain_ms,
    lockMs: lockMsFor(worker.lease_ms),
    stalledCheckMs: STALLED_CHECK_MS,
    onError: settings.onError,
  };
}

function attemptLimits({ config: { limits, worker } }: WorkerSettings): AttemptLimits {
  return {
    result: { bytes: limits.result_bytes, overflow: limits.result_overflow },
    leaseMs: worker.lease_ms,
    longestPauseMs: limits.pause_ms,
  };
}

function heartbeatOf(settings: WorkerSettings): Heartbeat {
  const { config, redisUrl, onError } = settings;
  const { prefix, worker } = config;
  // With room for attempts that were told to stop and have not yet.
  const slots = servedLanes(settings).reduce((sum, { concurrency }) => sum + 2 * concurrency, 64);
  const { lease_ms: leaseMs, blocked_ms: blockedMs } = worker;
  return createThreadedHeartbeat({ redisUrl, prefix, leaseMs, blockedMs, slots, onError });
}
