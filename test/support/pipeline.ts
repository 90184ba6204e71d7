/** A client, workers and sweepers of one test on a real Redis, with executors that the test writes.
 *  It must never leave a worker behind: what it starts, it stops when it is disposed of. */
import { createRunNotifier } from '../../src/agents/run-notifier.ts';
import { randomUUID } from 'node:crypto';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import type { ErrorEnvelope } from '../../src/contract/error-envelope.ts';
import { DirectiveRefused, type Problem } from '../../src/contract/problem.ts';
import { resultSchema } from '../../src/contract/result.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import type { DirectiveDefinition } from '../../src/worker/executors/definition.ts';
import { createRegistry } from '../../src/worker/executors/registry.ts';
import { prepareScripts } from '../../src/store/scripts.ts';
import { createJournal, DEFAULT_REQUEST_BYTES } from '../../src/store/request/journal.ts';
import { confirmations } from '../../src/queue/durability.ts';
import { createHandOver } from '../../src/queue/hand-over.ts';
import type { WakeRun } from '../../src/queue/run-wake.ts';
import { createLaneWaits } from '../../src/queue/lane-waits.ts';
import { createSweeper, type SweeperOptions } from '../../src/directives/sweep/sweep.ts';
import { NO_SPANS, type Spans } from '../../src/platform/telemetry/traces/spans.ts';
import { createRunWaitSayer, createWaitSayer } from '../../src/directives/sweep/sweep-waits.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis/connection.ts';
import { createDirectClient, type DirectClientOptions } from '../../src/service/direct-client.ts';
import { SILENT } from '../../src/platform/telemetry/logger.ts';
import { NO_REPORTS } from '../../src/platform/telemetry/reports.ts';
import { attemptDirective } from '../../src/worker/attempt/attempt.ts';
import { createCancelListener } from '../../src/worker/cancel-listener.ts';
import { createCircuitBreaker, DEFAULT_BREAKER } from '../../src/worker/circuit-breaker.ts';
import type { AttemptParts } from '../../src/worker/attempt/claimed.ts';
import { createSteps } from '../../src/platform/bounds/steps.ts';
import { createAesCodec } from '../../src/platform/encryption/aes-codec.ts';
import { NO_KEYS, type PayloadKeys } from '../../src/platform/encryption/payload-keys.ts';
import { createRunningAttempts } from '../../src/worker/attempt/running-attempts.ts';
import { createThreadedHeartbeat, type Heartbeat } from '../../src/worker/threaded-heartbeat.ts';
import { createWorker, type Worker } from '../../src/worker/worker.ts';
import { done, type Execute, testTool } from './executors.ts';
import { jobOf, LANE, RETENTION_MS, uniquePrefix } from './journal.ts';
import { openStore, type TestStoreOptions } from './store.ts';

export interface TestWorkerOptions {
  leaseMs?: number;
  drainMs?: number;
  concurrency?: number;
  serial?: boolean;
  rate?: { max: number; per_ms: number };
  /** How long BullMQ keeps a job for a worker that does not answer, milliseconds. Default: 1 000. */
  lockMs?: number;
  heartbeat?: Heartbeat;
  /** How long calls of an unreachable server stop its lane at first, milliseconds. Default: 100. */
  outageMs?: number;
  /** Default: nothing is traced. */
  spans?: Spans;
  /** Beside the `tool_exec`. Default: none. */
  definitions?: readonly DirectiveDefinition[];
  /** Default: that of the test's tool. */
  lanes?: readonly string[];
  /** What the ends of a run's directives wake. Default: a job for any engine. */
  wakeRun?: WakeRun;
  /** As a process that is a worker alone: what others accept may be handed over to it. Default: it takes jobs only. */
  isHanded?: boolean;
  /** Longest pause of a directive or lane, milliseconds. Default: 300 000. */
  pauseMs?: number;
  /** Most pauses of a directive after refused calls. Default: 10. */
  pauseCount?: number;
  /** As in `ServedLane`. */
  mayRepeat?: boolean;
}

