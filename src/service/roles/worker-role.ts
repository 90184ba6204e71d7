// The worker of a store: its attempts, its heartbeat, its breaker, and its subscription to cancellations. Never makes
// an attempt itself.
import type { Config } from '../../config/config.ts';
import { type CallPolicy, createCallPolicy } from '../../features/policy/call-policy.ts';
import { requireEncryptionKeys } from '../../config/encryption.ts';
import type { PayloadKeys } from '../../platform/encryption/payload-keys.ts';
import type { Registry } from '../../worker/executors/registry.ts';
import type { Hearing } from '../../store/log/channel.ts';
import type { Startable } from '../../platform/lifecycle.ts';
import { createHandOver } from '../../queue/hand-over.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import { createCancelListener } from '../../worker/cancel-listener.ts';
import { createCircuitBreaker, DEFAULT_BREAKER } from '../../worker/circuit-breaker.ts';
import type { AttemptLimits } from '../../worker/attempt/claimed.ts';
import { countingAttempts, createLaneRates } from '../../worker/lane-rates.ts';
import { createReachLog } from '../../worker/reach-log.ts';
import { createRunningAttempts } from '../../worker/attempt/running-attempts.ts';
import { createThreadedHeartbeat, type Heartbeat } from '../../worker/threaded-heartbeat.ts';
import { createWorker, type ServedLane, type Worker } from '../../worker/worker.ts';
import { contentCharacters, type Execution } from './execution.ts';
import { JOB_LOCK_MS, STALLED_CHECK_MS } from './roles.ts';
import { payloadKeysOf } from '../payload-keys.ts';
import { callLoginsOf } from '../personal-logins.ts';
import { rulesOfCalls } from '../runtime-definitions.ts';
import type { Store } from '../store.ts';

export interface WorkerSettings {
  config: Config;
  redisUrl: string;
  logger: Logger;
  onError: (error: Error) => void;
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
  executes: Pick<Execution, 'lanes' | 'noteBlocked' | 'watchReach'> & { registry: Registry },
  settings: WorkerSettings,
): WorkerRole {
  const { connection, keys } = store;
  const running = createRunningAttempts();
  const rates = createLaneRates();
  const reach = createReachLog(settings.logger);
  const breaker = createCircuitBreaker({
    ...DEFAULT_BREAKER,
    onChange(...change) {
      for (const note of [worker.pauseLane, executes.noteBlocked, reach.note]) note(...change);
    },
  });
  const subscription = { listening, publishing: connection, onError: settings.onError };
  const handOver = createHandOver(subscription, keys);
  const policy = policyOf(store, settings);
  const worker = createWorker({
    ...workerSettings(settings),
    serves: executes.lanes,
    connection,
    keys,
    handOver,
    attempt: {
      ...recordingOf(store),
      registry: executes.registry,
      heartbeat: heartbeatOf(keys.prefix, executes.lanes, settings),
      running,
      breaker,
      ...attemptSettings(settings),
      policy,
      logins: callLoginsOf(store, settings.config),
      logger: settings.logger,
      reports: countingAttempts(store.reports, rates),
    },
    rates,
  });
  executes.watchReach(breaker);
  const cancels = createCancelListener(subscription, keys, running);
  const sweeping = policy === null ? [] : [policy.sweeping];
  return { worker, hearing: cancels.hearing, parts: [...sweeping, cancels, handOver, worker] };
}

/** null: there are no rules about calls. */
function policyOf(
  { connection, keys, records }: Store,
  { config, onError }: WorkerSettings,
): CallPolicy | null {
  const rulesOf = rulesOfCalls(connection, config);
  if (rulesOf === null) return null;
  return createCallPolicy({ connection, keys, journal: records.journal, rulesOf, onError });
}

function recordingOf({ records, queue, spans, endNotices }: Store) {
  const { lanes, gated, confirm, callNotice } = queue;
  return { records, lanes, gated, confirm, callNotice, endNotices, spans };
}

/** Share of a lease, so that BullMQ has let go of a dead worker's job when its lease ends, and the sweeper can enqueue it anew. */
const LOCK_PER_LEASE = 0.6;

function lockMsFor(leaseMs: number): number {
  return Math.min(JOB_LOCK_MS, Math.ceil(leaseMs * LOCK_PER_LEASE));
}

function workerSettings(settings: WorkerSettings) {
  const { worker } = settings.config;
  return {
    drainMs: worker.drain_ms,
    lockMs: lockMsFor(worker.lease_ms),
    stalledCheckMs: STALLED_CHECK_MS,
    onError: settings.onError,
  };
}

/** Throws `ConfigError` when they are asked for and missing. */
function workerKeys(config: Config): PayloadKeys {
  requireEncryptionKeys(config);
  return payloadKeysOf(config);
}

function attemptSettings(settings: WorkerSettings) {
  return { limits: attemptLimits(settings), encryption: workerKeys(settings.config) };
}

function attemptLimits({ config }: WorkerSettings): AttemptLimits {
  const { limits, worker } = config;
  return {
    result: { bytes: limits.result_bytes, overflow: limits.result_overflow },
    contentCharacters: contentCharacters(config),
    leaseMs: worker.lease_ms,
    pauses: {
      longestMs: limits.pause_ms,
      count: limits.pauses.count,
      totalMs: limits.pauses.total_ms,
    },
  };
}

function heartbeatOf(
  prefix: string,
  lanes: readonly ServedLane[],
  { config, redisUrl, onError }: WorkerSettings,
): Heartbeat {
  // With room for attempts that were told to stop and have not yet.
  const { enabled, most, concurrency: each } = config.runtime_servers;
  const added = enabled ? 2 * most * each : 0;
  const slots = lanes.reduce((sum, { concurrency }) => sum + 2 * concurrency, 64 + added);
  const { lease_ms: leaseMs, blocked_ms: blockedMs } = config.worker;
  return createThreadedHeartbeat({ redisUrl, prefix, leaseMs, blockedMs, slots, onError });
}
