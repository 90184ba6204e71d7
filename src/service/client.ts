// Builds the direct client on a store: the one composition for the API and for programs.
// Must never open a connection, nor close one.
import { createSchemaChecks, type SchemaChecks } from '../platform/json-schema/schema-checks.ts';
import { type CheckContent, createAnswerer } from '../directives/answer-question.ts';
import { createRunClient } from '../agents/run-client.ts';
import type { ResumeParts } from '../agents/run-resume.ts';
import { createRunStore } from '../agents/turn/run-store.ts';
import { runView } from '../agents/core/run-view.ts';
import type { CustomTypes } from '../contract/directive/custom-directive.ts';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import { type BudgetSettings, NO_BUDGETS, type Spender } from '../contract/model/budget.ts';
import { createBudgetList } from '../store/limits/budget-list.ts';
import { createFollower, RECHECK_MS } from '../store/log/follower.ts';
import { createTenantBytes } from '../store/limits/tenant-bytes.ts';
import { createTenantRoom } from '../store/limits/tenant-room.ts';
import { createSubscriber } from '../store/log/subscriber.ts';
import type { Hearing } from '../store/log/channel.ts';
import { type Capacity, createCapacity } from '../directives/capacity.ts';
import { createDeadLetters } from '../directives/change/dead-letters.ts';
import { createLaneWaits } from '../queue/lane-waits.ts';
import { createNoticeReader } from '../directives/sweep/notice-reader.ts';
import { createMemoryRoom } from '../directives/memory-room.ts';
import type { Preparer } from '../directives/prepare.ts';
import { DEFAULT_TENANT, scopedId } from '../contract/access/tenant.ts';
import {
  type ClientRuns,
  createQueueClient,
  type QueueClientParts,
  type SchedulesOf,
} from '../directives/queue-client.ts';
import { createSubmitter, type Submitter } from '../directives/submit.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { FindArchived } from '../directives/read/archived-reads.ts';
import { tracePageOf } from '../directives/read/views.ts';
import { createReconciler, type Reconciler, type ReconcilerParts } from '../features/reconcile/press.ts';
import { wholeResults } from '../store/request/whole-result.ts';
import { readOutput } from '../features/server-output/server-output.ts';
import { requestListsOf } from './search.ts';
import type { ScheduleOwner } from '../features/schedules/schedule-record.ts';
import { runAccess } from './run-access.ts';
import type { Store } from './store.ts';
import { createTenantParts } from './tenant-parts.ts';
import { ServiceUnavailable } from '../contract/problem.ts';
import { closedMsOf } from '../contract/access/tenant-limits.ts';
import type { ParseOptions } from '../contract/directive/directive.ts';
import { redisClock } from '../platform/redis/clock.ts';
import { createScheduleService } from '../features/schedules/schedule-service.ts';
import { createScheduleStore } from '../features/schedules/schedule-store.ts';
import { openThings } from '../store/index/later-index.ts';

export interface ClientOptions {
  preparer: Preparer;
  /** Custom directive types that may be submitted. */
  customTypes: CustomTypes;
  argumentsBytes: number;
  /** Option of `StoreOptions`. */
  requestBytes: number;
  /** As `limits.total_bytes`. */
  totalBytes?: number | undefined;
  maxDirectives: number;
  maxQueuedIn: (lane: string) => number | null;
  maxOpen: number | null;
  /** Part of `RunStarterParts`. */
  caller?: () => Spender | undefined;
  /** Those that are listed before a call was counted in them. Default: none. */
  budgets?: BudgetSettings;
  /** Where a trace is shown, with `{trace_id}` in it; null: nowhere. Default: nowhere. */
  traceUrl?: string | null;
  /** Part of `QueueClientParts`. */
  added?: QueueClientParts['added'];
  /** Part of `ReconcilerParts`. Default: this process does not know the servers. */
  reconcileOf?: ReconcilerParts['settingsOf'] | undefined;
  /** Reads requests that Redis no longer holds. Default: nothing is archived. */
  archived?: FindArchived | undefined;
  /** Part of `RedriveParts`. Default: no check. */
  charge?: ((count: number) => Promise<void>) | undefined;
  /** Rights of schedules that are made now. Default: no key is needed. */
  owner?: (() => ScheduleOwner | null) | undefined;
  /** Part of `QueueClientParts`. */
  isFiring?: boolean;
  /** Whether a tenant submits nothing in clear that can be encrypted. Default: encryption is optional. */
  mustEncrypt?: ((tenant: string) => boolean) | undefined;
  /** Poll interval of a silent wait or follower, milliseconds. Default: 5 000. */
  recheckMs?: number;
  /** A channel on which nothing was heard for so long is asked whether it is heard, milliseconds. Default: 5 000. */
  verifyMs?: number;
  /** Option of `SubscriptionsOptions`. */
  onError?: (error: Error) => void;
}

