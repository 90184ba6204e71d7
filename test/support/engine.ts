/** Engines, a worker and run clients of one test on a real Redis, with strategies that the test chooses.
 *  It must never leave an engine behind: what it starts, it stops when it is disposed of. */
import { randomUUID } from 'node:crypto';
import { defineAgent } from '../../src/agents/define-agent.ts';
import { createRunClient } from '../../src/agents/run-client.ts';
import { createRunStarter } from '../../src/agents/run-start.ts';
import { createRunStore } from '../../src/agents/turn/run-store.ts';
import { createRunNotifier, type Notification } from '../../src/agents/run-notifier.ts';
import type { EngineCore } from '../../src/agents/turn/transition.ts';
import { type Logger, SILENT } from '../../src/platform/telemetry/logger.ts';
import { NO_SPANS, type Spans } from '../../src/platform/telemetry/traces/spans.ts';
import { emitRequestError, emitToolError, emitToolResult } from '../../src/worker/executors/emit.ts';
import { createRegistry } from '../../src/worker/executors/registry.ts';
import { createJournal, DEFAULT_REQUEST_BYTES } from '../../src/store/request/journal.ts';
import type { SubmittedAgentDefinition } from '../../src/contract/run/agent-definition.ts';
import { okResult } from '../../src/contract/result.ts';
import type { RunJournal } from '../../src/store/run/run-journal.ts';
import { createPreparer } from '../../src/directives/prepare.ts';
import { createEntrance } from '../../src/queue/entrance.ts';
import type { WakeRun } from '../../src/queue/run-wake.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis/connection.ts';
import { createEngineRole } from '../../src/service/roles/engine-role.ts';
import type { PayloadKeys } from '../../src/platform/encryption/payload-keys.ts';
import { RETENTION_MS, uniquePrefix } from './journal.ts';
import type { Execute } from './executors.ts';
import { openPipeline, stillHeart, TEST_KEYS, type TestWorkerOptions } from './pipeline.ts';
import { scriptedAgent, scriptedCore, scriptedTools } from './scripted-strategy.ts';
import { testStore } from './store.ts';

export interface TestEngine {
  stop(): Promise<void>;
}

export interface EngineTestOptions {
  prefix?: string;
  core?: EngineCore;
  agents?: readonly SubmittedAgentDefinition[];
  /** As in `JournalOptions`. */
  requestBytes?: number;
  /** Of its client. Default: nothing is traced. */
  spans?: Spans;
}

export type EngineTest = Awaited<ReturnType<typeof openEngineTest>>;

/** A tool that answers with its name. */
export const echo: Execute = async ({ tool_name }) => ({ result: okResult(tool_name) });

/** Limit of a run on a busy machine, as long as that of `eventually`. */
const LONGEST_RUN_MS = 90_000;
/** A heartbeat is a thread, which costs more than most runs: these leases outlive any test. */
const NO_HEARTBEAT = { heartbeat: stillHeart, leaseMs: 60_000 };

interface EngineParts {
  logger?: Logger;
  payloadKeys?: PayloadKeys;
  onError?: (error: Error) => void;
  /** What its turns are read from and written to. */
  runsOf?: (runs: RunJournal) => RunJournal;
}

/** An engine on its own connection, as the service makes one; `over` replaces parts of it. */
export function makeEngine(
  redisUrl: string,
  prefix: string,
  {
    core = scriptedCore(),
    agents = [scriptedAgent()],
    requestBytes = DEFAULT_REQUEST_BYTES,
    logger = SILENT,
    onError = () => {},
    payloadKeys = TEST_KEYS,
    runsOf = (runs) => runs,
  }: Omit<EngineTestOptions, 'prefix' | 'spans'> & EngineParts = {},
) {
  const connection = connectRedis(redisUrl, 'commands');
  const made = testStore(connection, { prefix, agents, requestBytes });
  const store = { ...made, records: { ...made.records, runs: runsOf(made.records.runs) } };
  const { executeImmediately } = createRegistry([emitToolError, emitToolResult, emitRequestError]);
  const listening = connectRedis(redisUrl, 'subscriber');
  const engine = createEngineRole(store, listening, {
    core,
    preparer: createPreparer(store.catalog, executeImmediately),
    payloadKeys,
    requestBytes,
    concurrency: 10,
    drainMs: 10_000,
    lockMs: 3_000,
    stalledCheckMs: 300,
    logger,
    onError,
  });
  const closing = {
    name: 'store',
    start: () => Promise.resolve(),
    async stop() {
      await store.close();
      await closeRedis(listening);
    },
  };
  return { connection, parts: [closing, engine] };
}

