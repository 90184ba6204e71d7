/** The rows of a drawn timeline: one for each directive, call and child, with its segments.
 *  Never draws an instant that was not recorded: such an edge fades. */
import type {
  RequestTimeline,
  TimelineAttempt,
  TimelineDirective,
  TimelineWait,
} from '../../../src/contract/request/request-timeline.ts';
import { clockText, durationText } from '../../data/shown.ts';

export type SegmentForm =
  | 'queue'
  | 'later'
  | 'backoff'
  | 'held'
  | 'wait'
  | 'think'
  | 'model'
  | 'tool'
  | 'failed'
  | 'lost'
  | 'redelivery'
  | 'child';

export interface Segment {
  readonly form: SegmentForm;
  /** Milliseconds since the epoch; null: unknown. Never both null. */
  readonly from: number | null;
  /** null: unknown, or it goes on. */
  readonly until: number | null;
  readonly isOpen: boolean;
  /** How it ended is unknown. */
  readonly isUnsure?: boolean;
  readonly text: string;
}

export type RowKind = 'model' | 'tool' | 'child' | 'call' | 'other';

export interface Row {
  /** Unique on the page. */
  readonly key: string;
  /** The request that it belongs to. */
  readonly requestId: string;
  /** Id of the directive, the call or the child request. */
  readonly id: string;
  readonly kind: RowKind;
  readonly name: string;
  readonly status: string;
  readonly level: number;
  readonly from: number;
  /** null: it goes on, or unknown. */
  readonly until: number | null;
  /** Right of its bars. */
  readonly label: string;
  readonly segments: readonly Segment[];
  readonly error: string | null;
}

export interface RowFamily {
  readonly timeline: RequestTimeline;
  /** Children that are open, by their request. */
  readonly children: ReadonlyMap<string, RequestTimeline>;
}

const MOST_LEVELS = 16;

/** In the order of their beginning; below an open child its own rows. */
export function timelineRows({ timeline, children }: RowFamily, level = 1): Row[] {
  const now = Date.parse(timeline.read_at);
  const own = [
    ...timeline.directives.map((directive) => directiveRow(timeline.request_id, directive, level, now)),
    ...timeline.calls.map((call) => callRow(timeline.request_id, call, level)),
    ...timeline.children.map((child) => childRow(timeline, child, level)),
  ];
  own.sort((left, right) => left.from - right.from);
  if (level >= MOST_LEVELS) return own;
  return own.flatMap((row) => {
    const below = row.kind === 'child' ? children.get(row.id) : undefined;
    return below === undefined ? [row] : [row, ...timelineRows({ timeline: below, children }, level + 1)];
  });
}

const KINDS: Readonly<Record<string, RowKind>> = {
  tool_exec: 'tool',
  llm_generate: 'model',
  llm_stream: 'model',
  llm_embed: 'model',
  llm_request: 'model',
};

function directiveRow(requestId: string, directive: TimelineDirective, level: number, now: number): Row {
  const { id, type, name, status, error, accepted_at: accepted, ended_at: ended } = directive;
  const kind = Object.hasOwn(KINDS, type) ? (KINDS[type] ?? 'other') : 'other';
  const segments = [
    ...directive.waits.map((wait) => waitSegment(wait)),
    ...directive.attempts.flatMap((attempt) => attemptSegments(attempt, kind, directive)),
  ].sort((left, right) => startOf(left) - startOf(right));
  const from = Math.min(Date.parse(accepted), ...segments.map(startOf).filter(Number.isFinite));
  const until = ended === null ? null : Date.parse(ended);
  const took = type.startsWith('emit_tool_')
    ? 'not called'
    : durationText(Math.max(0, (until ?? now) - dueOf(directive, from)));
  const notes = [attemptsText(directive), lostText(directive), error];
  const label = beginText(directive) ?? [took, ...notes.filter((part) => part !== null)].join(' · ');
  const key = `${requestId}/${id}`;
  return { key, requestId, id, kind, name: name ?? type, status, level, from, until, label, segments, error };
}

