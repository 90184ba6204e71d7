// The waits of a directive of a trace, as intervals. Never closes an interval by a guess: an unknown end is null.
import type { RequestTrace, TracedAttempt, TracedDirective, TracedEvent } from './request-trace.ts';
import type { TimelineWait } from './request-timeline.ts';

const PAUSES: ReadonlySet<string> = new Set([
  'rate_limited',
  'limit_reached',
  'concurrency',
  'turn',
  'limit',
]);
/** Reasons of directives in the gate of their lane since they could begin; the signal comes some seconds later. */
const IN_GATE: ReadonlySet<string> = new Set(['turn', 'limit']);
const FAILED_OVER: ReadonlySet<string> = new Set(['retry', 'fallback']);

/** Oldest first; those without a beginning first. */
export function waitsOf(directive: TracedDirective, readAt: string): TimelineWait[] {
  const { events, ended_at: ended } = directive;
  const waits = [
    ...untilBegin(directive, readAt),
    ...betweenAttempts(directive, readAt),
    ...approvalWaits(events, { readAt, endedAt: directive.accepted_at }),
    ...questionWaits(events, ended),
  ];
  return waits.sort((left, right) => at(left.from) - at(right.from));
}

/** The wait until the directive may begin. */
function untilBegin({ accepted_at: from, begins_at: due, ended_at: ended }: TracedDirective, readAt: string) {
  if (due === undefined || at(due) <= at(from)) return [];
  const isCut = ended !== null && at(ended) < at(due);
  const open = ended === null && at(readAt) < at(due);
  return [{ kind: 'later', from, until: isCut ? ended : due, open, why: null, due_at: due }];
}

/** Before the first claim, between two claims, and after the last one while the directive is open. */
function betweenAttempts(directive: TracedDirective, readAt: string): TimelineWait[] {
  const { attempts, attempts_left_out: missing } = directive;
  const accepted = directive.begins_at ?? directive.accepted_at;
  // It is in no lane before it may begin.
  if (attempts.length === 0 && at(accepted) > at(readAt)) return [];
  if (attempts.length === 0) return queued(directive, { from: accepted, next: undefined, why: null });
  return attempts.flatMap((attempt, place) => {
    const before = attempts[place - 1];
    // Claims between the first one and the newest may be missing: what came before is then unknown.
    const isFirst = place === 0 && (attempt.attempt === 1 || missing === 0);
    const from = attempt.due_at ?? (isFirst ? accepted : null);
    const why = before?.outcome === 'worker_lost' ? 'worker_lost' : null;
    const took = from === null ? [] : queued(directive, { from, next: attempt, why });
    const isLast = place === attempts.length - 1;
    return [...took, ...delays(attempt), ...(isLast ? afterLast(directive, attempt) : [])];
  });
}

/** Between the end of an attempt and the instant from which another may begin. */
function delays({ outcome, reason, ended_at: from, delay_ms: delayMs }: TracedAttempt): TimelineWait[] {
  if (from === null || delayMs === null || delayMs === 0 || reason === 'input_required') return [];
  const until = new Date(Date.parse(from) + delayMs).toISOString();
  const kind = FAILED_OVER.has(outcome) ? 'backoff' : outcome === 'paused' ? pauseKind(reason) : null;
  if (kind === null) return [];
  return [{ kind, from, until, open: false, why: reason, due_at: until }];
}

function pauseKind(reason: string | null): string {
  return reason !== null && PAUSES.has(reason) ? 'paused' : 'blocked';
}

/** The wait of a directive that is open after its last attempt. */
function afterLast(directive: TracedDirective, last: TracedAttempt): TimelineWait[] {
  const { status } = directive;
  const goesOn = last.ended_at !== null && (status === 'waiting' || last.outcome === 'worker_lost');
  if (!goesOn || last.ended_at === null || last.reason === 'input_required') return [];
  const from = new Date(Date.parse(last.ended_at) + (last.delay_ms ?? 0)).toISOString();
  const why = last.outcome === 'worker_lost' ? 'worker_lost' : null;
  return queued(directive, { from, next: undefined, why });
}

