// The direct way to the service: journal and queue without HTTP, for programs that may touch Redis.
// Must never promise less than the HTTP client: same validation, same guarantees, same test suite.
import {
  type ApprovalDecisionBody,
  approvalDecisionBodySchema,
  type RecordedDecision,
} from '../contract/run/run.ts';
import { bulkDecisionBodySchema, decideEach } from '../contract/run/bulk-decision.ts';
import type { AgentListing } from '../contract/run/agent-listing.ts';
import {
  type ApprovalListing,
  type ApprovalQuery,
  approvalQuerySchema,
} from '../contract/run/approval-listing.ts';
import type { BudgetListing } from '../contract/model/budget-listing.ts';
import { withoutReservedIds } from './reserved-ids.ts';
import { reindexBodySchema, type ReindexStep } from '../contract/directive/bulk.ts';
import type { Cancellation } from '../contract/directive/cancellation.ts';
import { redriveBodySchema } from '../contract/directive/dead-letter.ts';
import { priorityBodySchema } from '../contract/directive/flow.ts';
import { fieldErrors, refusedAt } from '../contract/json/field-error.ts';
import { readBody, readInput } from '../contract/json/read-input.ts';
import type { DirectiveClient, RunCalls, StartOptions } from '../contract/directive/directive-client.ts';
import {
  type RequestListing,
  type RequestQuery,
  requestQuerySchema,
} from '../contract/request/request-listing.ts';
import { type Stats, type StatsQuery, statsQuerySchema } from '../contract/request/stats.ts';
import type { ServerOutput } from '../contract/tool/server-output.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { RequestView } from '../contract/request/request-view.ts';
import type { againBodySchema, forkBodySchema, RepeatedRequest } from '../contract/run/again.ts';
import type { StartedRun, SubmittedRun } from '../contract/run/run.ts';
import { answeredRuns } from '../contract/run/run-answer.ts';
import type { ScheduleClient } from '../contract/schedule/schedule.ts';
import { DEFAULT_TENANT, ownId, scopedId } from '../contract/access/tenant.ts';
import type { Catalog } from '../store/catalog/catalog.ts';
import { isLaneSeen } from '../store/catalog/route.ts';
import { entriesFor, toolListing } from '../store/catalog/tool-catalog.ts';
import { wholeResults } from '../store/request/whole-result.ts';
import type * as z from 'zod';
import { createRepeats } from './change/again.ts';
import { bulkClocks } from './change/bulk-clocks.ts';
import { type Bulk, createBulk } from './change/bulk.ts';
import type { Canceller } from './change/cancel.ts';
import type { DeadLetters } from './change/dead-letters.ts';
import type { Reports } from '../platform/telemetry/reports.ts';
import type { ChangedRequests } from '../store/index/changed-requests.ts';
import type { LaterIndex } from '../store/index/later-index.ts';
import type { Lanes } from '../queue/lanes.ts';
import { listLanes } from '../queue/lane-list.ts';
import { notAWorker, unknownDirective, unknownRequest, unknownWorker } from './read/not-found.ts';
import type { GateLooks } from '../queue/gate-waits.ts';
import { type ChangeInGate, createPrioritize } from './change/prioritize.ts';
import { createScore } from './change/score.ts';
import { type FindArchived, type Reads, refusingArchived, withArchived } from './read/archived-reads.ts';
import { createSearch } from './read/search.ts';
import { createRequestReader, type RequestReaderParts } from './read/request-reader.ts';
import { takingShown } from '../contract/schedule/shown-schedule.ts';
import type { TerminalSignal } from '../contract/signal/signal.ts';
import type { Reconciliation } from '../contract/tool/reconciliation.ts';
import type { RuntimePolicyClient } from '../contract/policy/runtime-policy.ts';
import type { RuntimeAgentClient } from '../contract/run/runtime-agent.ts';
import type { RuntimeServerClient } from '../contract/tool/runtime-server.ts';
import { runsWithoutClear, schedulesWithoutClear } from './required-encryption.ts';
import { createSubmissionWait, type SubmissionWaitParts } from './submission-wait.ts';
import type { SeenRun } from './read/views.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import { inputIdOf, type RecordedAnswer } from '../contract/tool/tool-question.ts';
import { isApproval } from '../store/request/questions.ts';
import type { Journal } from '../store/request/journal.ts';
import type { PresentWorker, Workers } from '../store/catalog/workers.ts';
import {
  type ListedWorker,
  takesWork,
  type WorkerDrain,
  type WorkerListing,
} from '../contract/request/worker-listing.ts';

