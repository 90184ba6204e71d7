// The views of requests and directives, made from the journal's records. Never shows claims, leases or fencing numbers.
import type { Tickets } from '../../contract/directive/flow.ts';
import { limitText } from '../../queue/flow/gate-wait.ts';
import { ticketNow } from '../../queue/flow/ticket.ts';
import { ownId, withOwnId } from '../../contract/access/tenant.ts';
import type { DirectiveSummary, DirectiveView, RequestView } from '../../contract/request/request-view.ts';
import type { RunView } from '../../contract/run/run.ts';
import { lostWait, type WaitFacts, waitOf } from '../../contract/request/waiting.ts';
import { inputIdOf, type OpenInput } from '../../contract/tool/tool-question.ts';
import type { Envelope } from '../../store/request/envelope.ts';
import type { QuestionRound } from '../../store/request/questions.ts';
import {
  beginsLater,
  type DirectiveRecord,
  dueFrom,
  type RequestRecord,
} from '../../store/request/records.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { traceIdOf } from '../../platform/telemetry/traces/trace-context.ts';
import { instant, instantOrNull } from '../../queue/instant.ts';
import type { Notices } from '../sweep/notice-reader.ts';
import { RUN_ENTRY } from '../../queue/run-wake.ts';
import type { LaneWait } from '../../queue/lane-waits.ts';

/** Open questions of tools, by directive. */
export type OpenRounds = ReadonlyMap<string, QuestionRound>;

/** Lane → why its directives wait at present. */
export type PresentWaits = ReadonlyMap<string, LaneWait>;

/** Data beside the records of directives. */
export interface SeenNow {
  rounds: OpenRounds;
  present: PresentWaits;
  /** Directive → what it waits for in the gate of its lane. */
  gated: ReadonlyMap<string, WaitFacts>;
  /** Time of Redis, milliseconds since the epoch, not after the records were read. */
  now: number;
  notices: Notices;
}

/** Result of an ended directive. */
export const NOTHING_NOW: Omit<SeenNow, 'now'> = {
  rounds: new Map(),
  present: new Map(),
  gated: new Map(),
  notices: new Map(),
};

function directiveSummary(requestId: string, record: DirectiveRecord, seen: SeenNow): DirectiveSummary {
  const { waiting } = waitingOf(record, seen);
  return {
    id: record.id,
    type: record.type as DirectiveSummary['type'],
    request_id: ownId(requestId),
    // Its worker has claimed it, and waits for a program: nothing is in flight.
    status: waiting?.reason === 'no_program' && record.status === 'running' ? 'waiting' : record.status,
    lane: record.lane,
    attempts: record.fence - record.released,
    failures: record.failures,
    redeliveries: record.redeliveries,
    accepted_at: instant(record.acceptedAt),
    started_at: instantOrNull(record.startedAt),
    ended_at: instantOrNull(record.endedAt),
    deadline_at: instant(record.deadlineAt),
    next_attempt_at: instantOrNull(record.nextAttemptAt),
    ...beginOf(record),
    digest: record.digest,
    ...(waiting === undefined ? {} : { waiting }),
    ...inputsOf(record, seen.rounds),
    ...noticesOf(seen.notices, record.id),
  };
}

function beginOf({ begin, behind }: DirectiveRecord): Pick<DirectiveSummary, 'begins_at' | 'start_by_at'> {
  // Nobody knows when.
  if (begin === null || behind) return {};
  return { begins_at: instant(begin.at), ...(begin.by === null ? {} : { start_by_at: instant(begin.by) }) };
}

/** Those of the round that have an answer are shown until all have one: answering again says who answered. */
function inputsOf({ id, asked }: DirectiveRecord, rounds: OpenRounds): Pick<DirectiveSummary, 'inputs'> {
  const round = asked === null ? undefined : rounds.get(id);
  if (asked === null || round === undefined) return {};
  const deadline_at = instant(asked.untilAt);
  const inputs = round.questions.map(({ key, question }, index) => ({
    input_id: inputIdOf(id, asked.first + index),
    ...(key === '' ? {} : { key }),
    ...question,
    deadline_at,
  }));
  return { inputs: inputs as OpenInput[] };
}

export function noticesOf(notices: Notices, subject: string): Pick<DirectiveSummary, 'notices'> {
  const found = notices.get(subject);
  return found === undefined ? {} : { notices: [...found] };
}

/** `pageOf`: the page of a trace; null: there is none. */
export type TracePage = ((traceId: string) => string) | null;

/** `template`: where a trace is shown, with `{trace_id}` in it; null: nowhere. */
export function tracePageOf(template: string | null): TracePage {
  return template === null ? null : (traceId) => template.replaceAll('{trace_id}', traceId);
}