export interface OpenClient {
  /** Client of the default tenant. `close` leaves the connections and the store open. */
  client: DirectiveClient;
  /** The same for another tenant; it is closed with the first. */
  clientOf(tenant: string): DirectiveClient;
  /** Opens the channel on which the ends of what waits are announced, before anything waits. */
  listen(): Promise<void>;
  hearing(): Hearing;
}

/** `listening`: a connection for subscriptions only. */
export function createClient(store: Store, listening: RedisConnection, options: ClientOptions): OpenClient {
  const { connection, keys, records, queue, catalog } = store;
  const { journal, payloads, dead, index } = records;
  const schemas = createSchemaChecks();
  const { recheckMs = RECHECK_MS, verifyMs, requestBytes, argumentsBytes, preparer, onError } = options;
  const subscriber = createSubscriber(
    { listening, publishing: connection, onError, ...(verifyMs === undefined ? {} : { verifyMs }) },
    keys,
  );
  const capacity = capacityOf(store, options);
  const shared = { ...store, ...queue, journal, index, preparer, capacity, objects: payloads.objects };
  const submitter = createSubmitter({ ...shared, argumentsBytes, requestBytes });
  const reconciler = reconcilerOf(store, submitter, options);
  const parts: QueueClientParts = {
    journal,
    reconciler,
    follower: createFollower(journal, subscriber, recheckMs),
    subscriber,
    recheckMs,
    submitter,
    canceller: queue.canceller,
    ...readPartsOf(store, options),
    payloads,
    lists: requestListsOf(store),
    output: async (server) => readOutput(connection, keys, server),
    budgets: createBudgetList(connection, keys, options.budgets ?? NO_BUDGETS),
    schedules: schedulesOf(store, capacity, options),
    answer: answererOf(store, schemas, options),
    deadLetters: createDeadLetters({
      ...shared,
      dead,
      submitter,
      found: reconciler.found,
      charge: options.charge,
    }),
    catalog,
    lanes: queue.lanes,
    later: records.later,
    changes: records.changes,
    reports: store.reports,
    runs: runsOf(store, capacity, { ...options, found: reconciler.found }),
    archived: options.archived,
    added: options.added,
    parsing: { maxDirectives: options.maxDirectives, customTypes: options.customTypes },
    isFiring: options.isFiring,
    mustEncrypt: options.mustEncrypt,
    close: async () => {
      subscriber.close();
      await schemas.stop();
    },
  };
  const listen = async (): Promise<void> => void (await subscriber.openInbox());
  return { ...clientsOf(parts), listen, hearing: subscriber.hearing };
}

/** Views of requests beside their records. */
function readPartsOf({ catalog, queue, records }: Store, options: ClientOptions) {
  return {
    gates: queue.gated,
    waits: createLaneWaits({ catalog, lanes: queue.lanes }),
    notices: createNoticeReader(records),
    workerNames: catalog.workers.names,
    tracePage: tracePageOf(options.traceUrl ?? null),
  };
}

function clientsOf(parts: QueueClientParts): Pick<OpenClient, 'client' | 'clientOf'> {
  const client = createQueueClient(parts);
  const others = createTenantParts((tenant) => createQueueClient(parts, tenant));
  return { client, clientOf: (tenant) => (tenant === DEFAULT_TENANT ? client : others.of(tenant)) };
}

