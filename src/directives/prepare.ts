// Prepares directives for their acceptance: routed and digested; immediate ones already carry their end.
// Must never write: what is prepared may still be refused.
import { type Directive, DIRECTIVE_TYPES } from '../contract/directive/directive.ts';
import { encodedIn, ENCRYPTED, encryptedFields } from '../contract/encrypted/encrypted.ts';
import { type Later, type LaterFields, laterOf } from '../contract/directive/later.ts';
import type { Spender } from '../contract/model/budget.ts';
import { type FlowSettings, NO_FLOW, type Ticket, type Tickets } from '../contract/directive/flow.ts';
import { type EndNotices, UNKNOWN_END_NOTICES } from '../contract/signal/end-notices.ts';
import { errorResult, type Result } from '../contract/result.ts';
import { contentDigest } from '../store/request/content-digest.ts';
import { tenantOf } from '../contract/access/tenant.ts';
import { ticketsOf } from '../queue/flow/ticket.ts';
import { encodeEnvelope, type Envelope } from '../store/request/envelope.ts';
import type { Acceptance, Announcement } from '../store/request/journal.ts';
import { terminalSignal } from '../store/log/terminal-signal.ts';
import { FIRST_LOOK_MS, type LaneJob } from '../queue/entrance.ts';
import { type JobData, jobDataOf, jobOptionsOf } from '../queue/job.ts';
import type { Catalog } from '../store/catalog/catalog.ts';
import { NO_MODELS } from '../store/catalog/known-models.ts';
import { type Known, type KnownServers, type Route, routeOf } from '../store/catalog/route.ts';
import { type SpanParent, traceparentOf } from '../platform/telemetry/traces/span-place.ts';
import { NO_SPANS, type Spans } from '../platform/telemetry/traces/spans.ts';
import { flowAttributes } from './read/flow-attributes.ts';
import { type CallNotice, isNoticed, noticeAnnouncement } from './sweep/notice.ts';
import { type DraftedSpan, refusedSpan, sendPlace, sendSpan } from './read/send-span.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import type { Reports } from '../platform/telemetry/reports.ts';

/** The result of a directive that needs no worker; null for work directives. */
export type ExecuteImmediately = (directive: Directive) => Result | null;

/** A directive on its way in: what will be accepted, and its job. */
export interface Prepared {
  acceptance: Acceptance;
  directive: Directive;
  job: JobData;
  /** To be reported when it was accepted; null: its trace is not recorded, or it has none. */
  span: DraftedSpan | null;
  /** With what it enters the gate of its lane; null: it is enqueued at once. */
  ticket: Ticket | null;
  /** Whether a receiver may have to be notified of its end. */
  noticed: boolean;
}

export interface PreparerOptions {
  spans?: Spans;
  /** Owner of the budget that callers spend. Default: none. */
  caller?: () => Spender | undefined;
  /** Asked for each submission, by its tenant. Default: only what callers ask for. */
  flow?: (tenant: string) => FlowSettings;
  /** Names of models, or aliases, that a budget may go on with. Default: none. */
  cheaper?: readonly string[];
  /** Default: no rule notifies. */
  endNotices?: Pick<EndNotices, 'concerns'>;
}

/**
 * Under which id the directives were encrypted, and whether by a caller; default: by a run, under their own. And the agent whose run
 * submits them; default: none. And the caller on whose behalf they call servers; default: the spender.
 */
export type Sealing = Pick<Envelope, 'sealedAs' | 'callersContext' | 'agent' | 'actsFor' | 'inquiryOf'>;

export interface Preparer {
  /** In the same order, in one trace. `spender`: default: the caller. */
  prepare(
    directives: readonly Directive[],
    traceparent: string,
    spender?: Spender,
    sealing?: Sealing,
  ): Promise<Prepared[]>;
}

/** Facts of a directive before it is prepared. */
interface Preparation {
  readonly route: Route | Result;
  /** Models that a budget may go on with. */
  readonly instead: readonly string[];
  readonly flow: FlowSettings;
  readonly spender: Spender | undefined;
  readonly sealing: Sealing;
}

const DEFAULT_DEADLINE_MS = 900_000;

/** As far as it concerns this directive. */
function sealingOf(directive: Directive, { callersContext, ...under }: Sealing): Sealing {
  const isSealed = directive.type === 'tool_exec' && encodedIn(directive.context) !== null;
  return callersContext === true && isSealed ? { ...under, callersContext } : under;
}

const NOWHERE = { lane: null, models: undefined };

