/** The tree of a request: its run and turns, its directives with their attempts and waits, in the order of their instants.
 *  It reads the view of the request alone, and asks for nothing. */
import { ownMember } from '../../contract/json/json-object.ts';
import type { TimelineWait } from '../../contract/request/request-timeline.ts';
import type {
  RequestTrace,
  TracedAttempt,
  TracedDirective,
  TracedEvent,
  TracedRun,
  TracedTurn,
} from '../../contract/request/request-trace.ts';
import { waitsOf } from '../../contract/request/timeline-waits.ts';
import { ADJUTANT } from '../command-name.ts';
import { noticeNodes } from '../following/notice-lines.ts';
import { timeText } from '../table.ts';
import {
  eventNode,
  inOrder,
  instantOf,
  named,
  note,
  NOWHERE,
  saying,
  STATUS_STYLES,
  type TraceNode,
} from './trace-node.ts';

/** `readAt`: when the trace was read. */
function directiveNode(directive: TracedDirective, readAt: string): TraceNode {
  const { id, type, name, attempts, events, accepted_at: from, ended_at: to } = directive;
  const [only] = attempts;
  const taken = attempts.find((attempt) => !isUnreached(attempt));
  const lostAt = lostSince(directive);
  const isPlain =
    attempts.length === 1 && events.length === 0 && directive.attempts_left_out === 0 && lostAt === null;
  return {
    label: named(name ?? type),
    state: lostAt === null ? directiveState(directive) : ['yellow', LOST],
    notes: [...(isPlain && only ? attemptNotes(only, name) : []), id],
    startAt: Date.parse(from),
    takenAt: instantOf(taken?.claimed_at ?? null),
    lostAt,
    endAt: instantOf(to),
    below: [...(isPlain ? [] : attemptsAndEvents(directive, readAt)), ...noticeNodes(directive.notices)],
  };
}

const LOST = 'worker lost; waits for a worker';

/** When its last worker was lost; null: it was not, or another has come. */
function lostSince({ status, attempts }: TracedDirective): number | null {
  const last = attempts.at(-1);
  return status === 'running' && last?.outcome === 'worker_lost' ? instantOf(last.ended_at) : null;
}

function directiveState({ status, error }: TracedDirective): TraceNode['state'] {
  const style = ownMember(STATUS_STYLES, status) ?? 'dim';
  return [style, error === null ? status : `${status}: ${note(error)}`];
}

function attemptsAndEvents(directive: TracedDirective, readAt: string): TraceNode[] {
  const { name, attempts, attempts_left_out: missing, events } = directive;
  const lost = missing === 0 ? [] : [saying(`${missing} attempts between are not kept`)];
  const waits = waitsOf(directive, readAt).filter(({ kind }) => kind === 'paused' || kind === 'blocked');
  const nodes = events.map((event) => waitNode(event, waits) ?? eventNode(event));
  return [...inOrder([...withoutRepeats(attempts, name), ...nodes]), ...lost];
}

/** From when it waits until it goes on. null: it is no wait of that sort. */
function waitNode(event: TracedEvent, waits: readonly TimelineWait[]): TraceNode | null {
  if (event.type !== 'directive.waiting') return null;
  const at = Date.parse(event.at);
  const wait = waits.find(({ from, until }) => {
    const [begins, ends] = [instantOf(from), instantOf(until)];
    return begins !== null && begins <= at && (ends === null || ends > at);
  });
  if (wait === undefined) return null;
  const { isInstant: _, ...node } = eventNode(event);
  return { ...node, startAt: instantOf(wait.from), takenAt: null, endAt: instantOf(wait.until) };
}

/** Pauses for the same reason that follow each other are one line, and all wait: their attempts were refused at once. */
function withoutRepeats(attempts: readonly TracedAttempt[], name: string | null): TraceNode[] {
  const nodes: TraceNode[] = [];
  for (let from = 0; from < attempts.length;) {
    const first = attempts[from];
    if (first === undefined) break;
    let to = from + 1;
    while (isSamePause(first, attempts[to])) to += 1;
    const last = attempts[to - 1] ?? first;
    nodes.push(
      to - from > 1 ? pausesNode(attemptNode(first, name), last, to - from) : attemptNode(first, name),
    );
    from = to;
  }
  return nodes;
}

/** It waited: its server was down, and nothing was called. */
function isUnreached({ outcome, reason }: TracedAttempt): boolean {
  return outcome === 'paused' && reason === 'server_down';
}

function isSamePause(first: TracedAttempt, next: TracedAttempt | undefined): boolean {
  return next?.outcome === 'paused' && first.outcome === 'paused' && next.reason === first.reason;
}

function pausesNode(node: TraceNode, last: TracedAttempt, count: number): TraceNode {
  const again = { startAt: node.startAt, takenAt: null, endAt: instantOf(last.ended_at) };
  return {
    ...node,
    ...again,
    state: ['yellow', `paused ${count === 1 ? 'once' : `${count} times`}: ${note(last.reason ?? '')}`],
    notes: [],
  };
}

function attemptNode(attempt: TracedAttempt, name: string | null): TraceNode {
  const { due_at: due, claimed_at: claimed, ended_at: to } = attempt;
  return {
    label: isUnreached(attempt) ? 'not called' : `attempt ${attempt.attempt}`,
    state: attemptState(attempt),
    notes: attemptNotes(attempt, name),
    startAt: instantOf(due ?? claimed),
    takenAt: isUnreached(attempt) ? null : instantOf(claimed),
    endAt: instantOf(to),
    below: [],
  };
}