/** Its duration counts from the instant at which it might begin. */
function dueOf({ waits }: TimelineDirective, from: number): number {
  const later = waits.find(({ kind }) => kind === 'later');
  return numberOf(later?.until ?? null) ?? from;
}

/** null: it may begin now, or has ended. */
function beginText({ waits }: TimelineDirective): string | null {
  const due = waits.find(({ kind, open }) => kind === 'later' && open)?.due_at ?? null;
  return due === null ? null : `begins at ${clockText(due)}`;
}

function attemptsText({ attempts, attempts_left_out: missing }: TimelineDirective): string | null {
  const count = attempts.filter(({ outcome }) => outcome !== 'paused').length + missing;
  return count > 1 ? `${count} attempts` : null;
}

function lostText({ attempts }: TimelineDirective): string | null {
  const place = attempts.findLastIndex(({ outcome }) => outcome === 'worker_lost');
  if (place === -1) return null;
  return place < attempts.length - 1 ? 'worker lost, taken over' : 'worker lost';
}

/** A lost worker is trouble until another has taken over. */
export function isTrouble({ segments, error }: Row): boolean {
  const attempts = segments.filter(({ form }) => !NO_ATTEMPTS.has(form));
  return error !== null || segments.some(({ form }) => form === 'failed') || attempts.at(-1)?.form === 'lost';
}

/** Parts of the timeline that can be shown alone. */
export const ROW_FILTERS = {
  errors: isTrouble,
  attempts: ({ segments }: Row) => segments.filter(({ form }) => ATTEMPTS.has(form)).length > 1,
  model: ({ kind }: Row) => kind === 'model',
  tools: ({ kind }: Row) => kind === 'tool',
  waits: ({ segments }: Row) => segments.some(({ form }) => LONG_WAITS.has(form)),
} as const satisfies Readonly<Record<string, (row: Row) => boolean>>;

export type RowFilter = keyof typeof ROW_FILTERS;

/** One for each attempt: a model call has a part before its first output, too. */
const ATTEMPTS: ReadonlySet<SegmentForm> = new Set(['model', 'tool', 'failed', 'lost']);

/** Queueing alone is no wait to show. */
const LONG_WAITS: ReadonlySet<SegmentForm> = new Set(['later', 'backoff', 'held', 'wait', 'redelivery']);

/** null: all rows. */
export function rowFilterOf(name: string): RowFilter | null {
  return Object.hasOwn(ROW_FILTERS, name) ? (name as RowFilter) : null;
}

const NO_ATTEMPTS: ReadonlySet<SegmentForm> = new Set([
  'queue',
  'later',
  'backoff',
  'held',
  'wait',
  'redelivery',
]);

function callRow(requestId: string, call: RequestTimeline['calls'][number], level: number): Row {
  const segments = call.waits.map((wait) => waitSegment(wait));
  const last = call.waits.at(-1);
  const status = last?.open === true ? 'waiting' : last?.why === 'deny' ? 'denied' : (last?.why ?? 'unknown');
  const starts = segments.map(startOf).filter(Number.isFinite);
  return {
    key: `${requestId}/${call.call_id}`,
    requestId,
    id: call.call_id,
    kind: 'call',
    name: call.name ?? call.call_id,
    status,
    level,
    from: Math.min(...starts, Infinity),
    until: segments.at(-1)?.until ?? null,
    label: last?.open === true ? 'waits for approval' : status,
    segments,
    error: null,
  };
}

function childRow(timeline: RequestTimeline, child: RequestTimeline['children'][number], level: number): Row {
  const { request_id: id, tag, status, started_at: started, ended_at: ended } = child;
  const from = started === null ? null : Date.parse(started);
  const until = ended === null ? null : Date.parse(ended);
  const isOpen = ended === null && OPEN_CHILD.has(status);
  const segments: Segment[] =
    from === null && until === null
      ? []
      : [{ form: 'child', from, until, isOpen, text: `child run ${status}` }];
  return {
    key: `${timeline.request_id}/child/${id}`,
    requestId: timeline.request_id,
    id,
    kind: 'child',
    name: tag,
    status,
    level,
    from: from ?? until ?? Date.parse(timeline.created_at),
    until,
    label: from === null || until === null ? status : `${durationText(until - from)} · ${status}`,
    segments,
    error: status === 'failed' ? status : null,
  };
}