function capacityOf({ connection, keys, records, queue, limitsOf }: Store, options: ClientOptions): Capacity {
  const { lanes, gated } = queue;
  const enterTenant = createTenantRoom(connection, keys, limitsOf);
  const memory = createMemoryRoom(connection, options.totalBytes);
  const { require: requireBytes } = createTenantBytes(connection, keys, limitsOf);
  const queued = async (lane: string) => (await lanes.queued(lane)) + (await gated.waiting(lane));
  return createCapacity({
    ...options,
    queued,
    index: openThings(records),
    memory,
    enterTenant,
    requireBytes,
  });
}

function answererOf(
  { records, queue, spans, limitsOf }: Store,
  schemas: SchemaChecks,
  { requestBytes, caller }: Pick<ClientOptions, 'requestBytes' | 'caller'>,
) {
  const { lanes, gated } = queue;
  return createAnswerer({
    ...records,
    lanes,
    gated,
    requestBytes,
    limitsOf,
    caller,
    spans,
    checkContent: answerChecks(schemas),
  });
}

function runsOf(
  store: Store,
  capacity: Capacity,
  {
    requestBytes,
    caller,
    archived,
    found,
  }: Pick<ClientOptions, 'requestBytes' | 'caller' | 'archived'> & Pick<ResumeParts, 'found'>,
): ClientRuns {
  const { spans, limitsOf } = store;
  const { runs, journal, dead } = store.records;
  return createRunClient({
    runs,
    journal,
    dead,
    entrance: store.queue.entrance,
    log: journal.log,
    store: createRunStore(runs),
    ...runAccess(store, { capacity, requestBytes, caller }),
    agents: store.catalog.agents,
    view: runView,
    caller,
    spans,
    requireMemory: capacity.requireMemory,
    requestBytes,
    limitsOf,
    archived,
    found,
  });
}

function reconcilerOf(
  { records: { journal, dead, payloads }, catalog }: Store,
  submitter: Submitter,
  { reconcileOf, charge }: Pick<ClientOptions, 'reconcileOf' | 'charge'>,
): Reconciler {
  return createReconciler({
    journal,
    dead,
    submitter,
    charge,
    objects: payloads.objects,
    whole: wholeResults(payloads),
    catalog: catalog.published.tools,
    settingsOf: reconcileOf,
  });
}

const AGAIN_MS = 1_000;

function answerChecks(schemas: SchemaChecks): CheckContent {
  return async (schema, content, tenant) => {
    const verdict = await schemas.of(schema).check(content, 'content', { tenant, mayBeRefused: true });
    switch (verdict.kind) {
      case 'passed':
      case 'unusable':
        return [];
      case 'faults':
        return verdict.faults;
      case 'unchecked':
        return [{ path: 'content', message: `could not be checked: ${verdict.reason}` }];
      case 'refused':
        throw new ServiceUnavailable('Too many answers of the tenant wait to be checked.', {
          retryAfterMs: AGAIN_MS,
        });
    }
  };
}

interface SchedulesOptions extends Required<ParseOptions> {
  /** Rights of schedules that are made now. Default: no key is needed. */
  readonly owner?: (() => ScheduleOwner | null) | undefined;
}

function schedulesOf(
  { connection, keys, queue, limitsOf, retentionMs, records }: Store,
  { requireMemory }: Pick<Capacity, 'requireMemory'>,
  { owner = () => null, maxDirectives, customTypes }: SchedulesOptions,
): SchedulesOf {
  return createScheduleService({
    store: createScheduleStore(connection, keys, queue.confirm),
    now: redisClock(connection),
    parsing: { maxDirectives, customTypes },
    closedMs: (tenant) => closedMsOf(limitsOf, scopedId(tenant, ''), retentionMs),
    statusOf: async (requestId) => (await records.journal.head(requestId))?.status ?? 'none',
    owner,
    requireMemory,
  });
}
