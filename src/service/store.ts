// What a process keeps in Redis on one connection: records, lanes, and who serves what. Roles on the connection share it.
// Must never open a connection, nor know which roles use it.
import { type LimitsOfTenant, NO_TENANT_LIMITS } from '../contract/tenant-limits.ts';
import { type Configured, createCatalog } from '../catalog/catalog.ts';
import { createChangedRequests } from '../journal/changed-requests.ts';
import { createArchiveQueue } from '../journal/archive-queue.ts';
import { createConversationJournal } from '../journal/conversation-journal.ts';
import { createDeadLetterIndex } from '../journal/dead-letter-index.ts';
import { createEndRecorder } from '../journal/end-recorder.ts';
import { createJournal } from '../journal/journal.ts';
import { type KeySpace, keySpace } from '../journal/keys.ts';
import { createPayloadStore } from '../journal/payload-store.ts';
import { createRunActivityIndex } from '../journal/run-activity-index.ts';
import { createRunJournal } from '../journal/run-journal.ts';
import { createLaterIndex } from '../journal/later-index.ts';
import { createSerialLanes } from '../journal/serial-lanes.ts';
import { createSweepIndex } from '../journal/sweep-index.ts';
import { createCanceller } from '../queue/cancel.ts';
import { confirmations, type Durability } from '../queue/durability.ts';
import { createEntrance } from '../queue/entrance.ts';
import { createLaneFreedom } from '../queue/lane-freedom.ts';
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
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant | undefined;
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
  /** How long after its end a request is to be archived, milliseconds. Default: nothing is archived. */
  archiveAfterMs?: number | undefined;
  /** Whether the list of requests is kept. Default: true. */
  isListed?: boolean | undefined;
}

export type Store = ReturnType<typeof createStore>;

export function createStore(connection: RedisConnection, options: StoreOptions) {
  const keys = keySpace(options.prefix);
  const lanes = createLanes(connection, keys);
  const waker = createRunWaker(lanes);
  const isFree = createLaneFreedom(lanes.isFree);
  const wakeRun = wakeRuns(waker, options.local.engine, { waits: options.waitsForTurns, isFree });
  const records = recordsOn(connection, keys, options, wakeRun);
  const { index, later } = records;
  const shared = { index, later, lanes };
  const { reports = NO_REPORTS } = options;
  const confirm = confirmations(connection, options.durability);
  const ordered = !connection.isCluster;
  const { journal, changes } = records;
  const { note: changed } = changes;
  const { spans = NO_SPANS } = options;
  const notes = createSpanNotes(spans, index);
  return {
    connection,
    keys,
    spans,
    records,
    reports,
    limitsOf: options.limitsOf ?? NO_TENANT_LIMITS,
    retentionMs: options.retentionMs,
    queue: {
      lanes,
      waker,
      wakeRun,
      notes,
      confirm,
      isFree,
      entrance: createEntrance({ ...shared, local: options.takes, isFree, confirm, ordered, changed }),
      canceller: createCanceller({ ...shared, connection, keys, journal, spans, reports }),
    },
    catalog: createCatalog(connection, keys, options.configured),
    /** Leaves the connection open. */
    async close(): Promise<void> {
      index.flush();
      void changes.flush().catch(() => {});
      await lanes.close();
    },
  };
}

/** The truth: requests, directives, runs, conversations, and the indexes over them. */
function recordsOn(
  connection: RedisConnection,
  keys: KeySpace,
  {
    retentionMs,
    requestBytes,
    limitsOf = NO_TENANT_LIMITS,
    onEnd,
    local,
    archiveAfterMs,
    isListed,
  }: StoreOptions,
  wakeRun: WakeRun,
) {
  const archive = createArchiveQueue(connection, keys, { afterMs: archiveAfterMs, retentionMs });
  const noteEnded = archiveAfterMs === undefined ? undefined : archive.note;
  const isLimited = (tenant: string): boolean => limitsOf(tenant).maxOpen !== undefined;
  const index = createSweepIndex(connection, keys, { noteEnded, isLimited, isListed });
  const mayTellEngine = (): boolean => local.engine() === null;
  const changes = createChangedRequests(connection, keys, { isListed });
  const kept = { retentionMs, requestBytes, limitsOf };
  const told = { wakeRun, mayTellEngine, onEnd, onChange: changes.note, noteEnded };
  const journal = createJournal({ connection, keys, ...kept, ...told });
  const dead = createDeadLetterIndex(connection, keys);
  return {
    journal,
    runs: createRunJournal({ connection, keys, ...kept, onEnd }),
    conversations: createConversationJournal({ connection, keys, ...kept }),
    payloads: createPayloadStore({ connection, keys, ...kept }),
    serial: createSerialLanes(connection, keys, journal),
    index,
    later: createLaterIndex(connection, keys),
    changes,
    archive,
    dead,
    activity: createRunActivityIndex(connection, keys),
    ends: createEndRecorder(index, dead),
  };
}