/** Calls of the client that concern runs. */
export interface ClientRuns extends Omit<RunCalls, 'start' | 'decideAll'> {
  /** `tenant`: whose the run is. The other methods take scoped ids. */
  start(run: SubmittedRun, options?: StartOptions, tenant?: string): Promise<StartedRun>;
  /** Starts the run of a request again. `requestId`: scoped, as of the other methods. */
  again(requestId: string, body: ReadAgain, options: StartOptions): Promise<RepeatedRequest>;
  /** Starts a fork of the run of a request. */
  fork(requestId: string, body: ReadFork, options: ForkOptions): Promise<RepeatedRequest>;
  /** null: the request has no run. */
  view(requestId: string): Promise<SeenRun | null>;
  /** The context that its run was started in; null: it has no run. */
  traceparent(requestId: string): Promise<string | null>;
  /** null: the request has no run. `parent`: the request whose run started it. */
  family(requestId: string): Promise<(SeenRun & { parent: string | null }) | null>;
  /** Asks the request's run to end, where there is one. */
  cancel(requestId: string, reason: string | null): Promise<void>;
  agents(tenant: string): Promise<AgentListing>;
}

type ReadAgain = z.output<typeof againBodySchema>;
type ReadFork = z.output<typeof forkBodySchema>;

/** The original of a fork, and the options of its start. */
export interface ForkOptions extends StartOptions {
  readonly reads: Pick<DirectiveClient, 'directive'>;
  readonly view: RequestView;
}

/** The lists over all requests of a tenant. */
export interface RequestLists {
  /** `tenant`: `*` for all. */
  requests(query: RequestQuery, tenant: string): Promise<RequestListing>;
  approvals(query: ApprovalQuery, tenant: string): Promise<ApprovalListing>;
  /** Counts of a tenant; `*`: of all together. */
  stats(query: StatsQuery, tenant: string): Promise<Stats>;
  /** Operations over all tenants. */
  reindex(cursor: string | undefined): Promise<ReindexStep>;
}

/** The schedules of a tenant; `client`: submits triggered ones. */
export type SchedulesOf = (
  tenant: string,
  client: Pick<DirectiveClient, 'submit'> & { readonly runs: RunCalls },
) => ScheduleClient;

/** The operations of each tenant; undefined: their section is not enabled. */
export interface AddedClients {
  readonly servers?: ((tenant: string) => RuntimeServerClient) | undefined;
  readonly runtimeAgents?: ((tenant: string) => RuntimeAgentClient) | undefined;
  readonly policies?: ((tenant: string) => RuntimePolicyClient) | undefined;
}

/** Finds out whether a tool call of unknown outcome happened. `ended`: waits for the end of a directive. */
export interface ReconcilerCalls {
  press(
    requestId: string,
    id: string,
    ended: (id: string) => Promise<TerminalSignal | null>,
  ): Promise<Reconciliation>;
}

/** How long a call waits for the tool that is asked, milliseconds. */
const RECONCILE_MS = 20_000;

export interface QueueClientParts extends SubmissionWaitParts, RequestReaderParts {
  canceller: Canceller;
  /** Where directives wait for their turn. Default: none does. */
  gates?: (GateLooks & ChangeInGate) | undefined;
  deadLetters: DeadLetters;
  reconciler: ReconcilerCalls;
  catalog: Catalog;
  lanes: Lanes;
  /** Number of delayed directives in each lane. Default: none. */
  later?: Pick<LaterIndex, 'counts'> | undefined;
  runs: ClientRuns;
  /** Reads requests that Redis no longer holds. Default: nothing is archived. */
  archived?: FindArchived | undefined;
  changes: Pick<ChangedRequests, 'note'>;
  reports: Pick<Reports, 'count'>;
  answer(
    requestId: string,
    inputId: string,
    body: object,
    reason?: string,
  ): ReturnType<DirectiveClient['answer']>;
  lists: RequestLists;
  /** Newest lines of the output of a server. */
  output(server: string): Promise<ServerOutput>;
  budgets(tenant: string): Promise<BudgetListing>;
  schedules: SchedulesOf;
  /** Definitions that a tenant adds while the installation runs. Default: each call is refused. */
  added?: AddedClients | undefined;
  /** Fires schedules: it submits under the ids of firings. Default: they are refused. */
  isFiring?: boolean | undefined;
  /** Closes what the client was built on. */
  close(): Promise<void>;
}