/** No heartbeat: leases expire under living attempts. */
export const stillHeart: Heartbeat = { watch: () => () => {}, close: () => {} };

/** Of every worker and engine of a test. */
export const TEST_KEYS: PayloadKeys = {
  ...NO_KEYS,
  codec: {
    ...createAesCodec(`k1=${Buffer.alloc(32, 1).toString('base64')}`),
    nextStep: createSteps(),
  },
};

export interface PipelineOptions extends TestStoreOptions {
  /** Of its client. */
  client?: Partial<DirectClientOptions>;
}

export type Pipeline = Awaited<ReturnType<typeof openPipeline>>;

export async function openPipeline(redisUrl: string, options: PipelineOptions = {}) {
  const { prefix = uniquePrefix(), durability = 'memory', requestBytes = DEFAULT_REQUEST_BYTES } = options;
  const { streamEntries } = options;
  const kept = { durability, requestBytes, retentionMs: RETENTION_MS };
  const open = await openStore(redisUrl, { ...options, prefix });
  const { connection, keys, store } = open;
  const streamed = streamEntries === undefined ? {} : { streamEntries };
  const streams =
    streamEntries === undefined ? undefined : { key: keys.signals('default'), maxEntries: streamEntries };
  const { records, queue } = store;
  const closing: (() => Promise<void>)[] = [];
  const errors: Error[] = [];
  const onError = (error: Error): void => void errors.push(error);
  const warnings: string[] = [];

  /** Another process that submits to the same lanes. */
  async function submitter(more: Partial<DirectClientOptions> = {}) {
    const made = await createDirectClient({
      redisUrl,
      prefix,
      knownServers: ['test'],
      ...kept,
      ...streamed,
      ...more,
    });
    closing.push(() => made.close());
    return made;
  }

  /** What an attempt needs, for tests that create jobs themselves. */
  function attemptParts(
    execute: Execute = async () => done,
    {
      leaseMs = 10_000,
      heartbeat,
      definitions = [],
      spans = NO_SPANS,
      outageMs = 100,
      pauseMs = 300_000,
      pauseCount = 10,
    }: TestWorkerOptions = {},
  ): AttemptParts {
    const beating = heartbeat ?? createThreadedHeartbeat({ redisUrl, prefix, leaseMs, onError });
    closing.push(async () => beating.close());
    return {
      records,
      registry: createRegistry([testTool(execute), ...definitions]),
      heartbeat: beating,
      running: createRunningAttempts(),
      confirm: queue.confirm,
      policy: null,
      logins: null,
      lanes: queue.lanes,
      gated: queue.gated,
      spans,
      breaker: createCircuitBreaker({ ...DEFAULT_BREAKER, firstPauseMs: outageMs, onChange: () => {} }),
      encryption: TEST_KEYS,
      limits: {
        result: { bytes: 1_048_576, overflow: 'truncate' },
        leaseMs,
        pauses: { longestMs: pauseMs, count: pauseCount, totalMs: 3_600_000 },
      },
      logger: { ...SILENT, warn: (_fields, message) => void warnings.push(message) },
      reports: NO_REPORTS,
    };
  }

  async function startWorker(
    execute: Execute,
    options: TestWorkerOptions = {},
  ): Promise<Pick<Worker, 'pauseLane' | 'stop'>> {
    const own = connectRedis(redisUrl, 'commands');
    prepareScripts(own, streams);
    const listening = connectRedis(redisUrl, 'subscriber');
    const made = attemptParts(execute, options);
    const { wakeRun = queue.wakeRun } = options;
    const journal = createJournal({ connection: own, keys, ...kept, wakeRun });
    // Of the connection that claims: what Redis confirms to another one was not written by this one.
    const confirm = confirmations(own, durability);
    const attempt = { ...made, confirm, records: { ...made.records, journal } };
    const cancels = createCancelListener(
      { listening, publishing: connection, onError },
      keys,
      attempt.running,
    );
    const handOver = createHandOver({ listening, publishing: connection, onError }, keys);
    const worker = createWorker({
      attempt,
      connection: own,
      keys,
      handOver: options.isHanded === true ? handOver : undefined,
      serves: servedLanes(options),
      drainMs: options.drainMs ?? 30_000,
      lockMs: options.lockMs ?? 3_000,
      stalledCheckMs: 300,
      onError,
    });
    await cancels.start();
    if (options.isHanded === true) await handOver.start();
    await worker.start();
    closing.push(async () => {
      await worker.stop();
      await handOver.stop();
      await cancels.stop();
      await Promise.all([closeRedis(own), closeRedis(listening)]);
    });
    return worker;
  }

  function sweeper(
    intervalMs = 50,
    spans: Spans = NO_SPANS,
    more: Pick<SweeperOptions, 'onTaskGivenUp'> = {},
  ) {
    const waits = createLaneWaits({ catalog: store.catalog, lanes: queue.lanes });
    const made = createSweeper({
      ...records,
      lanes: queue.lanes,
      gated: queue.gated,
      waker: queue.waker,
      canceller: queue.canceller,
      sayWait: createWaitSayer({ journal: records.journal, waits }),
      sayRunWait: createRunWaitSayer({ ...records, waits }),
      waits,
      cancelRun: createRunNotifier(records.runs, queue.wakeRun, records.index).cancel,
      spans,
      retentionMs: RETENTION_MS,
      intervalMs,
      onError,
      ...more,
    });
    closing.push(() => made.stop());
    return made;
  }

  const client = await submitter(options.client);
  return {
    ...open,
    prefix,
    client,
    errors,
    warnings,
    submitter,
    attemptParts,
    startWorker,
    sweeper,
    /** How the attempt of one job ends. */
    attempt: (parts: AttemptParts, call: Parameters<typeof jobOf>[0]) => attemptDirective(parts, jobOf(call)),
    resultOf: ({ request_id, id }: Named) => client.result(request_id, id),
    recordOf: ({ request_id, id }: Named) => open.journal.directive(request_id, id),
    /** The types of the signals of its request. */
    async typesOf({ request_id }: Pick<Named, 'request_id'>): Promise<string[]> {
      return (await open.log(request_id)).map(({ type }) => type);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      for (const close of closing.toReversed()) await close();
      await open[Symbol.asyncDispose]();
    },
  };
}