function attemptState({ outcome, reason, delay_ms: delayMs }: TracedAttempt): TraceNode['state'] {
  const why = reason === null ? '' : note(reason);
  const delay = timeText(delayMs ?? 0);
  switch (outcome) {
    case 'succeeded':
      return ['green', outcome];
    case 'running':
      return ['cyan', outcome];
    case 'retry':
      return ['yellow', `${why === '' ? 'failed' : why}, retry in ${delay}`];
    case 'fallback':
      return ['yellow', `${why === '' ? 'failed' : why}, falls back to the next model`];
    case 'paused':
      return ['yellow', `paused ${delay}: ${why}`];
    case 'released':
      return ['yellow', 'given back by its worker'];
    case 'worker_lost':
      return ['red', 'worker lost'];
    case 'unknown':
      return ['dim', 'its end is not known'];
    default:
      return ['red', why === '' || why === outcome ? note(outcome) : `${note(outcome)}: ${why}`];
  }
}

/** `name`: that of the directive; a model of the same name is not repeated. */
function attemptNotes(attempt: TracedAttempt, name: string | null): string[] {
  const { due_at: due, claimed_at: claimed, first_output_at: output, redelivered, model } = attempt;
  const queuedMs = between(due, claimed);
  const outputMs = between(claimed, output);
  return [
    ...(redelivered ? ['redelivered'] : []),
    ...(model === null || model === name ? [] : [named(model)]),
    ...(queuedMs === null ? [] : [`queued ${timeText(queuedMs)}`]),
    ...(outputMs === null ? [] : [`first output after ${timeText(outputMs)}`]),
  ];
}

function between(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from));
}

/** A request's trace with those of its children. null: not kept any longer, or left out. */
export interface TraceFamily {
  readonly trace: RequestTrace;
  readonly children: ReadonlyMap<string, TraceFamily | null>;
}

export function requestNode({ trace, children }: TraceFamily): TraceNode {
  const { run, created_at: from, closed_at: to } = trace;
  const times = { startAt: Date.parse(from), takenAt: Date.parse(from), endAt: instantOf(to) };
  const own = trace.directives.map(
    (directive) => [directive.turn, directiveNode(directive, trace.read_at)] as const,
  );
  const kin = (run?.children ?? []).map((child) => [child.turn, childNode(child, children)] as const);
  const known = new Set(run?.turns.map(({ turn }) => turn));
  const placed = [...own, ...kin];
  const ofTurn = (number: number) => placed.flatMap(([turn, node]) => (turn === number ? [node] : []));
  const loose = placed.flatMap(([turn, node]) => (turn === null || !known.has(turn) ? [node] : []));
  const turns = run?.turns.map((turn) => turnNode(turn, ofTurn(turn.turn))) ?? [];
  return {
    label: run === undefined ? 'request' : `run ${named(run.agent)}`,
    state: run === undefined ? requestState(trace) : runState(run),
    notes: [],
    ...times,
    below: [
      ...inOrder([...turns, ...loose, ...trace.events.map(eventNode)]),
      ...noticeNodes(run?.notices),
      ...leftOut(trace),
    ],
  };
}

function requestState({ status }: RequestTrace): TraceNode['state'] {
  return status === 'closed' ? ['green', 'closed'] : ['cyan', 'open'];
}

function runState({ status, termination_reason: reason }: TracedRun): TraceNode['state'] {
  return [
    ownMember(STATUS_STYLES, status) ?? 'dim',
    reason === null ? status : `${status} (${note(reason)})`,
  ];
}

type Child = TracedRun['children'][number];

function childNode({ tag, request_id: id, status }: Child, children: TraceFamily['children']): TraceNode {
  const family = children.get(id) ?? null;
  if (family !== null) {
    const node = requestNode(family);
    return { ...node, label: `${node.label} ${named(tag)}`, notes: [...node.notes, id] };
  }
  const how = `its own tree: ${ADJUTANT} trace ${id}`;
  const style = ownMember(STATUS_STYLES, status) ?? 'dim';
  return { ...NOWHERE, label: `run ${named(tag)}`, state: [style, note(status)], notes: [how] };
}

function turnNode(
  { turn, started_at: from, ended_at: to, events }: TracedTurn,
  sent: readonly TraceNode[],
): TraceNode {
  const startAt = Date.parse(from);
  return {
    label: `turn ${turn}`,
    state: null,
    notes: [],
    startAt,
    takenAt: startAt,
    endAt: Date.parse(to),
    below: inOrder([...sent, ...events.map(eventNode)]),
  };
}

/** Lines about omitted parts. */
function leftOut({
  request_id: id,
  directives_left_out: directives,
  signals_left_out: signals,
  run,
}: RequestTrace) {
  const turns = run?.turns_left_out ?? 0;
  return [
    ...(run?.turns.length === 0 ? [saying('no turn was taken yet')] : []),
    ...(turns === 0 ? [] : [saying(`${turns} earlier turns are not kept`)]),
    ...(directives === 0 ? [] : [saying(`${directives} more directives: ${ADJUTANT} get ${id}`)]),
    ...(signals === 0 ? [] : [saying(`${signals} later signals are left out: ${ADJUTANT} tail ${id}`)]),
  ];
}