interface Queued {
  from: string;
  /** The next attempt; undefined: not claimed. */
  next: TracedAttempt | undefined;
  why: string | null;
}

/** In its lane; from the first signal that says why it is not dequeued, with that reason; in a gate from the beginning. */
function queued(directive: TracedDirective, { from, next, why }: Queued): TimelineWait[] {
  const { status, ended_at: ended } = directive;
  const isOpen = next === undefined && status !== 'succeeded' && status !== 'failed';
  const until = next === undefined ? ended : next.claimed_at;
  // A claim that only notes why nothing was called is no end of its own.
  if (until !== null && at(until) <= at(from)) return [];
  const said = directive.events.filter(
    (event) =>
      event.type === 'directive.waiting' && event.reason !== 'input_required' && isWithin(event, from, until),
  );
  const [first] = said;
  const saidFrom = first !== undefined && IN_GATE.has(first.reason ?? '') ? from : first?.at;
  const queue = { kind: 'queue', from, until: saidFrom ?? until, open: isOpen && first === undefined, why };
  const blocks = said.map((event, place) => ({
    kind: pauseKind(event.reason ?? null),
    from: place === 0 && saidFrom !== undefined ? saidFrom : event.at,
    until: said[place + 1]?.at ?? until,
    open: isOpen && place === said.length - 1,
    why: event.reason ?? event.message,
    due_at: event.until,
  }));
  const isLong = saidFrom === undefined || at(saidFrom) > at(from);
  return [...(isLong ? [{ ...queue, due_at: null }] : []), ...blocks];
}

function isWithin({ at: instant }: TracedEvent, from: string, until: string | null): boolean {
  return at(instant) >= at(from) && (until === null || at(instant) < at(until));
}

/** End of an approval. */
export interface ApprovalEnd {
  readAt: string;
  /** When what was asked was begun or given up, though no decision is kept; null: unknown. */
  endedAt: string | null;
}

/** `events`: of one call. */
export function approvalWaits(
  events: readonly TracedEvent[],
  { readAt, endedAt }: ApprovalEnd,
): TimelineWait[] {
  const asked = events.filter(({ type }) => type === 'ai.tool.approval_requested');
  return asked.map(({ at: from, until: due }, place) => {
    const next = asked[place + 1]?.at ?? null;
    const decided = events.find(
      ({ type, at: instant }) => type === 'ai.tool.approval_decided' && at(instant) >= at(from),
    );
    if (decided !== undefined)
      return { kind: 'approval', from, until: decided.at, open: false, why: decided.message, due_at: due };
    const isOver = next !== null || endedAt !== null;
    const isExpired = due !== null && at(due) <= at(readAt);
    const open = !isOver && !isExpired;
    return { kind: 'approval', from, until: null, open, why: isExpired ? 'expired' : null, due_at: due };
  });
}

/** While at least one question is open. */
function questionWaits(events: readonly TracedEvent[], ended: string | null): TimelineWait[] {
  const waits: TimelineWait[] = [];
  let open = 0;
  for (const { type, at: instant, until, message } of events) {
    if (type === 'ai.tool.input_requested') {
      if (open === 0)
        waits.push({
          kind: 'question',
          from: instant,
          until: ended,
          open: ended === null,
          why: null,
          due_at: until,
        });
      open += 1;
    }
    const last = waits.at(-1);
    if (type !== 'ai.tool.input_answered' || open === 0 || last === undefined) continue;
    open -= 1;
    if (open === 0) waits[waits.length - 1] = { ...last, until: instant, open: false, why: message };
  }
  return waits;
}

/** The approvals of calls that no directive of the trace has the id of. */
export function callEvents(trace: RequestTrace): ReadonlyMap<string, TracedEvent[]> {
  const events = [...trace.events, ...(trace.run?.turns.flatMap((turn) => turn.events) ?? [])];
  const asked = events.filter(
    ({ type, call_id: id }) => id !== undefined && type.startsWith('ai.tool.approval_'),
  );
  return Map.groupBy(asked, ({ call_id: id }) => id ?? '');
}

function at(instant: string | null): number {
  return instant === null ? -Infinity : Date.parse(instant);
}