/** The service as one tenant sees it: what others have does not exist. */
export function createQueueClient(parts: QueueClientParts, tenant: string = DEFAULT_TENANT): DirectiveClient {
  const client = singleRequests(parts, tenant);
  return { ...client, ...createBulk(client, parts.deadLetters, tenant) };
}

function singleRequests(parts: QueueClientParts, tenant: string): Omit<DirectiveClient, keyof Bulk> {
  const { journal, canceller, catalog } = parts;
  const whole = wholeResults(parts.payloads);
  const prioritize = createPrioritize(parts.journal, parts.gates);
  const score = createScore(parts);
  const scoped = (requestId: string): string => scopedId(tenant, requestId);

  async function cancel(
    requestId: string,
    directiveId?: string,
    { reason }: { reason?: string } = {},
  ): Promise<Cancellation> {
    if (directiveId === undefined) await whileAvailable(() => cancelRun(requestId, reason ?? null));
    const cancelled = await whileAvailable(() => canceller.cancel(requestId, directiveId, reason));
    if (cancelled) return cancelled;
    throw directiveId === undefined ? unknownRequest(requestId) : unknownDirective(requestId, directiveId);
  }

  /**
   * The run reads the cancellation before the ends of its directives. The request is read first: a run that is started
   * after it is unknown to this cancellation, whose answer must not say otherwise.
   */
  async function cancelRun(requestId: string, reason: string | null): Promise<void> {
    if ((await journal.head(requestId)) === null) throw unknownRequest(requestId);
    await parts.runs.cancel(requestId, reason);
  }

  const runs = runsWithoutClear(runsOf(parts, tenant), tenant, parts.mustEncrypt);
  const senders = { ...createSubmissionWait(parts, whole, tenant), runs };

  const { runs: calls, ...submissions } = parts.isFiring === true ? senders : withoutReservedIds(senders);
  const reader = createRequestReader(parts, whole);
  const reads = readsOf(
    parts.archived === undefined ? reader : withArchived(reader, journal, parts.archived),
    scoped,
  );

  const repeats = createRepeats({ ...parts, ...submissions, tenant, reads });

  const schedules = takingShown(
    schedulesWithoutClear(parts.schedules(tenant, senders), tenant, parts.mustEncrypt),
  );
  const lists = {
    ...listsOf(parts.lists, tenant),
    ...addedOf(parts.added, tenant),
    schedules,
    agents: () => parts.runs.agents(tenant),
    tools: (which: Parameters<DirectiveClient['tools']>[0]) =>
      whileAvailable(async () =>
        toolListing(entriesFor(await catalog.published.tools.read(), tenant), which),
      ),
  };
  return {
    ...submissions,
    ...reads,
    ...repeats,
    ...lists,
    search: createSearch(lists),
    runs: answeredRuns(calls, reads),
    cancel: (requestId, directiveId, options) => cancel(scoped(requestId), directiveId, options),
    prioritize: async (requestId, directiveId, priority) => {
      const { priority: read } = readInput(priorityBodySchema, { priority }, 'invalid_body');
      return whileAvailable(() => prioritize(scoped(requestId), directiveId, read));
    },
    score: (requestId, body) => whileAvailable(() => score(scoped(requestId), body)),
    answer: (requestId, inputId, body) => parts.answer(scoped(requestId), inputId, body),
    deadLetters: (query = {}) => whileAvailable(() => parts.deadLetters.list(query, tenant)),
    deadLetterGroups: ({ tenant: named = tenant } = {}) =>
      whileAvailable(() => parts.deadLetters.groups(named)),
    redrive: async (which, { signal } = {}) => {
      const read = redriveBodySchema.safeParse(which);
      if (!read.success) throw refusedAt('invalid_body', fieldErrors(read.error));
      const redrive = await whileAvailable(() =>
        parts.deadLetters.redrive(read.data, tenant, { ...bulkClocks(signal), signal }),
      );
      return parts.archived === undefined ? redrive : refusingArchived(redrive, reads.request);
    },
    reconcile: (requestId, directiveId) =>
      whileAvailable(() =>
        parts.reconciler.press(scoped(requestId), directiveId, async (id) =>
          submissions.result(requestId, id, { timeoutMs: RECONCILE_MS }),
        ),
      ),
    lanes: () =>
      whileAvailable(() =>
        listLanes({
          ...parts,
          kinds: [...(parts.parsing.customTypes?.keys() ?? [])],
          tenant,
        }),
      ),
    budgets: () => whileAvailable(() => parts.budgets(tenant)),
    serverOutput: (server) => whileAvailable(() => outputOf(parts, server)),
    workers: () => whileAvailable(() => listWorkers(catalog.workers, tenant)),
    drainWorker: (id, drain = true) => whileAvailable(() => drainWorker(catalog.workers, id, drain)),
    close: () => parts.close(),
  };
}

