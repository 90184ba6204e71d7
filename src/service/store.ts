// What a process keeps in Redis on one connection: records, lanes, and who serves what. Roles on the connection share it.
// Must never open a connection, nor know which roles use it.
import { type Configured, createCatalog } from '../catalog/catalog.ts';
import { createConversationJournal } from '../journal/conversation-journal.ts';
import { createDeadLetterIndex } from '../journal/dead-letter-index.ts';
import { createEndRecorder } from '../journal/end-recorder.ts';
import { createJournal } from '../journal/journal.ts';
import { type KeySpace, keySpace } from '../journal/keys.ts';
import { createPayloadStore } from '../journal/payload-store.ts';
import { createRunActivityIndex } from '../journal/run-activity-index.ts';
import { createRunJournal } from '../journal/run-journal.ts';
import { createSerialLanes } from '../journal/serial-lanes.ts';
import { createSweepIndex } from '../journal/sweep-index.ts';
import { createCanceller } from '../queue/cancel.ts';
import { confirmations, type Durability } from '../queue/durability.ts';
import { createEntrance } from '../queue/entrance.ts';
import { createLanes } from '../queue/lanes.ts';
import type { LocalLanes, LocalRoles } from '../queue/local-roles.ts';
import { createSpanNotes } from '../queue/span-note.ts';
import { createRunWaker, wakeRuns, type WakeRun } from '../queue/run-wake.ts';
import { NO_SPANS, type Spans } from '../telemetry/spans.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { NO_REPORTS, type Reports } from '../telemetry/reports.ts';

export interface StoreOptions {
  prefix: string;
  /** How long a closed request stays readable, milliseconds. */
  retentionMs: number;
  /** The most bytes that a request holds. */
  requestBytes: number;
  durability: Durability;
  configured: Configured;
  local: LocalRoles;
  /** What is given to the roles of this process instead of being enqueued. */
  takes: LocalLanes;
  /** Whether the end of a run's directive waits for the turns that follow here, as in `wakeRuns`. */
  waitsForTurns: boolean;
  /** Default: nothing is traced. */
  spans?: Spans;
  /** Default: nothing is reported. */
  reports?: Reports;
  /** As in `JournalOptions`. */
  onEnd?: ((requestId: string) => void) | undefined;
}

export type Store = ReturnType<typeof createStore>;

export function createStore(connection: RedisConnection, options: StoreOptions) {
  const keys = keySpace(options.prefix);
  const lanes = createLanes(connection, keys);
  const waker = createRunWaker(lanes);
  const wakeRun = wakeRuns(waker, options.local.engine, options.waitsForTurns);
  const records = recordsOn(connection, keys, options, wakeRun);
  const { index } = records;
  const { reports = NO_REPORTS } = options;
  const confirm = confirmations(connection, options.durability);
  const ordered = !connection.isCluster;
  const { journal } = records;
  const { spans = NO_SPANS } = options;
  const notes = createSpanNotes(spans, index);
  return {
    connection,
    keys,
    spans,
    records,
    reports,
    queue: {
      lanes,
      waker,
      wakeRun,
      notes,
      confirm,
      entrance: createEntrance({ index, lanes, local: options.takes, confirm, ordered }),
      canceller: createCanceller({ connection, keys, journal, index, lanes, spans, reports }),
    },
    catalog: createCatalog(connection, keys, options.configured),
    /** Leaves the connection open. */
    async close(): Promise<void> {
      index.flush();
      await lanes.close();
    },
  };
}

/** The truth: requests, directives, runs, conversations, and the indexes over them. */
function recordsOn(
  connection: RedisConnection,
  keys: KeySpace,
  { retentionMs, requestBytes, onEnd, local }: StoreOptions,
  wakeRun: WakeRun,
) {
  const index = createSweepIndex(connection, keys);
  const mayTellEngine = (): boolean => local.engine() === null;
  const journal = createJournal({
    connection,
    keys,
    retentionMs,
    requestBytes,
    wakeRun,
    mayTellEngine,
    onEnd,
  });
  const dead = createDeadLetterIndex(connection, keys);
  return {
    journal,
    runs: createRunJournal({ connection, keys, retentionMs, requestBytes, onEnd }),
    conversations: createConversationJournal({ connection, keys, retentionMs }),
    payloads: createPayloadStore({ connection, keys, requestBytes }),
    serial: createSerialLanes(connection, keys, journal),
    index,
    dead,
    activity: createRunActivityIndex(connection, keys),
    ends: createEndRecorder(index, dead),
  };
}