export async function openEngineTest(redisUrl: string, options: EngineTestOptions = {}) {
  const { prefix = uniquePrefix(), core = scriptedCore(), agents = [scriptedAgent()] } = options;
  const { spans = NO_SPANS } = options;
  const requestBytes = options.requestBytes ?? DEFAULT_REQUEST_BYTES;
  const pipeline = await openPipeline(redisUrl, { prefix, requestBytes });
  const { connection, keys, errors, lanes } = pipeline;
  const { records, queue, catalog } = pipeline.store;
  const { runs } = records;
  const { agents: known } = catalog;
  await catalog.published.agents.publish(agents.map(defineAgent));
  await catalog.published.tools.publish(scriptedTools());
  const closing: (() => Promise<void>)[] = [];

  /** A client that wakes runs of which something new is to be read in its own way. */
  function client(wake: WakeRun = queue.wakeRun) {
    const { index, later } = records;
    const entrance = createEntrance({
      index,
      later,
      lanes,
      gated: queue.gated,
      confirm: async () => null,
      ordered: !connection.isCluster,
    });
    const notifier = createRunNotifier(runs, wake, index);
    const { cancel: cancelRun } = notifier;
    const { keptMs } = records.journal;
    const under = { index, keptMs, cancelRun, spans };
    return createRunClient({
      runs,
      journal: records.journal,
      dead: records.dead,
      entrance,
      log: records.journal.log,
      store: createRunStore(runs),
      starter: createRunStarter({ ...under, runs, agents: known, entrance, capacity: null, requestBytes }),
      requireMemory: () => Promise.resolve(),
      requestBytes,
      notifier,
      agents: known,
      view: core.view,
    });
  }

  async function startEngine(
    over: Pick<EngineParts, 'payloadKeys' | 'runsOf'> & { core?: EngineCore } = {},
  ): Promise<TestEngine> {
    const onError = (error: Error): void => void errors.push(error);
    const made = makeEngine(redisUrl, prefix, { core, agents, requestBytes, onError, ...over });
    for (const part of made.parts) await part.start();
    let stopped: Promise<void> | undefined;
    const stop = async (): Promise<void> => {
      for (const part of made.parts.toReversed()) await part.stop();
      await closeRedis(made.connection);
    };
    const once = (): Promise<void> => (stopped ??= stop());
    closing.push(once);
    return { stop: once };
  }

  /** Serves the lane of the test's tools; ends wake runs as `wake` does. */
  const startWorker = (execute: Execute, wakeRun: WakeRun = queue.wakeRun, more: TestWorkerOptions = {}) =>
    pipeline.startWorker(execute, { drainMs: 1_000, ...NO_HEARTBEAT, ...more, wakeRun });

  /** The log of a request once its run has ended; fails when it does not. */
  async function ended(requestId: string) {
    const until = Date.now() + LONGEST_RUN_MS;
    for (;;) {
      const head = await runs.head(requestId);
      if (head?.ended) return pipeline.log(requestId);
      if (Date.now() > until) {
        const types = (await pipeline.log(requestId)).map(({ type }) => type);
        throw new Error(`the run of ${requestId} has not ended: ${JSON.stringify({ head, types, errors })}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  return {
    ...pipeline,
    agents: known,
    runs,
    wake: queue.wakeRun,
    client: client(),
    clientWith: client,
    requests: pipeline.client,
    tell: (requestId: string, telling: Notification) =>
      createRunNotifier(runs, queue.wakeRun, records.index).notify(requestId, telling, { cause: requestId }),
    wakingJournal: (wakeRun: WakeRun) =>
      createJournal({ connection, keys, retentionMs: RETENTION_MS, wakeRun }),
    startEngine,
    startWorker,
    ended,
    newId: () => `r-${randomUUID().slice(0, 8)}`,
    async [Symbol.asyncDispose](): Promise<void> {
      for (const close of closing.toReversed()) await close();
      await pipeline[Symbol.asyncDispose]();
    },
  };
}
