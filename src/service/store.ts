// What a process keeps in Redis on one connection: records, lanes, and who serves what. Roles on the connection share it.
// Must never open a connection, nor know which roles use it.
import { type EndNotices, UNKNOWN_END_NOTICES } from '../contract/signal/end-notices.ts';
import { type LimitsOfTenant, NO_TENANT_LIMITS } from '../contract/access/tenant-limits.ts';
import { type Configured, createCatalog } from '../store/catalog/catalog.ts';
import type { Workers } from '../store/catalog/workers.ts';
import { createChangedRequests } from '../store/index/changed-requests.ts';
import { createArchiveQueue } from '../store/index/archive-queue.ts';
import { createConversationJournal } from '../store/run/conversation-journal.ts';
import { createDeadLetterIndex } from '../store/index/dead-letter-index.ts';
import { createGate } from '../store/limits/gate.ts';
import { createEndRecorder } from '../store/index/end-recorder.ts';
import { createJournal, type Journal } from '../store/request/journal.ts';
import { type KeySpace, keySpace } from '../store/keys.ts';
import { NO_OBJECTS, type PayloadObjects } from '../store/request/large-payloads.ts';
import { createPayloadStore } from '../store/request/payload-store.ts';
import { prepareScripts, type SignalStreams } from '../store/scripts.ts';
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';
import { createRunActivityIndex } from '../store/run/run-activity-index.ts';
import { createRunJournal } from '../store/run/run-journal.ts';
import { createLaterIndex } from '../store/index/later-index.ts';
import { createSerialLanes } from '../store/limits/serial-lanes.ts';
import { createSweepIndex } from '../store/index/sweep-index.ts';
import { createCanceller } from '../directives/change/cancel.ts';
import { confirmations, type Durability } from '../queue/durability.ts';
import { createEntrance } from '../queue/entrance.ts';
import { createSeenTenants } from '../directives/sweep/seen-tenants.ts';
import { createGatedLanes, type GatedLanes } from '../queue/gated-lanes.ts';
import { createGateNews, type GateNews } from '../queue/gate-news.ts';
import { createLaneRoom } from '../queue/lane-room.ts';
import { createLanes, type Lanes } from '../queue/lanes.ts';
import { createSpanNotes } from '../directives/read/span-note.ts';
import { createNoticeCalls, noticeRef } from '../directives/sweep/notice.ts';
import { createRunWaker, wakeRuns, type WakeRun } from '../queue/run-wake.ts';
import { NO_SPANS, type Spans } from '../platform/telemetry/traces/spans.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { NO_REPORTS, type Reports } from '../platform/telemetry/reports.ts';

export interface StoreOptions {
  prefix: string;
  /** How long a closed request stays readable, milliseconds. */
  retentionMs: number;
  /** How long a request that closes now stays readable where its tenant has no time of its own, milliseconds. Default: `retentionMs`. */
  closedMs?: (() => number) | undefined;
  /** How long the list shows an archived request after it has expired, milliseconds. Default: 0. */
  listedMs?: number | undefined;
  /** The most bytes that a request holds. */
  requestBytes: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant | undefined;
  durability: Durability;
  configured: Configured;
  /** Gate changes of the process. Default: those of this store. */
  news?: GateNews;
  /** Default: nothing is traced. */
  spans?: Spans;
  /** Default: nothing is reported. */
  reports?: Reports;
  /** Option of `JournalOptions`. */
  onEnd?: ((requestId: string) => void) | undefined;
  /** How long after its end a request is to be archived, milliseconds. Default: nothing is archived. */
  archiveAfterMs?: number | undefined;
  /** Option of `SubmitterOptions`. */
  endNotices?: EndNotices;
  /** Whether the list of requests is kept. Default: true. */
  isListed?: boolean | undefined;
  /** As `signals.stream.max_entries`. Default: there is no stream of all signals. */
  streamEntries?: number | undefined;
  /** Where large payloads lie. Default: in Redis. */
  objects?: PayloadObjects | undefined;
}

export type Store = ReturnType<typeof createStore>;