const OPEN_CHILD: ReadonlySet<string> = new Set(['pending', 'running', 'waiting', 'starting']);

const WAIT_FORMS: Readonly<Record<string, SegmentForm>> = {
  queue: 'queue',
  later: 'later',
  backoff: 'backoff',
  paused: 'held',
  blocked: 'held',
  approval: 'wait',
  question: 'wait',
};

const WAIT_WORDS: Readonly<Record<string, string>> = {
  queue: 'queued',
  later: 'begins later',
  backoff: 'backoff',
  paused: 'lane paused',
  blocked: 'blocked',
  approval: 'waits for approval',
  question: 'waits for an answer',
};

export function waitWord({ kind, why }: Pick<TimelineWait, 'kind' | 'why'>): string {
  if (why === 'worker_lost') return 'waits for another worker';
  return Object.hasOwn(WAIT_WORDS, kind) ? (WAIT_WORDS[kind] ?? kind) : kind;
}

function waitSegment(wait: TimelineWait): Segment {
  const form = wait.why === 'worker_lost' ? 'redelivery' : (WAIT_FORMS[wait.kind] ?? 'held');
  const from = numberOf(wait.from);
  // Its end is still to come.
  const until = wait.kind === 'later' && wait.open ? null : numberOf(wait.until);
  const why = wait.why === null || wait.why === 'worker_lost' ? '' : ` (${wait.why})`;
  return { form, from, until, isOpen: wait.open, text: `${waitWord(wait)}${lasted(from, until)}${why}` };
}

const FAILED: ReadonlySet<string> = new Set(['retry', 'fallback', 'failed', 'cancelled']);
const UNSURE: ReadonlySet<string> = new Set(['outcome_unknown']);

function attemptSegments(attempt: TimelineAttempt, kind: RowKind, { error }: TimelineDirective): Segment[] {
  const { n, outcome, reason, claimed_at: claimed, ended_at: ended, first_output_at: output } = attempt;
  const [from, until] = [numberOf(claimed), numberOf(ended)];
  if (from === null && until === null) return [];
  const why = reason === null || reason === outcome ? '' : `: ${reason}`;
  const how = outcome === 'worker_lost' ? 'worker lost' : outcome;
  const text = `attempt ${n} ${how}${why}${lasted(from, until)}`;
  const isOpen = outcome === 'running';
  const common = { from, until, isOpen, text };
  if (outcome === 'worker_lost') return [{ ...common, form: 'lost' }];
  if (outcome === 'paused' || outcome === 'released') return [{ ...common, form: 'held' }];
  if (FAILED.has(outcome)) return [{ ...common, form: 'failed', isUnsure: UNSURE.has(error ?? '') }];
  if (kind !== 'model') return [{ ...common, form: 'tool' }];
  const first = numberOf(output);
  if (first === null || from === null)
    return [{ ...common, form: output === null && isOpen ? 'think' : 'model' }];
  const think = `attempt ${n} first output after ${durationText(first - from)}`;
  return [
    { form: 'think', from, until: first, isOpen: false, text: think },
    { ...common, form: 'model', from: first },
  ];
}

function lasted(from: number | null, until: number | null): string {
  return from === null || until === null ? '' : ` ${durationText(Math.max(0, until - from))}`;
}

function numberOf(instant: string | null): number | null {
  return instant === null ? null : Date.parse(instant);
}

function startOf({ from, until }: Segment): number {
  return from ?? until ?? Infinity;
}

/** Text of a row for screen readers. */
export function rowText({ name, status, label, segments }: Row): string {
  return `${name}, ${status}, ${label}: ${segments.map(({ text }) => text).join(', ')}`;
}
