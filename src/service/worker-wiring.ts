// Joins a worker with the configuration: the lanes it serves, its executors, its heartbeat and its breaker.
// Must never make an attempt itself.
import { createRegistry } from '../executors/registry.ts';
import { emitRequestError } from '../executors/emit-request-error.ts';
import { emitToolError } from '../executors/emit-tool-error.ts';
import { toolExec } from '../executors/tool-exec.ts';
import {
  type SharedParts,
  JOB_LOCK_MS,
  journalParts,
  type JournalParts,
  open,
  STALLED_CHECK_MS,
  sweeperPart,
} from './ground.ts';
import type { Hearing } from '../journal/channel.ts';
import { createSchemaChecks } from '../json-schema/schema-checks.ts';
import { PRESENT_EVERY_MS } from '../catalog/presence.ts';
import type { Startable } from '../lifecycle.ts';
import { queuedDefinitions } from '../extend/modules.ts';
import { modelLanes, modelProviders, wireModels } from './model-wiring.ts';
import { confirmations } from '../queue/durability.ts';
import { customLane, toolLane } from '../catalog/route.ts';
import { wireTools } from './tool-wiring.ts';
import { createThreadedHeartbeat } from '../worker/threaded-heartbeat.ts';
import { createCircuitBreaker, DEFAULT_BREAKER } from '../worker/circuit-breaker.ts';
import { createCancelListener } from '../worker/cancel-listener.ts';
import type { Heartbeat } from '../worker/heartbeat.ts';
import { createReachLog } from '../worker/reach-log.ts';
import { createRunningAttempts } from '../worker/running-attempts.ts';
import { createWorker, type ServedLane, type Worker } from '../worker/worker.ts';

/** Directives of one user's kind at once in one worker. */
const CUSTOM_CONCURRENCY = 50;

/** Attempts at once, with room for those that were told to stop and have not yet. */
function attemptSlots(ground: SharedParts): number {
  return servedLanes(ground).reduce((sum, { concurrency }) => sum + 2 * concurrency, 64);
}

function heartbeatOf(ground: SharedParts): Heartbeat {
  const { config, redisUrl, onError } = ground;
  const { prefix, worker } = config;
  const slots = attemptSlots(ground);
  return createThreadedHeartbeat({
    redisUrl,
    prefix,
    leaseMs: worker.lease_ms,
    blockedMs: worker.blocked_ms,
    slots,
    onError,
  });
}

function servedLanes({ config, modules }: SharedParts): ServedLane[] {
  const tools = [...config.mcpServers].map(([name, { lane, serial }]) => ({
    name: toolLane(name),
    concurrency: serial ? 1 : lane.concurrency,
    globalConcurrency: serial ? 1 : (lane.global_concurrency ?? null),
    rate: lane.rate ?? null,
    serial,
  }));
  const own = queuedDefinitions(modules).map(({ type }) => ({
    name: customLane(type),
    concurrency: CUSTOM_CONCURRENCY,
    globalConcurrency: null,
    rate: null,
  }));
  return [...tools, ...modelLanes(config), ...own];
}

/** What executes: tools, models and users' own kinds. */
function executionParts(ground: SharedParts, parts: JournalParts) {
  const { config, logger, onError } = ground;
  const providers = modelProviders(config);
  const schemas = createSchemaChecks({ limitMs: config.limits.schema_check_ms });
  const tools = wireTools({ config, catalog: parts.catalog, logger, schemas, onError });
  const models = wireModels({ config, providers, ...parts, schemas, onError });
  const own = queuedDefinitions(ground.modules);
  const registry = createRegistry([
    toolExec(tools),
    ...models.calls,
    emitToolError,
    emitRequestError,
    ...own,
  ]);
  const checks = { name: 'schema checks', start: () => Promise.resolve(), stop: () => schemas.stop() };
  return { tools, models, registry, checks };
}

export interface WorkerWiring {
  worker: Worker;
  /** Whether cancellations are heard as they are announced. */
  hearing(): Hearing;
  parts: Startable[];
}

/** The parts of a worker, in the order of their start. Throws `ConfigError` when a provider has no key. */
export function workerParts(ground: SharedParts): WorkerWiring {
  const { connection, part } = open(ground, 'commands', 'worker connection');
  const parts = journalParts(connection, ground);
  const { tools, models, registry, checks } = executionParts(ground, parts);
  const listening = open(ground, 'subscriber', 'worker subscriber');
  const running = createRunningAttempts();
  const reach = createReachLog(ground.logger);
  const breaker = createCircuitBreaker({
    ...DEFAULT_BREAKER,
    onChange: (lane, pauseMs) => {
      worker.pauseLane(lane, pauseMs);
      tools.noteBlocked(lane, pauseMs);
      models.noteBlocked(lane, pauseMs);
      reach.note(lane, pauseMs);
    },
  });
  const confirm = confirmations(connection, ground.config.durability);
  const worker = createWorker({ ...parts, ...settings(ground), registry, running, confirm, breaker });
  const lanes = servedLanesPart(parts.lanes, servedLanes(ground));
  const start = (): Promise<void> => tools.announce().then(() => tools.pool.start());
  const stop = (): Promise<void> => tools.leave().then(() => tools.pool.stop());
  const pool = { name: 'mcp pool', start, stop };
  const cancels = createCancelListener(
    { listening: listening.connection, publishing: connection },
    parts.keys,
    running,
  );
  const sweeper = sweeperPart(parts, ground);
  const before = [part, listening.part, lanes, sweeper, models.announcer, checks, pool, cancels];
  return { worker, hearing: cancels.hearing, parts: [...before, worker] };
}

/** Share of a lease, so that BullMQ has let go of a dead worker's job when its lease ends, and the sweeper can ring anew. */
const LOCK_PER_LEASE = 0.6;

function lockMsFor(leaseMs: number): number {
  return Math.min(JOB_LOCK_MS, Math.ceil(leaseMs * LOCK_PER_LEASE));
}

/** Says that the lanes are used: what nobody uses is removed, with the limits that a worker gave it. */
function servedLanesPart(lanes: JournalParts['lanes'], served: readonly ServedLane[]): Startable {
  const names = served.map(({ name }) => name);
  let timer: NodeJS.Timeout | undefined;
  return {
    name: 'worker lanes',
    start: () => {
      lanes.note(names);
      timer = setInterval(() => lanes.note(names), PRESENT_EVERY_MS);
      timer.unref();
      return Promise.resolve();
    },
    stop: () => {
      clearInterval(timer);
      return lanes.close();
    },
  };
}

function settings(ground: SharedParts) {
  const { config, logger, onError } = ground;
  const { limits, worker, prefix } = config;
  return {
    prefix,
    heartbeat: heartbeatOf(ground),
    resultBound: { bytes: limits.result_bytes, overflow: limits.result_overflow },
    leaseMs: worker.lease_ms,
    longestPauseMs: limits.pause_ms,
    serves: servedLanes(ground),
    drainMs: worker.drain_ms,
    lockMs: lockMsFor(worker.lease_ms),
    stalledCheckMs: STALLED_CHECK_MS,
    logger,
    onError,
  };
}
