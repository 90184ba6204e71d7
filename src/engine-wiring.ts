// Joins the engine with the configuration: its core, its agents, and the parts of the journal and the queue it works on.
// Must never take a turn itself.
import type { Config } from './config.ts';
import type { EngineCore } from './engine/transition.ts';
import { agentTools, knownAgents } from './engine/agents.ts';
import { createEngine, type Engine } from './engine/engine.ts';
import { createRunStarter } from './engine/run-start.ts';
import { createRunStore } from './engine/run-store.ts';
import { createRunTeller } from './engine/run-teller.ts';
import type { TurnLogger } from './engine/turn.ts';
import { createAgentCatalog } from './journal/agent-catalog.ts';
import { createConversationJournal } from './journal/conversation-journal.ts';
import { createJournal } from './journal/journal.ts';
import { keySpace } from './journal/keys.ts';
import { createRunJournal } from './journal/run-journal.ts';
import { createSweepIndex } from './journal/sweep-index.ts';
import { createToolCatalog } from './journal/tool-catalog.ts';
import type { Startable } from './lifecycle.ts';
import type { Modules } from './modules.ts';
import { createCanceller } from './queue/cancel.ts';
import { confirmations } from './queue/durability.ts';
import { createLanes } from './queue/lanes.ts';
import type { Preparer } from './queue/prepare.ts';
import { createRunBell } from './queue/run-bell.ts';
import type { RedisConnection } from './redis.ts';

export interface EngineWiringOptions {
  config: Config;
  modules: Modules;
  core: EngineCore;
  connection: RedisConnection;
  preparer: Preparer;
  lockMs: number;
  stalledCheckMs: number;
  logger: TurnLogger;
  onError: (error: Error) => void;
}

export interface EngineWiring {
  engine: Engine;
  /** In the order of their start. */
  parts: Startable[];
}

export function wireEngine(options: EngineWiringOptions): EngineWiring {
  const { config, connection } = options;
  const { prefix } = config;
  const keys = keySpace(prefix);
  const retentionMs = config.retention.closed_ms;
  const catalog = createAgentCatalog(connection, keys);
  const index = createSweepIndex(connection, keys);
  const lanes = createLanes(connection, prefix);
  // A turn waits for no other turn: two that waited for each other would wait for ever.
  const rouse = (requestId: string, version = 0): void => void engine.wake(requestId, version);
  const wake = async (requestId: string, version: number): Promise<void> => rouse(requestId, version);
  const journal = createJournal({ connection, keys, retentionMs, wakeRun: wake });
  const runs = createRunJournal({ connection, keys, retentionMs });
  const agents = knownAgents(catalog, options.modules.agents);
  const ordered = !connection.isCluster;
  const confirm = confirmations(connection, config.durability);
  const teller = createRunTeller(runs, wake);
  const engine = createEngine({
    ...options,
    prefix,
    concurrency: config.engine.concurrency,
    drainMs: config.engine.drain_ms,
    agents,
    toolsOf: agentTools(createToolCatalog(connection, keys)),
    conversations: createConversationJournal({ connection, keys, retentionMs }),
    runs,
    store: createRunStore(runs),
    starter: createRunStarter({ runs, agents, index, wake, capacity: null, confirm, ordered }),
    teller,
    interrupt: async (requestId, reason) => void (await teller.cancel(requestId, reason)),
    canceller: createCanceller({ connection, keys, journal, index, lanes }),
    rouse,
    index,
    lanes,
    bell: createRunBell(lanes),
    confirm,
    ordered,
  });
  const publishing: Startable = {
    name: 'agents',
    start: () => catalog.publish(options.modules.agents),
    stop: async () => {
      index.flush();
      await lanes.close();
    },
  };
  return { engine, parts: [publishing, engine] };
}
