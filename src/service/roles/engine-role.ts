// The engine of a process, joined from its store: the first turn, what turns ask of the world, and the lane of runs.
// Must never take a turn itself.
import { createEngine, type Engine } from '../../agents/turn/engine.ts';
import { createRunStore, type RunStore } from '../../agents/turn/run-store.ts';
import { createRunVault } from '../../agents/encryption/run-vault.ts';
import { NO_KEYS, type PayloadKeys } from '../../platform/encryption/payload-keys.ts';
import type { EngineCore } from '../../agents/turn/transition.ts';
import type { TurnParts } from '../../agents/turn/turn.ts';
import { wholeResults } from '../../store/request/whole-result.ts';
import type { Preparer } from '../../directives/prepare.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { createHandOver } from '../../queue/hand-over.ts';
import { runAccess } from '../run-access.ts';
import type { Store } from '../store.ts';

export interface EngineRoleOptions {
  core: EngineCore;
  preparer: Preparer;
  /** They open what clients encrypt. Default: it is not opened. */
  payloadKeys?: PayloadKeys;
  /** Option of `StoreOptions`. */
  requestBytes: number;
  /** Turns at once in this process. */
  concurrency: number;
  /** How long a stop waits for turns, milliseconds. */
  drainMs: number;
  /** Option of `EngineOptions`. */
  lockMs: number;
  stalledCheckMs: number;
  logger: Logger;
  onError(error: Error): void;
}

/** `listening`: a connection for subscriptions only. */
export function createEngineRole(
  store: Store,
  listening: RedisConnection,
  options: EngineRoleOptions,
): Engine {
  const { core: _core, preparer: _preparer, ...consuming } = options;
  const { connection, keys } = store;
  const { lockMs, onError } = options;
  const handOver = createHandOver({ listening, publishing: connection, onError }, keys);
  const offering = { handOver, leaseMs: lockMs, owesStart: false, keyPrefix: keys.prefix };
  const stopping = new AbortController();
  const turn = turnOf(store, options, stopping.signal);
  const engine = createEngine({ ...consuming, connection, prefix: keys.prefix, turn, offering });
  return {
    ...engine,
    async start() {
      await handOver.start();
      await engine.start();
    },
    async stop() {
      stopping.abort();
      await engine.stop();
      await handOver.stop();
    },
  };
}

function runStoreOf({ runs, payloads }: Store['records'], payloadKeys: PayloadKeys): RunStore {
  return createRunStore(runs, {
    whole: wholeResults(payloads),
    open: createRunVault(payloadKeys, payloads),
    nextStep: payloadKeys.codec?.nextStep,
  });
}

function turnOf(
  store: Store,
  { core, preparer, requestBytes, logger, payloadKeys = NO_KEYS }: EngineRoleOptions,
  stop: AbortSignal,
): TurnParts {
  const { spans, records, queue, catalog } = store;
  const { runs, conversations, index, later } = records;
  const { entrance, canceller, waker, notes, callNotice } = queue;
  const { agents } = catalog;
  const toolsOf: TurnParts['beginning']['toolsOf'] = async (agent, tenant) =>
    catalog.toolsOf(agent, tenant, stop);
  const { starter, notifier } = runAccess(store, { capacity: null, requestBytes });
  const interrupt = async (requestId: string, reason: string): Promise<void> =>
    void (await notifier.cancel(requestId, reason));
  return {
    core,
    logger,
    store: runStoreOf(records, payloadKeys),
    beginning: { core, logger, agents, toolsOf, conversations, runs, interrupt },
    outbox: {
      starter,
      notifier,
      canceller,
      conversations,
      spans,
      // A job of its own: on a cluster a wake is lost while the job of its version is handled.
      wakeRun: (requestId) => void waker.wakeAt(requestId, Date.now()).catch(() => {}),
    },
    preparer,
    reports: store.reports,
    activity: records.activity,
    entrance,
    index,
    later,
    waker,
    spans,
    notes,
    callNotice,
    endNotices: store.endNotices,
  };
}
