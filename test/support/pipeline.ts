/** Submitters, workers and sweepers of one test on a real Redis, with executors that the test writes.
 *  It must never leave a worker behind: what it starts, it stops when it is disposed of. */
import {
  llmStreamSchema,
  toolExecSchema,
  type LlmStream,
  type ToolExec,
} from '../../src/contract/work-directive.ts';
import type { Signal } from '../../src/contract/signal.ts';
import type { ErrorEnvelope } from '../../src/contract/error-envelope.ts';
import { resultSchema } from '../../src/contract/result.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import {
  defineDirective,
  type DirectiveDefinition,
  type Execution,
  type ExecutionContext,
} from '../../src/executors/definition.ts';
import { createRegistry } from '../../src/executors/registry.ts';
import { createDeadLetterIndex } from '../../src/journal/dead-letter-index.ts';
import { DEFAULT_REQUEST_BYTES } from '../../src/journal/journal.ts';
import { createPayloadStore } from '../../src/journal/payload-store.ts';
import { createRunJournal } from '../../src/journal/run-journal.ts';
import { createSerialLanes } from '../../src/journal/serial-lanes.ts';
import { createEndRecorder } from '../../src/journal/end-recorder.ts';
import { createSweepIndex } from '../../src/journal/sweep-index.ts';
import { createLanes } from '../../src/queue/lanes.ts';
import { confirmations, type Durability } from '../../src/queue/durability.ts';
import { createRunWaker } from '../../src/queue/run-wake.ts';
import { createSweeper } from '../../src/queue/sweep.ts';
import { closeRedis, connectRedis } from '../../src/redis/connection.ts';
import type { AttemptParts } from '../../src/worker/claimed.ts';
import { createCircuitBreaker, DEFAULT_BREAKER } from '../../src/worker/circuit-breaker.ts';
import { createCancelListener } from '../../src/worker/cancel-listener.ts';
import type { Heartbeat } from '../../src/worker/heartbeat.ts';
import { createRunningAttempts } from '../../src/worker/running-attempts.ts';
import { createThreadedHeartbeat } from '../../src/worker/threaded-heartbeat.ts';
import { createWorker, type Worker } from '../../src/worker/worker.ts';
import { openJournal, RETENTION_MS, uniquePrefix } from './journal.ts';
import { SILENT } from '../../src/telemetry/logger.ts';

export const LANE = 'tool.test';

export type Execute = (directive: ToolExec, context: ExecutionContext) => Promise<Execution>;

export type WorkerUnderTest = Pick<Worker, 'canTake' | 'take' | 'pauseLane' | 'stop'>;

export interface TestWorkerOptions {
  leaseMs?: number;
  drainMs?: number;
  concurrency?: number;
  serial?: boolean;
  rate?: { max: number; per_ms: number };
  /** How long BullMQ keeps a job for a worker that does not answer, milliseconds. Default: 1 000. */
  lockMs?: number;
  heartbeat?: Heartbeat;
  /** Beside the `tool_exec`. Default: none. */
  definitions?: readonly DirectiveDefinition[];
  /** Default: that of the test's tool. */
  lanes?: readonly string[];
}

/** No heartbeat: leases expire under living attempts. */
export const stillHeart: Heartbeat = { watch: () => () => {}, close: () => {} };

/** The `tool_exec` of a test; its repeat policy is `once` by default. */
export function testTool(execute: Execute) {
  return defineDirective<ToolExec>({
    mode: 'queued',
    type: 'tool_exec',
    schema: toolExecSchema,
    repeatPolicy: async ({ effect = 'once' }) => effect,
    started: ({ id, tool_name }) => ({ call_id: id, tool_name, metadata: {} }),
    execute,
  });
}

export type Stream = (directive: LlmStream, context: ExecutionContext) => Promise<Execution>;

/** The `llm_stream` of a test, whose model is the code of the test. */
export function testModel(execute: Stream): DirectiveDefinition {
  return defineDirective<LlmStream>({
    mode: 'queued',
    type: 'llm_stream',
    schema: llmStreamSchema,
    repeatPolicy: async () => 'idempotent',
    started: () => null,
    execute,
  });
}

/** As in `DirectClientOptions`. */
export interface BytesLimits {
  requestBytes?: number;
  totalBytes?: number;
}

export type Pipeline = Awaited<ReturnType<typeof openPipeline>>;

