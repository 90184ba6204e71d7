// Joins the engine with the configuration: its core, its agents, and the parts of the journal and the queue it works on.
// Must never take a turn itself.
import { randomUUID } from 'node:crypto';
import type { AgentDefinition } from '../contract/agent-definition.ts';
import { DEFAULT_ALIASES } from '../contract/model-name.ts';
import { createCore } from '../engine/core/core.ts';
import type { EngineCore } from '../engine/transition.ts';
import { agentTools, knownAgents } from '../catalog/known-agents.ts';
import { createEngine, type Engine } from '../engine/engine.ts';
import { createRunStarter } from '../engine/run-start.ts';
import { createRunStore } from '../engine/run-store.ts';
import { createRunNotifier } from '../engine/run-notifier.ts';
import { type LocalWorker, NO_LOCAL_WORKER, type TurnLogger } from '../engine/turn.ts';
import { createRegistry } from '../executors/registry.ts';
import { emitRequestError } from '../executors/emit-request-error.ts';
import { emitToolError } from '../executors/emit-tool-error.ts';
import {
  type SharedParts,
  JOB_LOCK_MS,
  journalParts,
  open,
  STALLED_CHECK_MS,
  sweeperPart,
} from './ground.ts';
import { type AgentCatalog, createAgentCatalog } from '../catalog/agent-catalog.ts';
import { createConversationJournal } from '../journal/conversation-journal.ts';
import { createJournal } from '../journal/journal.ts';
import { keySpace } from '../journal/keys.ts';
import { createPayloadStore } from '../journal/payload-store.ts';
import { createModelCatalog } from '../catalog/model-catalog.ts';
import { PRESENT_EVERY_MS } from '../catalog/presence.ts';
import { createRunJournal } from '../journal/run-journal.ts';
import { createSweepIndex } from '../journal/sweep-index.ts';
import { createToolCatalog } from '../catalog/tool-catalog.ts';
import { wholeResults } from '../journal/whole-result.ts';
import type { Startable } from '../lifecycle.ts';
import { configuredModels } from './model-wiring.ts';
import { createCanceller } from '../queue/cancel.ts';
import { confirmations } from '../queue/durability.ts';
import { knownModels } from '../catalog/known-models.ts';
import { knownServers } from '../catalog/known-servers.ts';
import { createLanes } from '../queue/lanes.ts';
import { createPreparer, type Preparer } from '../queue/prepare.ts';
import { createRunWaker } from '../queue/run-wake.ts';
import type { RedisConnection } from '../redis/connection.ts';

export interface EngineWiring {
  engine: Engine;
  /** In the order of their start. */
  parts: Startable[];
}

export interface EngineWiringOptions extends Pick<SharedParts, 'config' | 'modules' | 'onError'> {
  core: EngineCore;
  connection: RedisConnection;
  preparer: Preparer;
  lockMs: number;
  stalledCheckMs: number;
  logger: TurnLogger;
  /** The worker of the same process. Default: none. */
  localWorker?: LocalWorker;
}

/** The engine of a process, on a connection of its own, so that a turn waits for nobody's blocking call. */
export function engineParts(ground: Omit<SharedParts, 'engine'>, localWorker: LocalWorker): EngineWiring {
  const { config, modules } = ground;
  const { connection, part } = open(ground, 'commands', 'engine connection');
  const keys = keySpace(config.prefix);
  const preparer = createPreparer({
    servers: knownServers(createToolCatalog(connection, keys), [...config.mcpServers.keys()]),
    models: knownModels(createModelCatalog(connection, keys), configuredModels(config)),
    executeImmediately: createRegistry([emitToolError, emitRequestError]).executeImmediately,
  });
  const { strategies, directives } = modules;
  const modelAliases = [...DEFAULT_ALIASES.keys(), ...config.models.keys()];
  const core = createCore({ strategies, directives, modelAliases });
  const limits = { lockMs: JOB_LOCK_MS, stalledCheckMs: STALLED_CHECK_MS };
  const { engine, parts } = wireEngine({ ...ground, ...limits, core, connection, preparer, localWorker });
  const own = { ...ground, engine };
  return { engine, parts: [part, sweeperPart(journalParts(connection, own), own), ...parts] };
}