/** Throws `DirectiveRefused` (`not_found`) for a server that no worker serves or has served. */
async function outputOf({ catalog, output }: QueueClientParts, server: string): Promise<ServerOutput> {
  const found = await output(server);
  if (found.lines.length > 0) return found;
  const entries = await catalog.published.tools.read();
  if (entries.some((entry) => entry.server === server)) return found;
  throw new DirectiveRefused(problem('not_found', { detail: `There is no MCP server ${server}.` }));
}

function addedOf(
  { servers, runtimeAgents, policies }: AddedClients = {},
  tenant: string,
): Pick<DirectiveClient, keyof AddedClients> {
  const operations = ['list', 'get', 'put', 'remove', 'test'];
  return {
    servers: servers?.(tenant) ?? off<RuntimeServerClient>('servers', operations),
    runtimeAgents: runtimeAgents?.(tenant) ?? off<RuntimeAgentClient>('agents', operations),
    policies: policies?.(tenant) ?? off<RuntimePolicyClient>('policies', operations),
  };
}

/** Each operation throws `DirectiveRefused` (`not_found`). */
function off<Client extends object>(what: string, operations: readonly string[]): Client {
  const detail = `Tenants add no ${what} here: the section runtime_${what} is not enabled.`;
  const refuse = async (): Promise<never> =>
    Promise.reject(new DirectiveRefused(problem('not_found', { detail })));
  return Object.fromEntries(operations.map((name) => [name, refuse])) as Client;
}

function runsOf({ runs, journal, answer }: QueueClientParts, tenant: string): RunCalls {
  const { start, input, resume } = runs;
  const ofCall = createCallDecision({ journal, answer });
  const decide: RunCalls['decide'] = async (requestId, callId, body) => {
    const read = readBody(approvalDecisionBodySchema, body);
    const scoped = scopedId(tenant, requestId);
    return (await ofCall(scoped, callId, read)) ?? runs.decide(scoped, callId, read);
  };
  return {
    start: (run, options) => start(run, options, tenant),
    input: (requestId, body) => input(scopedId(tenant, requestId), body),
    resume: (requestId, body, options) => resume(scopedId(tenant, requestId), body, options),
    decide,
    decideAll: async (body) => decideEach(decide, readBody(bulkDecisionBodySchema, body)),
  };
}

function readsOf(reader: Reads, scoped: (requestId: string) => string): Reads {
  return {
    signals: (requestId, options) => reader.signals(scoped(requestId), options),
    page: (requestId, options) => reader.page(scoped(requestId), options),
    request: (requestId) => reader.request(scoped(requestId)),
    trace: (requestId, options) => reader.trace(scoped(requestId), options),
    directive: (requestId, directiveId) => reader.directive(scoped(requestId), directiveId),
    payload: (requestId, directiveId) => reader.payload(scoped(requestId), directiveId),
  };
}

