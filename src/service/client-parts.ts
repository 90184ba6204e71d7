// Builds the direct client on connections that somebody else owns: the one composition for API and programs.
// Must never open a connection.
import { emitRequestError } from '../executors/emit-request-error.ts';
import { emitToolError } from '../executors/emit-tool-error.ts';
import { createRegistry } from '../executors/registry.ts';
import type { AgentDefinition } from '../contract/agent-definition.ts';
import { type CustomTypes, NO_CUSTOM_TYPES } from '../contract/custom-directive.ts';
import type { DirectiveClient } from '../contract/directive-client.ts';
import type { ModelTable } from '../contract/model-name.ts';
import { knownAgents } from '../catalog/known-agents.ts';
import { runView } from '../engine/core/run-view.ts';
import { createRunClient } from '../engine/run-client.ts';
import { createRunStarter } from '../engine/run-start.ts';
import { createRunStore } from '../engine/run-store.ts';
import { createRunNotifier } from '../engine/run-notifier.ts';
import { createAgentCatalog } from '../catalog/agent-catalog.ts';
import { createDeadLetterIndex } from '../journal/dead-letter-index.ts';
import { createFollower, RECHECK_MS } from '../journal/follower.ts';
import { createJournal, DEFAULT_REQUEST_BYTES } from '../journal/journal.ts';
import { keySpace, type KeySpace } from '../journal/keys.ts';
import { createRunJournal } from '../journal/run-journal.ts';
import { createPayloadStore } from '../journal/payload-store.ts';
import { createSubscriber } from '../journal/subscriber.ts';
import type { Hearing } from '../journal/channel.ts';
import { createSweepIndex } from '../journal/sweep-index.ts';
import { createModelCatalog } from '../catalog/model-catalog.ts';
import { createToolCatalog } from '../catalog/tool-catalog.ts';
import { createCanceller } from '../queue/cancel.ts';
import { type Capacity, type CapacityOptions, createCapacity } from '../queue/capacity.ts';
import { createDeadLetters } from '../queue/dead-letters.ts';
import { confirmations, type Durability } from '../queue/durability.ts';
import { knownModels } from '../catalog/known-models.ts';
import { knownServers } from '../catalog/known-servers.ts';
import { createLanes } from '../queue/lanes.ts';
import { createMemoryRoom } from '../queue/memory-room.ts';
import { createPreparer, type Preparer } from '../queue/prepare.ts';
import { createQueueClient } from '../queue/queue-client.ts';
import { createSubmitter } from '../queue/submit.ts';
import { createRunWaker, wakeByJob, type WakeRun } from '../queue/run-wake.ts';
import type { RedisConnection } from '../redis/connection.ts';

export interface ClientOptions {
  prefix: string;
  knownServers: readonly string[];
  /** Providers and aliases of the own configuration. */
  knownModels: ModelTable;
  retentionMs: number;
  durability: Durability;
  argumentsBytes: number;
  /** As in `JournalOptions`. */
  requestBytes?: number;
  /** As `limits.total_bytes`. */
  totalBytes?: number | undefined;
  maxDirectives: number;
  maxQueuedIn: (lane: string) => number | null;
  maxOpen: number | null;
  /** How often a wait or a follower that hears nothing looks at the journal, milliseconds. Default: 5 000. */
  recheckMs?: number;
  /** A channel on which nothing was heard for so long is asked whether it is heard, milliseconds. Default: 5 000. */
  verifyMs?: number;
  runs: RunOptions;
}

/** What runs need beyond the journal, beside the client of an engine's process. */
export interface RunOptions {
  /** Agents of the own configuration. */
  agents: readonly AgentDefinition[];
  /** Users' own kinds of directives that may be submitted. Default: none. */
  kinds?: CustomTypes;
  /** Default: a ring on the lane of runs. */
  wake?: WakeRun;
}

export interface ClientConnections {
  /** For commands. */
  connection: RedisConnection;
  /** For subscriptions only. */
  listening: RedisConnection;
}

export interface AssembledClient {
  /** `close` leaves the connections open. */
  client: DirectiveClient;
  /** Opens the channel on which the ends of what waits are announced, before anything waits. */
  listen(): Promise<void>;
  hearing(): Hearing;
}