/** `catalog`: what routing knows. */
export function createPreparer(
  catalog: Pick<Catalog, 'servers' | 'models'>,
  executeImmediately: ExecuteImmediately,
  {
    spans = NO_SPANS,
    caller = () => undefined,
    flow: flowFor = () => NO_FLOW,
    cheaper = [],
    endNotices = UNKNOWN_END_NOTICES,
  }: PreparerOptions = {},
): Preparer {
  async function prepareAll(
    directives: readonly Directive[],
    traceparent: string,
    spender: Spender | undefined = caller(),
    sealing: Sealing = {},
  ): Promise<Prepared[]> {
    const routes = await routesOf(catalog, executeImmediately, directives);
    const flow = flowFor(tenantOf(directives[0]?.request_id ?? ''));
    const instead = await modelsInstead(catalog, flow, { cheaper, directives });
    const parent = spans.under(traceparent);
    return directives.map((directive, position) => {
      const route = routes[position] as Route | Result;
      const span = parent && spanOf(parent, directive, route);
      // What the attempts are made under.
      const context = span?.kind === 'producer' ? traceparentOf(span.place) : traceparent;
      const prepared = prepare(directive, context, { route, instead, flow, spender, sealing });
      return { ...prepared, span: span && withFlow(span, directive, prepared.ticket, spans) };
    });
  }

  function prepare(
    directive: Directive,
    traceparent: string,
    { route, instead, flow, spender, sealing }: Preparation,
  ): Omit<Prepared, 'span'> {
    const digest = contentDigest(withoutNonces(directive));
    const { lane, models } = 'kind' in route && route.kind === 'lane' ? route : NOWHERE;
    const tickets = ticketsIn(directive, flow, lane, models && [...models, ...instead]);
    const noticed = isNoticed(endNotices, directive);
    const envelope: Envelope = {
      directive,
      lane,
      traceparent,
      ...(models ? { models } : {}),
      ...(spender && lane !== null ? { spender } : {}),
      ...tickets,
      ...(noticed ? { noticed } : {}),
      ...sealingOf(directive, sealing),
    };
    const job = jobDataOf(envelope, { digest, lane });
    const result = 'kind' in route ? (route.kind === 'ended' ? errorResult(route.error) : null) : route;
    const origin = { requestId: directive.request_id, causationId: directive.id, traceparent };
    const acceptance: Acceptance = {
      id: directive.id,
      type: directive.type,
      digest,
      lane,
      deadlineMs: deadlineOf(directive),
      later: beginOf(directive),
      envelope: encodeEnvelope(envelope),
      job: lane === null ? undefined : { data: job, options: jobOptionsOf(job) },
      noticed,
      ...(result
        ? { end: { status: endStatus(directive, result), signal: terminalSignal(directive, result, origin) } }
        : {}),
    };
    const ticket = tickets.ticket ?? null;
    return { acceptance, directive, job, ticket, noticed };
  }

  return { prepare: prepareAll };
}

function ticketsIn(
  directive: Directive,
  settings: FlowSettings,
  lane: string | null,
  models: readonly string[] | undefined,
): Tickets {
  return lane === null ? NO_TICKETS : ticketsOf(directive, { settings, lane, models });
}

/** Reads the known names again where one is missing. */
async function routesOf(
  catalog: Pick<Catalog, 'servers' | 'models'>,
  executeImmediately: ExecuteImmediately,
  directives: readonly Directive[],
): Promise<(Route | Result)[]> {
  const known: Known = {
    servers: directives.some(isTool) ? await catalog.servers.current() : NO_SERVERS,
    models: directives.some(isAsk) ? await catalog.models.current() : NO_MODELS,
  };
  const routed = (directive: Directive): Route | Result =>
    executeImmediately(directive) ?? routeOf(directive, known);
  const routes = directives.map(routed);
  const lost = directives.filter((_, position) => isLost(routes[position]));
  if (lost.length === 0) return routes;
  if (lost.some(isTool)) known.servers = await catalog.servers.recheck();
  if (lost.some(isAsk)) known.models = await catalog.models.recheck();
  return directives.map(routed);
}

/** Cheaper models of a budget: they matter only where lanes differ. */
async function modelsInstead(
  { models }: Pick<Catalog, 'models'>,
  { rules, lanes }: FlowSettings,
  { cheaper, directives }: { cheaper: readonly string[]; directives: readonly Directive[] },
): Promise<readonly string[]> {
  const differs = rules.length > 0 || lanes.length > 0;
  if (cheaper.length === 0 || !differs || !directives.some(isAsk)) return [];
  const { aliases } = await models.current();
  return cheaper.flatMap((name) => aliases.get(name) ?? [name]);
}

/** Immediate directives succeed by saying what they were told to say, even if that is an error. */
function endStatus(directive: Directive, result: Result): 'succeeded' | 'failed' {
  return result.ok || directive.type.startsWith('emit_') ? 'succeeded' : 'failed';
}

const NO_TICKETS: Tickets = {};
const NO_SERVERS: KnownServers = new Map();

const isTool = ({ type }: Directive): boolean => type === 'tool_exec';
const isAsk = ({ type }: Directive): boolean => type.startsWith('llm_');

function isLost(route: Route | Result | undefined): boolean {
  return route !== undefined && 'kind' in route && route.kind === 'ended';
}

function spanOf(parent: SpanParent, directive: Directive, route: Route | Result): DraftedSpan | null {
  if (!('kind' in route)) return null;
  if (route.kind === 'ended') return refusedSpan(parent, directive, route.error.type);
  return sendSpan(sendPlace(parent, directive), directive, route.lane);
}