/** Trace id and link for a reader; `traceparent` null: not known yet. */
export function traceView(
  traceparent: string | null,
  pageOf: TracePage,
): Pick<RequestView, 'trace_id' | 'trace_url'> {
  if (traceparent === null) return {};
  const traceId = traceIdOf(traceparent);
  return { trace_id: traceId, ...(pageOf === null ? {} : { trace_url: pageOf(traceId) }) };
}

/** `noticed`: a receiver may have to be notified of its end. */
export interface SeenRun {
  view: RunView;
  noticed: boolean;
}

/** The journal has the reason; what is known beside it is what is known now. */
function waitingOf(record: DirectiveRecord, seen: SeenNow): Pick<DirectiveSummary, 'waiting'> {
  const { lane } = record;
  const wait = lane === null ? null : waitIn(lane, record, seen);
  return lane === null || wait === null
    ? {}
    : { waiting: waitOf(lane, { sinceAt: sinceOf(record, wait), ...wait }) };
}

function waitIn(lane: string, record: DirectiveRecord, { present, gated, now }: SeenNow): WaitFacts | null {
  const { waits, leaseUntil, behind } = record;
  if (behind && record.terminal === null) return { reason: 'singleton', untilAt: null };
  const untilAt = beginsLater(record, now);
  if (untilAt !== null) return { reason: 'later', untilAt, sinceAt: record.acceptedAt };
  const known = present.get(lane);
  const inGate = gated.get(record.id);
  // Where no worker serves the lane, or its server is away, the gate opens for none.
  if (inGate !== undefined && (known === undefined || known.reason === 'concurrency')) return inGate;
  if (leaseUntil !== null && leaseUntil <= now)
    return { ...lostWait(lane, leaseUntil, known ?? null), sinceAt: leaseUntil };
  // The worker that has claimed it waits for a program, too.
  if (record.status === 'running' && known?.reason === 'no_program') return known;
  const again = waits ?? retryOf(record);
  // The sweeper notes the reason a moment later.
  if (again === null && record.status === 'accepted') return known ?? null;
  return known !== undefined && known.reason === again?.reason ? known : again;
}

/** undefined: the instant of a question is in the log alone. */
function sinceOf(record: DirectiveRecord, { reason }: WaitFacts): number | undefined {
  return reason === 'input_required' ? undefined : (record.startedAt ?? dueFrom(record));
}

/** Since when its attempts fail, and when the next one is made; null: none has failed, or it is not waiting. */
function retryOf({ status, failures, startedAt, nextAttemptAt }: DirectiveRecord): WaitFacts | null {
  if (status !== 'waiting' || failures === 0 || nextAttemptAt === null) return null;
  const since = startedAt === null ? '' : ` since ${new Date(startedAt).toISOString()}`;
  const times = failures === 1 ? '1 attempt has failed' : `${failures} attempts have failed`;
  return { reason: 'retry', untilAt: nextAttemptAt, detail: `${times}${since}` };
}

export function directiveView(
  requestId: string,
  record: DirectiveRecord,
  { directive, traceparent, ...tickets }: Envelope,
  result: Signal | null,
  { pageOf, ...seen }: { pageOf: TracePage } & SeenNow,
): DirectiveView {
  const trace = traceView(traceparent, pageOf);
  return {
    ...directiveSummary(requestId, record, seen),
    ...trace,
    ...ticketView(tickets, record),
    directive: withOwnId(directive),
    result,
  };
}

function ticketView(tickets: Tickets, { lane, priority }: DirectiveRecord) {
  const ticket = lane === null ? null : ticketNow(tickets, lane, priority);
  if (ticket === null) return {};
  const limits = ticket.limits.map(limitText);
  return { priority: ticket.priority, ...(limits.length === 0 ? {} : { limits }) };
}

export function requestView(
  requestId: string,
  record: RequestRecord,
  { directives, ...seen }: { directives: readonly DirectiveRecord[] } & SeenNow,
  run: SeenRun | null,
  trace: Pick<RequestView, 'trace_id' | 'trace_url'>,
): RequestView {
  return {
    request_id: ownId(requestId),
    status: record.status,
    sequence: record.sequence,
    open: record.open,
    created_at: instant(record.createdAt),
    closed_at: instantOrNull(record.closedAt),
    ...trace,
    directives: directives.map((directive) => directiveSummary(requestId, directive, seen)),
    ...(record.descendants === undefined ? {} : { descendants: [...record.descendants] }),
    ...(run ? { run: run.view } : {}),
    ...noticesOf(seen.notices, RUN_ENTRY),
  };
}
