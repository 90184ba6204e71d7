// Joins the search index with the store of a process: what lists requests, and what keeps the list up to date.
// Must never read more of a run than a list needs.
import { lastSaid, runAsks } from '../agents/core/run-asks.ts';
import { runView } from '../agents/core/run-view.ts';
import { NO_SIGNALS, createRunStore, type StoredRun } from '../agents/turn/run-store.ts';
import { ASKED_FOR, type AskedFor } from '../contract/request/request-listing.ts';
import { ownId } from '../contract/access/tenant.ts';
import type { RequestLists } from '../directives/queue-client.ts';
import type { Startable } from '../platform/lifecycle.ts';
import { createTenantBytes } from '../store/limits/tenant-bytes.ts';
import { redisClock } from '../platform/redis/clock.ts';
import {
  createApprovalList,
  createOpenAsks,
  type OpenAskParts,
  type OpenAsks,
} from '../store/search/approval-list.ts';
import { createIndexMending } from '../store/search/index-mending.ts';
import { createIndexer } from '../store/search/indexer.ts';
import { createListOff, refuseList } from '../store/search/list-off.ts';
import { createFactsReader, type FactsParts, type ListedRun } from '../store/search/request-facts.ts';
import { createListBuild } from '../store/search/list-build.ts';
import { createListBuilder, type ListBuilderReports } from '../store/search/list-builder.ts';
import { createReindex } from '../store/search/reindex.ts';
import { createRequestList } from '../store/search/request-list.ts';
import { createRowReader, type RowReader } from '../store/search/row-reader.ts';
import { createStatsReader } from '../features/stats/stats-reader.ts';
import { createSearchIndex, indexedTenants } from '../store/search/search-index.ts';
import { createSmallReader } from '../store/search/small-requests.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import type { Store } from './store.ts';

/** A larger document would hold up the process as it is read; the list then shows agent and status alone. */
const DOCUMENT_BYTES = 2_097_152;

export function requestListsOf(store: Store): RequestLists {
  const { connection, keys, records, limitsOf } = store;
  const { changes, journal } = records;
  const stats = createStatsReader(connection, keys, redisClock(connection));
  if (!changes.isListed) return { requests: refuseList, approvals: refuseList, reindex: refuseList, stats };
  const index = createSearchIndex(connection, keys, limitsOf);
  const storedOf = createTenantBytes(connection, keys, limitsOf).of;
  const build = createListBuild(connection, keys);
  const tenants = async () => indexedTenants(connection, keys);
  return {
    requests: createRequestList({
      index,
      changes,
      build,
      storedOf,
      tenants,
      now: redisClock(connection),
    }),
    approvals: createApprovalList({
      index,
      changes,
      build,
      tenants,
      openAsks: openAsksOf(store, DOCUMENT_BYTES),
      now: journal.now,
    }),
    reindex: createReindex(build, changes),
    stats,
  };
}

/** `mostBytes`: of a run's document that is read; of a larger one nothing is known. */
export function openAsksOf(store: Store, mostBytes = Infinity): OpenAsks {
  const { journal } = store.records;
  return createOpenAsks({ journal, askingRun: askingRuns(store, mostBytes) });
}

export interface ListKeeping {
  /** Id of this process. */
  processId: string;
  logger: Logger;
  onError: (error: Error) => void;
}

/** Maintains the list: one part follows the changes, the other one builds an incomplete list. Turned off: removes it. */
export function listKeepers(store: Store, keeping: ListKeeping): Startable[] {
  const { connection, keys, records, limitsOf } = store;
  const { changes } = records;
  const { onError } = keeping;
  if (!changes.isListed) return [createListOff({ connection, keys, changes, onError })];
  const index = createSearchIndex(connection, keys, limitsOf);
  const read = rowReaderOf(store, onError);
  const build = createListBuild(connection, keys);
  const mending = createIndexMending(connection, keys, store.listedMs);
  const shared = { connection, keys, index, mending, changes, read };
  return [
    createIndexer({ changes, index, read, onError }),
    createListBuilder({ ...shared, build, holder: keeping.processId, reports: buildReports(keeping) }),
  ];
}

function rowReaderOf(store: Store, onError: (error: Error) => void): RowReader {
  const { connection, keys, records, listedMs } = store;
  const { journal } = records;
  const readFacts = createFactsReader({ connection, keys, journal, runOf: listedRuns(store) });
  const readSmall = createSmallReader(connection, keys);
  return createRowReader({ readSmall, readFacts, listedMs, onError });
}

function buildReports({ logger, onError }: ListKeeping): ListBuilderReports {
  return {
    began: (found) =>
      logger.info({ requests: found }, 'the list of requests is being built; it is incomplete until then'),
    ended: ({ found, failed, tookMs }) =>
      logger.info(
        { requests: found, unread: failed, took_ms: Math.round(tookMs) },
        'the list of requests is complete',
      ),
    error: onError,
  };
}

/** null: there is none, or its document is too large. */
function storedRuns(
  { connection, keys, records }: Store,
  mostBytes = DOCUMENT_BYTES,
): (requestId: string) => Promise<StoredRun | null> {
  const runs = createRunStore(records.runs);
  return async (requestId) => {
    const [, bodies] = keys.request(requestId);
    const bytes = await connection.hstrlen(bodies, '@run');
    return bytes > mostBytes ? null : runs.read(requestId, NO_SIGNALS);
  };
}

function listedRuns(store: Store): FactsParts['runOf'] {
  const { connection, keys } = store;
  const read = storedRuns(store);
  return async (requestId) => {
    const run = await read(requestId);
    if (run !== null) return listedRun(run);
    const [state] = keys.request(requestId);
    const [agent, status] = await connection.hmget(state, '@run|agent', '@run|status');
    return agent && status ? { ...NOTHING_READ, agent, status } : null;
  };
}

function askingRuns(store: Store, mostBytes: number): OpenAskParts['askingRun'] {
  const read = storedRuns(store, mostBytes);
  return async (requestId) => {
    const run = await read(requestId);
    if (run === null || run.document === null) return null;
    const { agent, spec, document } = run;
    const isEncrypted = spec.encrypted !== undefined || spec.sealed !== undefined;
    const query = isEncrypted ? null : spec.query;
    return { agent, query, said: lastSaid(document), asks: runAsks(document) };
  };
}

const NOTHING_READ = {
  conversation: null,
  parent: null,
  tokens: { input: 0, output: 0 },
  cost: null,
  errorType: null,
  query: '',
  metadata: {},
  waitingFor: [],
};

function listedRun({ agent, status, spec, document }: StoredRun): ListedRun {
  const view = document === null ? null : runView(spec, document);
  const kinds = new Set(view?.waiting_for.map(({ kind }) => kind));
  const conversation = spec.conversation_id;
  return {
    agent,
    status,
    conversation: conversation === null ? null : ownId(conversation),
    parent: spec.parent === null ? null : ownId(spec.parent.request_id),
    tokens: { input: view?.usage.input_tokens ?? 0, output: view?.usage.output_tokens ?? 0 },
    cost: view?.cost ?? null,
    errorType: errorTypeOf(view?.error),
    query: spec.query,
    metadata: spec.metadata,
    waitingFor: ASKED_FOR.filter((kind: AskedFor) => (kinds as ReadonlySet<string>).has(kind)),
  };
}

function errorTypeOf(error: unknown): string | null {
  const type = (error as { type?: unknown } | null | undefined)?.type;
  return typeof type === 'string' ? type : null;
}