function withFlow(
  span: DraftedSpan,
  directive: Directive,
  ticket: Ticket | null,
  { content }: Spans,
): DraftedSpan {
  return { ...span, attributes: { ...span.attributes, ...flowAttributes(directive, ticket, content) } };
}

/** Reports what was prepared, once the journal has answered. `error`: it did not, and may hold it all the same. */
export function reportSent(
  spans: Spans,
  prepared: readonly Prepared[],
  startedAt: number,
  error?: string,
): void {
  const endedAt = spans.now();
  for (const { span } of prepared)
    if (span !== null)
      spans.report({ ...span, startedAt, endedAt, ...(error === undefined ? {} : { error }) });
}

/** Ciphertext differs each time: its keyed digest represents it, so that a repeat is recognised. */
function withoutNonces(directive: Directive): Directive {
  const fields = encryptedFields(directive);
  if (fields.length === 0) return directive;
  const digests = fields.map(({ field, encoded: { codec, key_id, digest } }) => [
    field,
    { [ENCRYPTED]: { codec, key_id, digest } },
  ]);
  return { ...directive, ...(Object.fromEntries(digests) as object) };
}

/** A user's own kind may mean something else by the name. */
function deadlineOf(directive: Directive): number {
  const { deadline_ms } = directive as { deadline_ms?: unknown };
  return typeof deadline_ms === 'number' ? deadline_ms : DEFAULT_DEADLINE_MS;
}

/** Like the deadline, but only for types of this contract: a field of another type delays nothing. */
function beginOf(directive: Directive): Later | null {
  return DIRECTIVE_TYPES.includes(directive.type) ? laterOf(directive as LaterFields) : null;
}

/** Whether the directive begins later, and is enqueued then. */
export function isLaterOn({ acceptance }: Pick<Prepared, 'acceptance'>): boolean {
  return acceptance.lane !== null && Boolean(acceptance.later?.when);
}

/** Directives with a lane; the others end at acceptance. */
export function withLane(prepared: readonly Prepared[]): Prepared[] {
  return prepared.filter(({ acceptance }) => acceptance.lane !== null);
}

/** The jobs of directives that begin at once. `acceptedAt`: milliseconds since the epoch. */
export function jobsOf(open: readonly Prepared[], acceptedAt: number): LaneJob[] {
  return open
    .filter((each) => !isLaterOn(each))
    .map(({ acceptance: { lane, deadlineMs }, job, ticket }) => ({
      lane: lane ?? '',
      data: { ...job, deadline_at: acceptedAt + deadlineMs },
      ...(ticket === null ? {} : { ticket }),
    }));
}

/** Redis does nothing else while it accepts and enqueues them. */
const MOST_TOGETHER = 128;

/** The lane of all of them; undefined: there is none, or several, or one has a gate before it, or more than one script takes. */
export function onlyLaneOf(open: readonly Prepared[]): string | undefined {
  const [lane, ...others] = new Set(open.map(({ acceptance }) => acceptance.lane));
  const isAlone = others.length === 0 && open.length <= MOST_TOGETHER;
  return isAlone && open.every(({ ticket }) => ticket === null) ? (lane ?? undefined) : undefined;
}

/** Notices of ends, announced with their directives: an end is passed on although the process that ended it dies. */
export function noticesOf(prepared: readonly Prepared[]): Announcement[] {
  return prepared.filter(({ noticed }) => noticed).map(({ acceptance }) => noticeAnnouncement(acceptance.id));
}

/** Results of directives that ended at acceptance. */
export function callEnded(prepared: readonly Prepared[], call: CallNotice | undefined): void {
  for (const { noticed, acceptance, job } of prepared)
    if (noticed && acceptance.end) call?.(job.request_id, acceptance.id);
}

/** Soon enough that a short deadline is not missed. */
export function announcementsOf(open: readonly Prepared[]): Announcement[] {
  const bounds = open.map(({ acceptance: { deadlineMs, later } }) =>
    Math.min(deadlineMs, later?.startByMs ?? Infinity),
  );
  const afterMs = Math.min(FIRST_LOOK_MS, ...bounds);
  return open.map(({ acceptance: { id, lane, later } }) => ({
    id,
    afterMs,
    ...(later?.when && lane !== null ? { later: { when: later.when, lane } } : {}),
  }));
}

/** `accepted`: now, and not before. */
export function reportImmediate(reports: Reports, accepted: readonly Prepared[]): void {
  for (const { acceptance, job, directive } of accepted) {
    const { id, end, lane } = acceptance;
    if (end === undefined) continue;
    const error = end.status === 'failed' ? errorOf(end.signal.data) : null;
    const { traceparent } = end.signal;
    reports.ended({ requestId: job.request_id, id, directive, lane, traceparent, error, durationMs: 0 });
  }
}

function errorOf(data: unknown): ErrorEnvelope | null {
  return (data as { result?: { error?: ErrorEnvelope } }).result?.error ?? null;
}