export function assembleClient(
  { connection, listening }: ClientConnections,
  options: ClientOptions,
): AssembledClient {
  const { prefix, retentionMs, maxDirectives, recheckMs = RECHECK_MS, verifyMs } = options;
  const { argumentsBytes, requestBytes = DEFAULT_REQUEST_BYTES } = options;
  const keys = keySpace(prefix);
  const lanes = createLanes(connection, prefix);
  const wakeRun = options.runs.wake ?? wakeByJob(createRunWaker(lanes));
  const journal = createJournal({ connection, keys, retentionMs, wakeRun, requestBytes });
  const index = createSweepIndex(connection, keys);
  const capacity = capacityOf(connection, { lanes, index }, options);
  const ordered = !connection.isCluster;
  const confirm = confirmations(connection, options.durability);
  const subscriber = createSubscriber(
    { listening, publishing: connection, ...(verifyMs === undefined ? {} : { verifyMs }) },
    keys,
  );
  const known = knowledge(connection, keys, options);
  const entrance = { journal, index, lanes, capacity, confirm, ordered, requestBytes };
  const submitter = createSubmitter({ ...entrance, preparer: preparerOf(known), argumentsBytes });
  const close = async (): Promise<void> => {
    index.flush();
    subscriber.close();
    await lanes.close();
  };
  const client = createQueueClient({
    journal,
    follower: createFollower(journal, subscriber, recheckMs),
    subscriber,
    recheckMs,
    submitter,
    canceller: createCanceller({ connection, keys, journal, index, lanes }),
    payloads: createPayloadStore({ connection, keys, requestBytes }),
    deadLetters: createDeadLetters({ journal, dead: createDeadLetterIndex(connection, keys), submitter }),
    ...known,
    lanes,
    runs: runClientOf(connection, keys, options, { index, capacity, confirm, ordered, wake: wakeRun }),
    parsing: { maxDirectives, customTypes: options.runs.kinds ?? NO_CUSTOM_TYPES },
    close,
  });
  const listen = async (): Promise<void> => void (await subscriber.openInbox());
  return { client, listen, hearing: subscriber.hearing };
}

function capacityOf(
  connection: RedisConnection,
  counted: Pick<CapacityOptions, 'lanes' | 'index'>,
  { maxQueuedIn, maxOpen, totalBytes }: ClientOptions,
): Capacity {
  const memory = createMemoryRoom(connection, totalBytes);
  return createCapacity({ ...counted, maxQueuedIn, maxOpen, memory });
}

/** What is known of tools and models: from the configuration, and from what the workers publish. */
function knowledge(connection: RedisConnection, keys: KeySpace, options: ClientOptions) {
  const catalog = createToolCatalog(connection, keys);
  const modelCatalog = createModelCatalog(connection, keys);
  return {
    catalog,
    modelCatalog,
    servers: knownServers(catalog, options.knownServers),
    models: knownModels(modelCatalog, options.knownModels),
  };
}

function preparerOf({ servers, models }: ReturnType<typeof knowledge>): Preparer {
  const { executeImmediately } = createRegistry([emitToolError, emitRequestError]);
  return createPreparer({ servers, models, executeImmediately });
}

function runClientOf(
  connection: RedisConnection,
  keys: KeySpace,
  { retentionMs, requestBytes = DEFAULT_REQUEST_BYTES, runs: options }: ClientOptions,
  starting: Omit<Parameters<typeof createRunStarter>[0], 'runs' | 'agents' | 'requestBytes' | 'capacity'> & {
    capacity: Capacity;
  },
) {
  const runs = createRunJournal({ connection, keys, retentionMs, requestBytes });
  const agents = knownAgents(createAgentCatalog(connection, keys), options.agents);
  return createRunClient({
    runs,
    store: createRunStore(runs),
    starter: createRunStarter({ runs, agents, requestBytes, ...starting }),
    notifier: createRunNotifier(runs, starting.wake),
    agents,
    view: runView,
    requireMemory: starting.capacity.requireMemory,
    requestBytes,
  });
}
