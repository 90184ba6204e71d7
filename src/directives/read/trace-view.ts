// The trace of a request as a reader sees it, made of what the journal and its log hold.
// Must never do I/O, nor leave anything out without counting it.
import { ownId } from '../../contract/access/tenant.ts';
import type {
  RequestTrace,
  TracedDirective,
  TracedEvent,
  TracedRun,
  TracedTurn,
} from '../../contract/request/request-trace.ts';
import type { RequestView } from '../../contract/request/request-view.ts';
import type { RunView } from '../../contract/run/run.ts';
import { toolNameIn } from '../../contract/tool/tool-pattern.ts';
import type { TurnNote } from '../../store/request/history.ts';
import type { RequestHistory } from '../../store/request/record-reader.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';
import { instant, instantOrNull } from '../../queue/instant.ts';
import type { Notices } from '../sweep/notice-reader.ts';
import { RUN_ENTRY } from '../../queue/run-wake.ts';
import { claimsLeftOut, tracedAttempts } from './trace-attempts.ts';
import type { LoggedEvent, LogFacts } from './trace-log.ts';
import { noticesOf } from './views.ts';

export interface TraceParts {
  requestId: string;
  history: RequestHistory;
  log: LogFacts;
  /** null: the request has no run. */
  run: { view: RunView; parent: string | null } | null;
  trace: Pick<RequestView, 'trace_id' | 'trace_url'>;
  /** Names of directives that the log does not know. */
  names: ReadonlyMap<string, string>;
  notices: Notices;
  /** Ids of processes by their codes. */
  workers: ReadonlyMap<string, string>;
  /** The most directives. */
  limit: number;
}

export function requestTrace(parts: TraceParts): RequestTrace {
  const { requestId, history, log, run, trace, limit } = parts;
  const { record, directives, now } = history;
  const shown = directives.slice(0, limit);
  const events = sharedOut(parts);
  return {
    request_id: ownId(requestId),
    status: record.status,
    created_at: instant(record.createdAt),
    closed_at: instantOrNull(record.closedAt),
    read_at: instant(now),
    ...trace,
    ...(run === null ? {} : { run: tracedRun(run, parts, events) }),
    directives: shown.map((directive) => tracedDirective(parts, directive, events.of(directive.id))),
    directives_left_out: directives.length - shown.length,
    events: events.others,
    signals_left_out: Math.max(0, record.sequence - log.read) + log.eventsLeftOut,
  };
}

interface SharedEvents {
  of(id: string): TracedEvent[];
  ofTurn(turn: number): TracedEvent[];
  others: TracedEvent[];
}

/** An event belongs to its directive, else to the turn that wrote it, else to the request. */
function sharedOut({ history, log }: TraceParts): SharedEvents {
  const known = new Set(history.directives.map(({ id }) => id));
  const byOwner = Map.groupBy(log.events, ({ callId, sequence }) => {
    if (callId !== null && known.has(callId)) return callId;
    return turnOf(history.turns, sequence) ?? 0;
  });
  const eventsOf = (owner: string | number) => (byOwner.get(owner) ?? []).map(tracedEvent);
  return { of: eventsOf, ofTurn: eventsOf, others: eventsOf(0) };
}

/** The turn that wrote this signal; null: none did. */
function turnOf(turns: readonly TurnNote[], sequence: number): number | null {
  return turns.find(({ after, last }) => sequence > after && sequence <= last)?.version ?? null;
}

function tracedEvent({ at, type, message, until, callId, reason }: LoggedEvent): TracedEvent {
  const isApproval = callId !== null && type.startsWith('ai.tool.approval_');
  return {
    at,
    type,
    message,
    until,
    ...(isApproval ? { call_id: callId } : {}),
    ...(reason === null ? {} : { reason }),
  };
}

function tracedDirective(
  { history, log, names, notices, workers }: TraceParts,
  record: DirectiveRecord,
  logged: readonly TracedEvent[],
): TracedDirective {
  const { id, type, lane, status, acceptedAt, endedAt, deadlineAt } = record;
  const claims = history.claimsOf(record);
  const attempts = tracedAttempts({ record, claims, log, workers, now: history.now });
  const end = log.ends.get(id);
  const name = log.tools.get(id) ?? end?.model ?? names.get(id) ?? null;
  return {
    id,
    type: type as TracedDirective['type'],
    name: name && toolNameIn(lane, name),
    lane,
    status,
    // What a turn sends is accepted in the same step as the turn is written.
    turn: history.turns.find(({ writtenAt }) => writtenAt === acceptedAt)?.version ?? null,
    accepted_at: instant(acceptedAt),
    ...(record.begin === null ? {} : { begins_at: instant(record.begin.at) }),
    ended_at: instantOrNull(endedAt),
    deadline_at: instant(deadlineAt),
    error: status === 'failed' ? (end?.error ?? null) : null,
    attempts,
    attempts_left_out: claimsLeftOut(record, claims),
    events: [...logged, ...cancelEvents(history.cancelAskedAt(id))],
    ...noticesOf(notices, id),
  };
}

function cancelEvents(at: number | null): TracedEvent[] {
  return at === null ? [] : [{ type: 'cancel_requested', at: instant(at), message: '', until: null }];
}

function tracedRun(
  { view, parent }: NonNullable<TraceParts['run']>,
  { history: { turns }, log, notices }: TraceParts,
  events: SharedEvents,
): TracedRun {
  const { agent, status, termination_reason, children } = view;
  const before = turns[0] === undefined ? 0 : turns[0].version - 1;
  return {
    agent,
    status,
    termination_reason,
    parent_request_id: parent,
    turns: turns.map((turn) => tracedTurn(turn, events)),
    turns_left_out: before,
    children: children.map(({ tag, request_id, status: childStatus }) => {
      const started = log.children.get(request_id);
      const turn = started === undefined ? null : turnOf(turns, started);
      return { tag, request_id, status: childStatus, turn };
    }),
    ...noticesOf(notices, RUN_ENTRY),
  };
}

function tracedTurn({ version, readAt, writtenAt }: TurnNote, events: SharedEvents): TracedTurn {
  return {
    turn: version,
    started_at: instant(Math.min(readAt, writtenAt)),
    ended_at: instant(writtenAt),
    events: events.ofTurn(version),
  };
}