export async function openPipeline(
  redisUrl: string,
  prefix = uniquePrefix(),
  durability: Durability = 'memory',
  { requestBytes = DEFAULT_REQUEST_BYTES, ...totals }: BytesLimits = {},
) {
  const open = await openJournal(redisUrl, prefix, requestBytes);
  const { connection, keys, journal } = open;
  const client = await createDirectClient({
    redisUrl,
    prefix,
    knownServers: ['test'],
    retentionMs: RETENTION_MS,
    durability,
    requestBytes,
    ...totals,
  });
  const index = createSweepIndex(connection, keys);
  const lanes = createLanes(connection, prefix);
  const runs = createRunJournal({ connection, keys, retentionMs: RETENTION_MS, requestBytes });
  const dead = createDeadLetterIndex(connection, keys);
  const ends = createEndRecorder(index, dead);
  const closing: (() => Promise<void>)[] = [];
  const errors: Error[] = [];
  const warnings: string[] = [];

  /** What an attempt needs, for tests that create jobs themselves. */
  function attemptParts(
    execute: Execute,
    { leaseMs = 10_000, heartbeat, definitions = [] }: TestWorkerOptions = {},
  ): AttemptParts {
    const onError = (error: Error): void => void errors.push(error);
    const beating = heartbeat ?? createThreadedHeartbeat({ redisUrl, prefix, leaseMs, onError });
    closing.push(async () => beating.close());
    return {
      records: {
        journal,
        index,
        serial: createSerialLanes(connection, keys, journal),
        ends,
        payloads: createPayloadStore({ connection, keys, requestBytes }),
      },
      registry: createRegistry([testTool(execute), ...definitions]),
      heartbeat: beating,
      running: createRunningAttempts(),
      confirm: confirmations(connection, durability),
      lanes,
      breaker: createCircuitBreaker({ ...DEFAULT_BREAKER, firstPauseMs: 100, onChange: () => {} }),
      limits: {
        result: { bytes: 1_048_576, overflow: 'truncate' },
        leaseMs,
        longestPauseMs: 300_000,
      },
      logger: { ...SILENT, warn: (_fields, message) => void warnings.push(message) },
    };
  }

  async function startWorker(execute: Execute, options: TestWorkerOptions = {}): Promise<WorkerUnderTest> {
    const own = connectRedis(redisUrl, 'commands');
    const listening = connectRedis(redisUrl, 'subscriber');
    const parts = attemptParts(execute, options);
    const cancels = createCancelListener({ listening, publishing: connection }, keys, parts.running);
    const {
      concurrency = 50,
      serial = false,
      drainMs = 30_000,
      lanes: served = [LANE],
      rate = null,
      lockMs = 1_000,
    } = options;
    const worker = createWorker({
      attempt: parts,
      connection: own,
      prefix,
      serves: served.map((name) => ({
        name,
        concurrency,
        globalConcurrency: serial ? 1 : null,
        rate,
        serial,
      })),
      drainMs,
      lockMs,
      stalledCheckMs: 300,
      onError: (error) => void errors.push(error),
    });
    await cancels.start();
    await worker.start();
    closing.push(async () => {
      await worker.stop();
      await Promise.all([closeRedis(own), closeRedis(listening)]);
    });
    return worker;
  }

  function sweeper(intervalMs = 50) {
    const made = createSweeper({
      journal,
      runs,
      index,
      lanes,
      waker: createRunWaker(lanes),
      dead,
      ends,
      retentionMs: RETENTION_MS,
      intervalMs,
      onError: (error) => void errors.push(error),
    });
    closing.push(() => made.stop());
    return made;
  }

  async function log(requestId: string): Promise<Signal[]> {
    return (await journal.log.read(requestId, 0, { limit: 10_000, bytes: 100_000_000 })).signals;
  }

  /** Jobs of a lane in any state. */
  async function jobs(lane: string = LANE): Promise<number> {
    const { waiting, active, delayed } = await lanes.counts(lane);
    return waiting + active + delayed;
  }

  /** Every key of a request without an expiry. */
  async function keysWithoutExpiry(): Promise<string[]> {
    const found = await connection.keys(`${prefix}:{*`);
    const expiries = await Promise.all(found.map((key) => connection.pttl(key)));
    return found.filter((_, position) => expiries[position] === -1);
  }

  return {
    prefix,
    connection,
    keys,
    journal,
    index,
    dead,
    lanes,
    client,
    errors,
    warnings,
    attemptParts,
    startWorker,
    sweeper,
    log,
    jobs,
    keysWithoutExpiry,
    async [Symbol.asyncDispose](): Promise<void> {
      for (const close of closing.toReversed()) await close();
      await lanes.close();
      await client.close();
      await open[Symbol.asyncDispose]();
    },
  };
}

/** The error a directive ended with; fails the test when it succeeded. */
export function errorOf(signal: Signal | null): ErrorEnvelope {
  const result = resultSchema.safeParse(signal && 'result' in signal.data ? signal.data.result : null);
  if (result.success && !result.data.ok) return result.data.error;
  throw new Error(`no failure: ${JSON.stringify(signal)}`);
}

/** A promise for each moment that a test waits for. */
export function gate(): { open(): void; passed: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, passed: promise };
}