function listsOf(
  lists: RequestLists,
  tenant: string,
): Pick<DirectiveClient, 'requests' | 'approvals' | 'reindex' | 'stats'> {
  return {
    requests: async (query = {}) => {
      const read = readInput(requestQuerySchema, query, 'invalid_query');
      return whileAvailable(() => lists.requests(read, read.tenant ?? tenant));
    },
    stats: async (query = {}) => {
      const read = readInput(statsQuerySchema, query, 'invalid_query');
      return whileAvailable(() => lists.stats(read, read.tenant ?? tenant));
    },
    approvals: async (query = {}) => {
      const read = readInput(approvalQuerySchema, query, 'invalid_query');
      return whileAvailable(() => lists.approvals(read, read.tenant ?? tenant));
    },
    reindex: async (options = {}) => {
      const { cursor } = readInput(reindexBodySchema, options, 'invalid_query');
      return whileAvailable(() => lists.reindex(cursor));
    },
  };
}

interface DecideCallParts {
  journal: Pick<Journal, 'directive' | 'questions'>;
  answer(requestId: string, inputId: string, body: object, reason?: string): Promise<RecordedAnswer>;
}

/** null: the id names no directive that was asked about so. */
function createCallDecision({ journal, answer }: DecideCallParts) {
  return async (
    requestId: string,
    callId: string,
    { decision, reason, by, arguments: edited }: ApprovalDecisionBody,
  ): Promise<RecordedDecision | null> => {
    const [record, round] = await whileAvailable(() =>
      Promise.all([journal.directive(requestId, callId), journal.questions.round(requestId, callId)]),
    );
    if (record === null || record.asked === null) return null;
    if (round === null || !isApproval(round)) return null;
    if (edited !== undefined) {
      const message = 'a call without an agent is approved as it is: deny it, and submit another one';
      throw refusedAt('invalid_body', [{ path: 'arguments', message }]);
    }
    const action = decision === 'approve' ? 'accept' : 'decline';
    const given = { action, ...(by === undefined ? {} : { by }) };
    const recorded = await answer(requestId, inputIdOf(callId, record.asked.first), given, reason);
    return {
      request_id: ownId(requestId),
      call_id: callId,
      decision,
      ...(recorded.by === undefined ? {} : { by: recorded.by }),
      decided_at: recorded.answered_at,
    };
  };
}

export async function listWorkers(
  workers: Pick<Workers, 'read'>,
  tenant: string = DEFAULT_TENANT,
): Promise<WorkerListing> {
  const seen = ({ lanes, ...worker }: PresentWorker): PresentWorker => ({
    ...worker,
    lanes: lanes?.filter(({ name }) => isLaneSeen(name, tenant)) ?? null,
  });
  return { workers: (await workers.read()).map((worker) => listed(seen(worker))) };
}

/** Refused where there is no such process, and where it has no work that it could stop taking. */
export async function drainWorker(
  workers: Pick<Workers, 'read' | 'setDrain'>,
  id: string,
  drain: boolean,
): Promise<WorkerDrain> {
  if (drain && (await workers.read()).some((each) => each.id === id && !takesWork(each)))
    throw notAWorker(id);
  if (!(await workers.setDrain(id, drain))) throw unknownWorker(id);
  return { id, drain };
}

function listed({ id, roles, state, host, pid, version, lanes, ...worker }: PresentWorker): ListedWorker {
  const [running, concurrency] = (['running', 'concurrency'] as const).map((name) =>
    (lanes ?? []).reduce((sum, lane) => sum + lane[name], 0),
  ) as [number, number];
  return {
    id,
    roles,
    state: state === 'draining' && running === 0 ? 'drained' : state,
    host,
    pid,
    version,
    started_at: new Date(worker.started_at).toISOString(),
    seen_at: new Date(worker.seenAt).toISOString(),
    silent_ms: Math.max(0, Math.round(worker.silentMs)),
    running,
    concurrency,
    lanes:
      lanes?.map((lane) => ({ name: lane.name, concurrency: lane.concurrency, running: lane.running })) ??
      null,
  };
}