export function createStore(connection: RedisConnection, options: StoreOptions) {
  const keys = keySpace(options.prefix);
  prepareScripts(connection, streamsOf(connection, keys, options));
  const lanes = createLanes(connection, keys);
  const waker = createRunWaker(lanes);
  const wakeRun = wakeRuns(waker);
  const records = recordsOn(connection, keys, options, wakeRun);
  const catalog = createCatalog(connection, keys, options.configured);
  const tenants = createSeenTenants();
  const { journal } = records;
  const gated = gatedOn(connection, keys, { lanes, journal, workers: catalog.workers, news: options.news });
  const { reports = NO_REPORTS, spans = NO_SPANS, endNotices = UNKNOWN_END_NOTICES } = options;
  return {
    connection,
    keys,
    spans,
    records,
    reports,
    endNotices,
    tenants,
    limitsOf: options.limitsOf ?? NO_TENANT_LIMITS,
    retentionMs: options.retentionMs,
    listedMs: options.listedMs ?? 0,
    queue: {
      lanes,
      gated,
      waker,
      wakeRun,
      ...waysOn(connection, keys, options, { records, lanes, gated }),
    },
    catalog,
    /** Leaves the connection open. */
    async close(): Promise<void> {
      records.index.flush();
      void records.changes.flush().catch(() => {});
      await lanes.close();
    },
  };
}

/** Throws for a Redis Cluster: the stream and the logs would be in different slots. */
function streamsOf(
  { isCluster }: RedisConnection,
  keys: KeySpace,
  { streamEntries }: StoreOptions,
): SignalStreams | undefined {
  if (streamEntries === undefined) return undefined;
  if (isCluster) throw new TypeError('streamEntries: a Redis Cluster has no stream of all signals');
  return { key: keys.signals(DEFAULT_TENANT), maxEntries: streamEntries };
}

interface Shared {
  records: ReturnType<typeof recordsOn>;
  lanes: Lanes;
  gated: GatedLanes;
}

/** The ways in and out: acceptance, cancellation, and the notes that go with them. */
function waysOn(
  connection: RedisConnection,
  keys: KeySpace,
  { durability, spans = NO_SPANS, reports = NO_REPORTS }: StoreOptions,
  { records: { index, later, journal, changes }, lanes, gated }: Shared,
) {
  const shared = { index, later, lanes, gated };
  const confirm = confirmations(connection, durability);
  const ordered = !connection.isCluster;
  const notices = createNoticeCalls((requestId, id) => {
    index.lookWithin(noticeRef(requestId, id), 0).catch(() => {});
  });
  const { call: callNotice } = notices;
  return {
    confirm,
    notices,
    callNotice,
    notes: createSpanNotes(spans, index),
    entrance: createEntrance({ ...shared, confirm, ordered, changes }),
    canceller: createCanceller({ ...shared, connection, keys, journal, spans, reports, callNotice }),
  };
}

interface GatesOf {
  lanes: Lanes;
  journal: Journal;
  workers: Workers;
  news: GateNews | undefined;
}

function gatedOn(
  connection: RedisConnection,
  keys: KeySpace,
  { lanes, journal, workers, news = createGateNews() }: GatesOf,
): GatedLanes {
  const roomIn = createLaneRoom(workers, lanes);
  return createGatedLanes({ gate: createGate(connection, keys), lanes, journal, roomIn, news });
}

/** The truth: requests, directives, runs, conversations, and the indexes over them. */
function recordsOn(
  connection: RedisConnection,
  keys: KeySpace,
  {
    retentionMs,
    requestBytes,
    limitsOf = NO_TENANT_LIMITS,
    closedMs,
    onEnd,
    archiveAfterMs,
    isListed,
    objects = NO_OBJECTS,
  }: StoreOptions,
  wakeRun: WakeRun,
) {
  const archive = createArchiveQueue(connection, keys, { afterMs: archiveAfterMs, retentionMs });
  const noteEnded = archiveAfterMs === undefined ? undefined : archive.note;
  const isLimited = (tenant: string): boolean => limitsOf(tenant).maxOpen !== undefined;
  const index = createSweepIndex(connection, keys, { noteEnded, isLimited, isListed });
  const changes = createChangedRequests(connection, keys, { isListed });
  const keptFor: LimitsOfTenant = (tenant) => {
    const limits = limitsOf(tenant);
    return closedMs === undefined || limits.closedMs !== undefined
      ? limits
      : { ...limits, closedMs: closedMs() };
  };
  const kept = { retentionMs, requestBytes, limitsOf: keptFor };
  const told = { wakeRun, onEnd, onChange: changes.note, noteEnded };
  const journal = createJournal({ connection, keys, ...kept, ...told });
  const dead = createDeadLetterIndex(connection, keys);
  return {
    journal,
    runs: createRunJournal({ connection, keys, ...kept, onEnd }),
    conversations: createConversationJournal({ connection, keys, ...kept }),
    payloads: createPayloadStore({ connection, keys, ...kept, objects }),
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
