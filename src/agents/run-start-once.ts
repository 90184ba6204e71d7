// Submission of a run under a key: started where it begins, else answered with the run that represents it. A run that
// only joins another one never begins, and only started runs are counted.
import { requestLinks } from '../contract/api-path.ts';
import type { Once } from '../contract/directive/once.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import type { Problem } from '../contract/problem.ts';
import type { NamedRun, Start } from './run-start.ts';
import { type LimitsOfTenant, NO_TENANT_LIMITS, requestBytesOf } from '../contract/access/tenant-limits.ts';
import { ownId } from '../contract/access/tenant.ts';
import type { Announcement } from '../store/request/journal.ts';
import type { OnceVerdict } from '../store/request/once.ts';
import type { NewRun, RunJournal } from '../store/run/run-journal.ts';
import type { SweepIndex } from '../store/index/sweep-index.ts';
import { leaveNothing, type LeaveTenant } from '../store/limits/tenant-room.ts';
import type { Additions, Capacity } from '../directives/capacity.ts';
import { type Entrance, type Entry, FIRST_LOOK_MS, type LaneJob } from '../queue/entrance.ts';
import { noticeAnnouncement, noticeRef } from '../directives/sweep/notice.ts';
import { reportRunUnderKey } from '../directives/read/once-span.ts';
import { RUN_ENTRY, RUN_LANE, wakeJob } from '../queue/run-wake.ts';
import { NO_NOTES, type PendingNote, type SpanNotes } from '../directives/read/span-note.ts';
import {
  answerOf,
  followDecision,
  keptErrors,
  keyConflict,
  type OnceAccepted,
  openProblem,
  REPLACED,
  roomOrReason,
} from '../directives/under-key.ts';
import { NO_SPANS, type Spans } from '../platform/telemetry/traces/spans.ts';
import { requestFullProblem } from '../directives/read/not-found.ts';

export interface OnceStarterParts {
  runs: RunJournal;
  entrance: Entrance;
  index: Pick<SweepIndex, 'announce' | 'lookWithin' | 'withdraw'>;
  /** null: children of runs are never refused for lack of memory. */
  capacity: Capacity | null;
  /** How long a request of this id stays readable after its close, milliseconds. */
  keptMs(requestId: string): number;
  /** Asks a run to end. */
  cancelRun(requestId: string, reason: string): Promise<unknown>;
  /** Default: the span of a POST whose process dies is lost. */
  notes?: SpanNotes;
  /** Default: nothing is traced. */
  spans?: Spans;
  /** The limit of `RunJournalOptions`. */
  requestBytes: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
}

/** A run that is being submitted. */
export interface ComingRun {
  readonly run: NamedRun;
  readonly started: NewRun;
  /** Whether its end may cause a notification. */
  readonly noticed: boolean;
}

export interface KeyedRun extends ComingRun {
  readonly once: Once;
  readonly token: string;
  /** How long it may last, milliseconds. */
  readonly lastsMs: number;
}

export function createOnceStarter(parts: OnceStarterParts) {
  const { runs, entrance, spans = NO_SPANS } = parts;

  /** Throws `DirectiveRefused` where the run would begin and capacity is exhausted. */
  return async function startUnderKey(coming: KeyedRun): Promise<Start> {
    const { requestId, traceparent } = coming.started;
    const startedAt = spans.now();
    const errors = keptErrors(coming.once, parts.keptMs(requestId));
    if (errors.length > 0) return { ok: false, refusal: refusedAt('invalid_body', errors).problem };
    const room = await roomOrReason(reserveFor(parts, coming));
    const note = noteOfStart(parts, coming);
    const verdict = await entrance
      .enter(entryOf(runs, { ...coming, note }, room.full === null))
      .finally(note.release);
    const begins = verdict.kind === 'ok' && verdict.verdict === 'accepted';
    await (begins ? room.leave([]) : withdrawn(parts, { ...coming, note }, room.leave));
    if (verdict.kind === 'full') throw room.full;
    if (verdict.kind !== 'ok') return { ok: false, refusal: refusalOf(parts, coming, verdict) };
    const { run: fields } = coming;
    reportRunUnderKey(spans, { requestId, agent: fields.agent, fields, traceparent, startedAt }, verdict);
    await followDecision(parts.index, verdict, coming.noticed, async ({ requestId: replaced }) =>
      parts.cancelRun(replaced, REPLACED),
    );
    return standing(runs, coming, verdict);
  };
}

