// The engine of a process, joined from its store: the first turn, what turns ask of the world, and the lane of runs.
// Must never take a turn itself.
import { createEngine, type Engine } from '../engine/engine.ts';
import { createRunStore } from '../engine/run-store.ts';
import type { EngineCore } from '../engine/transition.ts';
import type { TurnParts } from '../engine/turn.ts';
import { wholeResults } from '../journal/whole-result.ts';
import type { Preparer } from '../queue/prepare.ts';
import type { Logger } from '../telemetry/logger.ts';
import { runAccess } from './run-access.ts';
import type { Store } from './store.ts';

export interface EngineRoleOptions {
  prefix: string;
  core: EngineCore;
  preparer: Preparer;
  /** As in `StoreOptions`. */
  requestBytes: number;
  /** Turns at once in this process. */
  concurrency: number;
  /** How long a stop waits for turns, milliseconds. */
  drainMs: number;
  /** As in `EngineOptions`. */
  lockMs: number;
  stalledCheckMs: number;
  logger: Logger;
  onError(error: Error): void;
}

export function createEngineRole(store: Store, options: EngineRoleOptions): Engine {
  return createEngine({ ...options, connection: store.connection, turn: turnOf(store, options) });
}

function turnOf(store: Store, { core, preparer, requestBytes, logger }: EngineRoleOptions): TurnParts {
  const { spans, records, queue, catalog } = store;
  const { runs, conversations, index, payloads } = records;
  const { entrance, canceller, waker, wakeRun, notes } = queue;
  const { agents, toolsOf } = catalog;
  const { starter, notifier } = runAccess(store, { capacity: null, requestBytes });
  const interrupt = async (requestId: string, reason: string): Promise<void> =>
    void (await notifier.cancel(requestId, reason));
  return {
    core,
    logger,
    store: createRunStore(runs, wholeResults(payloads)),
    beginning: { core, logger, agents, toolsOf, conversations, runs, interrupt },
    outbox: {
      starter,
      notifier,
      canceller,
      conversations,
      spans,
      wakeRun: (requestId) => void wakeRun(requestId, 0),
    },
    preparer,
    reports: store.reports,
    activity: records.activity,
    entrance,
    index,
    waker,
    spans,
    notes,
  };
}