export function wireEngine(options: EngineWiringOptions): EngineWiring {
  const { config, modules } = options;
  const turns = turnParts(options);
  const engine = createEngine({
    localWorker: NO_LOCAL_WORKER,
    ...options,
    ...turns,
    ...toOtherRuns(options, turns, (requestId, version) => void engine.wake(requestId, version)),
    prefix: config.prefix,
    concurrency: config.engine.concurrency,
    drainMs: config.engine.drain_ms,
  });
  const closing: Startable = {
    name: 'engine lanes',
    start: () => Promise.resolve(),
    stop: async () => {
      turns.index.flush();
      await turns.lanes.close();
    },
  };
  return {
    engine,
    parts: [closing, agentAnnouncer(turns.agentCatalog, modules.agents, options.onError), engine],
  };
}

/** Tells who starts runs which agents there are, for as long as the engine runs. */
function agentAnnouncer(
  catalog: AgentCatalog,
  agents: readonly AgentDefinition[],
  onError: (error: Error) => void,
): Startable {
  const engine = randomUUID();
  let timer: NodeJS.Timeout | undefined;
  return {
    name: 'agents',
    async start() {
      await catalog.publish(agents, engine);
      timer = setInterval(() => void catalog.publish(agents, engine).catch(onError), PRESENT_EVERY_MS);
      timer.unref();
    },
    async stop() {
      if (timer === undefined) return;
      clearInterval(timer);
      await catalog.deregister(engine).catch(onError);
    },
  };
}

/** What a turn reads and writes. */
function turnParts({ connection, config, modules }: EngineWiringOptions) {
  const keys = keySpace(config.prefix);
  const retentionMs = config.retention.closed_ms;
  const agentCatalog = createAgentCatalog(connection, keys);
  const requestBytes = config.limits.request_bytes;
  const runs = createRunJournal({ connection, keys, retentionMs, requestBytes });
  const lanes = createLanes(connection, config.prefix);
  return {
    agentCatalog,
    agents: knownAgents(agentCatalog, modules.agents),
    toolsOf: agentTools(createToolCatalog(connection, keys)),
    conversations: createConversationJournal({ connection, keys, retentionMs }),
    runs,
    store: createRunStore(runs, wholeResults(createPayloadStore({ connection, keys, requestBytes }))),
    index: createSweepIndex(connection, keys),
    lanes,
    waker: createRunWaker(lanes),
    confirm: confirmations(connection, config.durability),
    ordered: !connection.isCluster,
  };
}

/** What a turn does to other runs. It waits for no other turn: two that waited for each other would wait for ever. */
function toOtherRuns(
  { connection, config }: EngineWiringOptions,
  { runs, agents, index, lanes, confirm, ordered }: ReturnType<typeof turnParts>,
  wakeEngine: (requestId: string, version: number) => void,
) {
  const keys = keySpace(config.prefix);
  const wake = async (requestId: string, version: number): Promise<void> => wakeEngine(requestId, version);
  const retentionMs = config.retention.closed_ms;
  const requestBytes = config.limits.request_bytes;
  const journal = createJournal({ connection, keys, retentionMs, wakeRun: wake, requestBytes });
  const notifier = createRunNotifier(runs, wake);
  return {
    starter: createRunStarter({ runs, agents, index, wake, capacity: null, confirm, ordered, requestBytes }),
    notifier,
    canceller: createCanceller({ connection, keys, journal, index, lanes }),
    interrupt: async (requestId: string, reason: string): Promise<void> =>
      void (await notifier.cancel(requestId, reason)),
    wakeRun: (requestId: string): void => wakeEngine(requestId, 0),
  };
}