/** Where a run is counted, for its tenant. */
export function additionOf({ started: { requestId, later } }: Pick<ComingRun, 'started'>): Additions {
  const begins = new Map(later?.when ? [[RUN_ENTRY, later.when]] : []);
  return { requestId, ids: [RUN_ENTRY], begins };
}

export function announcementsOf({
  started: { later = null },
  noticed,
}: Pick<ComingRun, 'started' | 'noticed'>): Announcement[] {
  const own = { id: RUN_ENTRY, afterMs: Math.min(FIRST_LOOK_MS, later?.startByMs ?? Infinity) };
  const begins = later?.when ? { ...own, later: { when: later.when, lane: RUN_LANE } } : own;
  return [begins, ...(noticed ? [noticeAnnouncement(RUN_ENTRY)] : [])];
}

export function noteOfStart(
  { notes = NO_NOTES }: Pick<OnceStarterParts, 'notes'>,
  { started: { requestId, traceparent } }: Pick<ComingRun, 'started'>,
): PendingNote {
  return notes.noteOf(requestId, { under: traceparent, prepared: [] });
}

/** `bytes`: what its request holds already. */
export function fullProblem(
  { limitsOf = NO_TENANT_LIMITS, requestBytes }: OnceStarterParts,
  { started: { requestId } }: Pick<ComingRun, 'started'>,
  bytes: number,
): Problem {
  return requestFullProblem(requestId, bytes, requestBytesOf(limitsOf, requestId, requestBytes));
}

type Noted = KeyedRun & { readonly note: PendingNote };

async function reserveFor({ capacity }: OnceStarterParts, coming: KeyedRun): Promise<LeaveTenant> {
  const lane = coming.started.later?.when ? '' : RUN_LANE;
  return (await capacity?.reserve(new Map([[lane, 1]]), additionOf(coming))) ?? leaveNothing;
}

function entryOf(runs: RunJournal, coming: Noted, hasRoom: boolean): Entry<OnceVerdict> {
  const { started, once, token, lastsMs } = coming;
  const { requestId } = started;
  return {
    requestId,
    announcements: [...announcementsOf(coming), ...coming.note.announcements],
    accept: (together) => runs.start(started, together, { once, token, hasRoom, lastsMs }),
    jobsOf: (verdict) => (verdict.kind === 'ok' ? firstTurn(started, verdict) : null),
    onlyLane: RUN_LANE,
    changes: (verdict) => (verdict.kind === 'ok' ? verdict.of.requestId : requestId),
    wereThere: (verdict) => (verdict.kind === 'ok' && verdict.verdict === 'accepted' ? [] : [RUN_ENTRY]),
  };
}

/** Not of what waits for another one or for its instant, nor of what began before under another id. */
function firstTurn({ requestId, later }: NewRun, { verdict, of, outcome, waits }: OnceAccepted): LaneJob[] {
  const isOther = of.requestId !== requestId || (verdict === 'existing' && outcome === 'replaced');
  return waits || isOther || later?.when ? [] : [{ lane: RUN_LANE, data: wakeJob(requestId, 0) }];
}

/** It has not begun: what was announced of it, and counted, goes. */
async function withdrawn(
  { index }: OnceStarterParts,
  { started: { requestId }, noticed, note }: Noted,
  leave: LeaveTenant,
): Promise<void> {
  note.forget();
  const own = { requestId, id: RUN_ENTRY };
  await index.withdraw(noticed ? [own, noticeRef(requestId, RUN_ENTRY)] : [own]).catch(() => {});
  await leave([RUN_ENTRY]);
}

function refusalOf(
  parts: OnceStarterParts,
  coming: KeyedRun,
  verdict: Exclude<OnceVerdict, OnceAccepted | { kind: 'full' }>,
): Problem {
  if (verdict.kind === 'open') return openProblem(verdict);
  return verdict.kind === 'conflict' ? keyConflict() : fullProblem(parts, coming, verdict.bytes);
}

/** The run that represents it may be one of another agent. */
async function standing(runs: RunJournal, { run }: KeyedRun, verdict: OnceAccepted): Promise<Start> {
  const { of } = verdict;
  const isOwn = verdict.verdict === 'accepted';
  const there = isOwn ? null : await runs.read(of.requestId, { limit: 0, bytes: 0 });
  const request_id = ownId(of.requestId);
  return {
    ok: true,
    run: {
      request_id,
      run_id: request_id,
      agent: there?.agent ?? run.agent,
      status: there?.status ?? 'pending',
      once: answerOf(verdict),
      links: requestLinks(request_id),
    },
  };
}