function servedLanes({
  concurrency = 50,
  serial = false,
  lanes = [LANE],
  rate,
  mayRepeat = false,
}: TestWorkerOptions) {
  const globalConcurrency = serial ? 1 : null;
  return lanes.map((name) => ({
    name,
    concurrency,
    globalConcurrency,
    rate: rate ?? null,
    serial,
    mayRepeat,
  }));
}

interface Named {
  request_id: string;
  id: string;
}

export type Call = Extract<SubmittedDirective, { type: 'tool_exec' }> & Named;

/** A call of the test's tool, as a caller submits it. */
export function call(fields: Partial<Call> = {}): Call {
  return { type: 'tool_exec', tool_name: 'test.echo', id: 'a', request_id: randomUUID(), ...fields };
}

/** Calls `c-0`, `c-1`… of one request. */
export function calls(count: number, fields: Partial<Call> = {}): Call[] {
  const request_id = randomUUID();
  return Array.from({ length: count }, (_, number) => call({ request_id, id: `c-${number}`, ...fields }));
}

/** The error a directive ended with; fails the test when it succeeded. */
export function errorOf(signal: Signal | null): ErrorEnvelope {
  const result = resultSchema.safeParse(signal && 'result' in signal.data ? signal.data.result : null);
  if (result.success && !result.data.ok) return result.data.error;
  throw new Error(`no failure: ${JSON.stringify(signal)}`);
}

/** Why a submission was refused; fails the test when it was not. */
export async function refusal(submitting: Promise<unknown>): Promise<Problem> {
  const error: unknown = await submitting.catch((reason: unknown) => reason);
  if (error instanceof DirectiveRefused) return error.problem;
  throw new Error(`not refused: ${String(error)}`);
}
