// One turn of a run: read → fold → write → enqueue, until nothing is left to read. The whole sequence in one file.
// Must never act outside the run before the turn that asks for it is written.
import { DEFAULT_TENANT, requestField, tenantOf } from '../../contract/access/tenant.ts';
import type { EndNotices } from '../../contract/signal/end-notices.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { LEFT_ALONE_MS } from '../../store/format.ts';
import type { CommitVerdict } from '../../store/run/run-journal.ts';
import type { RunActivityIndex } from '../../store/run/run-activity-index.ts';
import type { LaterIndex } from '../../store/index/later-index.ts';
import type { SweepIndex } from '../../store/index/sweep-index.ts';
import type { Announcement } from '../../store/request/journal.ts';
import { type Entrance, FIRST_LOOK_MS } from '../../queue/entrance.ts';
import { ASK_SUBJECT } from '../../contract/signal/webhook.ts';
import { askAnnouncement, type CallNotice } from '../../directives/sweep/notice.ts';
import {
  announcementsOf,
  callEnded,
  jobsOf,
  noticesOf,
  onlyLaneOf,
  type Prepared,
  type Preparer,
  reportImmediate,
  reportSent,
  withLane,
} from '../../directives/prepare.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import type { Reports } from '../../platform/telemetry/reports.ts';
import { RUN_ENTRY, RUN_LANE, type RunWaker, WAKE_AHEAD_MS } from '../../queue/run-wake.ts';
import { measureTurn } from './turn-measures.ts';
import { begin, type BeginningParts, reenter } from './beginning.ts';
import { type BrokenRunParts, endOf, endOfUnreadable, guarded, type RunFailure } from './broken-run.ts';
import { type Acknowledgement, begun, fold, type Folded, isDue, isOver } from './fold.ts';
import { isLastTurn, runSpan, turnContext, turnSpan, type WrittenTurn } from '../run-spans.ts';
import { type OutboxParts, performOutbox } from './outbox.ts';
import { type RunStore, type StoredRun, TURN_SIZE } from './run-store.ts';
import { commitOf, type Turn } from './turn-record.ts';
import { writtenTurn } from './written-turn.ts';
import type { EngineCore } from './transition.ts';
import { NO_NOTE, type PendingNote, type SpanNotes } from '../../directives/read/span-note.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';

export interface TurnParts extends BrokenRunParts, TurnNoteParts {
  store: RunStore;
  /** The parts that the first turn needs. */
  beginning: BeginningParts;
  /** The parts that a turn needs for effects outside its request. */
  outbox: OutboxParts;
  preparer: Preparer;
  entrance: Entrance;
  index: SweepIndex;
  later: Pick<LaterIndex, 'drop'>;
  waker: RunWaker;
  logger: Logger;
  reports: Reports;
  activity: Pick<RunActivityIndex, 'note'>;
  /** Default: the sweeper notifies of ends. */
  callNotice?: CallNotice;
  /** Whether endpoints are notified of questions to people. Default: none is. */
  endNotices?: Pick<EndNotices, 'asks'>;
}

/** Rejects when Redis does not answer; the next call does what is left undone. */
export async function takeTurns(parts: TurnParts, requestId: string): Promise<void> {
  let size = TURN_SIZE;
  for (;;) {
    const readAt = performance.now();
    const run = await parts.store.read(requestId, size);
    if (!run) return parts.index.forget({ requestId, id: RUN_ENTRY });
    // @guard encrypted-run-ended
    if (run.later || isLockedEnd(run)) return leaveToOthers(parts, requestId);
    const startedAt = parts.spans.now();
    const turn = await workOut(parts, run);
    if (turn === null) return;
    const verdict = await write(parts, run, turn, startedAt);
    if (verdict.kind === 'committed') measureTurn(parts, run, turn, readAt);
    // The run would end, but has more signals than were read.
    if (verdict.kind === 'more') size = { limit: size.limit * 4, bytes: size.bytes * 4 };
    else if (verdict.kind === 'unknown') return;
    else if (verdict.kind === 'committed' && !verdict.more && !hasMoreToDo(run, turn)) return;
  }
}

/** It has ended, and what is left to do of it is encrypted with a key that is not here: another end would take its place. */
function isLockedEnd({ lock, endedAt }: StoredRun): boolean {
  return lock !== null && endedAt !== null;
}

/**
 * Wakes the run with a job that every engine may take. The time is a whole multiple, so that repeated wakes make one
 * job.
 */
function leaveToOthers({ waker }: TurnParts, requestId: string): Promise<void> {
  return waker.wakeAt(requestId, Math.ceil(Date.now() / LEFT_ALONE_MS + 1) * LEFT_ALONE_MS);
}

/** Entries that this turn has done but its document still holds would otherwise cause turns for ever. */
function hasMoreToDo({ document: before }: StoredRun, { folded }: Turn): boolean {
  const done = new Set(before?.outbox.map(({ id }) => id));
  return folded.document.outbox.some(({ id }) => !done.has(id));
}

/** null: there is nothing to do. */
async function workOut(parts: TurnParts, run: StoredRun): Promise<Turn | null> {
  if (run.fault !== null) return lastTurn(parts, run, run.fault);
  if (run.document === null) return firstTurn(parts, run);
  const acknowledgements = await performOutbox(parts.outbox, run);
  if (acknowledgements.length === 0 && run.signals.length === 0 && !isDue(run.document, run.now)) return null;
  const isResumed = isOver(run.document) && run.signals.some(({ type }) => type === 'ai.request.resumed');
  const refusal = isResumed ? await reenter(parts.beginning, run) : undefined;
  return { folded: nextTurn(parts, run, acknowledgements, refusal), spec: null };
}

/** The last turn of an unreadable run. Its spec is written again, so that readers of its end find one. */
function lastTurn(parts: TurnParts, run: StoredRun, fault: string): Turn {
  const { spec } = run;
  return { folded: begun(endOfUnreadable(parts, run, fault), spec.run_id), spec };
}

async function firstTurn(parts: TurnParts, run: StoredRun): Promise<Turn | null> {
  const beginning = await begin(parts.beginning, run);
  if (beginning.kind === 'waiting') {
    await parts.index.add([{ requestId: run.requestId, id: RUN_ENTRY }], beginning.until);
    return null;
  }
  const { spec, transition } = beginning;
  const first = begun(transition, spec.run_id);
  if (beginning.kind === 'refused') return { folded: first, spec };
  const { signals, now } = run;
  const input = { spec, document: first.document, acknowledgements: [], signals, now };
  return { folded: guardedFold(parts, run, () => fold(parts.core, input, first)), spec };
}

function nextTurn(
  parts: TurnParts,
  run: StoredRun,
  acknowledgements: readonly Acknowledgement[],
  refusal: RunFailure | undefined,
): Folded {
  const { spec, document, signals, now } = run;
  if (document === null) throw new Error('a run without a document has no next turn');
  const input = { spec, document, acknowledgements, signals, now, refusal };
  return guardedFold(parts, run, () => fold(parts.core, input));
}

function guardedFold(parts: TurnParts, run: StoredRun, work: () => Folded): Folded {
  return guarded(parts, run, work, (end) => begun(end, run.spec.run_id));
}

function failed(parts: TurnParts, run: StoredRun, error: { reason: string; message: string }): Folded {
  return begun(endOf(parts, run, error), run.spec.run_id);
}

/** Writes the turn; if it cannot be written, the run ends instead. */
async function write(
  parts: TurnParts,
  run: StoredRun,
  turn: Turn,
  startedAt: number,
): Promise<CommitVerdict> {
  const verdict = await commit(parts, run, turn, startedAt);
  if (verdict.kind === 'overflow') {
    const message = `${verdict.open} directives would be open at once`;
    turn.folded = failed(parts, run, { reason: 'queue_overflow', message });
  } else if (verdict.kind === 'no_room') {
    const message = `the request holds ${verdict.bytes} bytes, and more would exceed limits.request_bytes`;
    turn.folded = failed(parts, run, { reason: 'request_full', message });
  } else if (verdict.kind === 'conflict') {
    const message = `the request holds another directive with the id "${verdict.id}"`;
    turn.folded = failed(parts, run, { reason: 'id_conflict', message });
  } else return verdict;
  return commit(parts, run, turn, startedAt);
}

async function commit(
  parts: TurnParts,
  run: StoredRun,
  computed: Turn,
  startedAt: number,
): Promise<CommitVerdict> {
  const { turn, texts } = await writtenTurn(parts, run, computed);
  const { folded } = turn;
  const context = turnContext(parts.spans, run, run.version + 1);
  const directives = scoped(run, folded.directives as Directive[]);
  const prepared = await parts.preparer.prepare(directives, context, run.spec.spender, {
    agent: run.spec.agent,
  });
  await run.seal?.codec.nextStep?.();
  const note = turnNote(parts, { run, folded, startedAt }, context, prepared);
  const open = withLane(prepared);
  const verdict = await parts.entrance.enter<CommitVerdict>({
    requestId: run.requestId,
    announcements: [
      ...announcementsOf(open),
      ...noticesOf(prepared),
      ...asksOf(parts, run, folded).map(askAnnouncement),
      ...ownAnnouncement(run, folded),
      ...note.announcements,
    ],
    accept: (together) => parts.store.commit(commitOf(run, turn, texts, prepared), together),
    jobsOf: (verdict) => (verdict.kind === 'committed' ? jobsOf(open, verdict.now) : null),
    onlyLane: onlyLaneOf(open),
    afterwards: () => afterwards(parts, run, folded),
  });
  if (verdict.kind === 'committed') reportTurn(parts, { run, folded, startedAt, prepared, now: verdict.now });
  note[verdict.kind === 'committed' ? 'release' : 'forget']();
  return verdict;
}

function callNotices(
  { callNotice }: TurnParts,
  { requestId, spec }: StoredRun,
  { document }: Folded,
  prepared: readonly Prepared[],
): void {
  callEnded(prepared, callNotice);
  if (spec.on_end !== undefined && isOver(document)) callNotice?.(requestId, RUN_ENTRY);
}

/** The calls and budgets that the turn asks people about, where endpoints are notified of that. */
function asksOf({ endNotices }: TurnParts, { requestId }: StoredRun, { signals }: Folded): string[] {
  if (endNotices?.asks(tenantOf(requestId)) !== true) return [];
  const asked = signals.filter(({ signal }) => signal.type === 'ai.tool.approval_requested');
  return asked.map(({ signal }) => String(signal.data['call_id']));
}

/** The core knows the ids of its tenant; what it sends is journalled under the request's own. */
function scoped({ requestId }: StoredRun, directives: readonly Directive[]): readonly Directive[] {
  return tenantOf(requestId) === DEFAULT_TENANT
    ? directives
    : directives.map((directive) => ({ ...directive, request_id: requestId }));
}

interface ReportedTurn {
  run: StoredRun;
  folded: Folded;
  startedAt: number;
  prepared: readonly Prepared[];
  /** When it was written, by the clock of Redis. */
  now: number;
}

/** To traces and metrics, and to those that deliver notices. */
function reportTurn(parts: TurnParts, turn: ReportedTurn): void {
  const { run, folded, prepared } = turn;
  traceTurn(parts, turn);
  reportImmediate(parts.reports, prepared);
  callNotices(parts, run, folded, prepared);
  for (const id of asksOf(parts, run, folded)) parts.callNotice?.(run.requestId, `${ASK_SUBJECT}${id}`);
}

function traceTurn(
  { spans, core }: TurnParts,
  { run, folded, startedAt, prepared, now }: ReportedTurn,
): void {
  const parent = spans.under(run.traceparent);
  if (parent === null) return;
  reportSent(spans, prepared, startedAt);
  spans.report(turnSpan(parent, { run, folded, startedAt, endedAt: spans.now() }));
  if (!isLastTurn(run, folded)) return;
  const view = core.view(run.spec, folded.document);
  spans.report(runSpan(parent, { run, view, endedAt: now }));
}

/** When the sweeper must check the run itself. While nothing else is due, the planned check is enough. */
function ownAnnouncement(run: StoredRun, { document }: Folded): Announcement[] {
  const { document: before, now } = run;
  const wakeAt = document.wake_at === before?.wake_at ? null : document.wake_at;
  const untilWake = wakeAt === null ? Infinity : Math.max(wakeAt - now, 0);
  const isUnswept = isOver(document) && isBefore(run);
  const afterMs = Math.min(untilWake, document.outbox.length > 0 || isUnswept ? FIRST_LOOK_MS : Infinity);
  return afterMs === Infinity ? [] : [{ id: RUN_ENTRY, afterMs }];
}

async function afterwards(parts: TurnParts, run: StoredRun, { document, log }: Folded): Promise<void> {
  const { requestId } = run;
  for (const { level, message, details } of log)
    parts.logger[level]({ ...requestField(requestId), ...details }, message);
  await enqueueWake(parts, run, document.wake_at).catch(() => {});
  if (!isOver(document) || document.outbox.length > 0) return;
  if (isBefore(run)) await parts.later.drop({ requestId, id: RUN_ENTRY }, RUN_LANE, 0);
  parts.index.forget({ requestId, id: RUN_ENTRY });
}

/** Whether it is cancelled before it begins: until then no sweeper checks it. */
function isBefore({ begin, now }: Pick<StoredRun, 'begin' | 'now'>): boolean {
  return begin !== null && begin.at > now;
}

async function enqueueWake({ waker }: TurnParts, run: StoredRun, wakeAt: number | null): Promise<void> {
  const before = run.document?.wake_at ?? null;
  if (wakeAt === before) return;
  if (wakeAt !== null && wakeAt - run.now <= WAKE_AHEAD_MS) await waker.wakeAt(run.requestId, wakeAt);
  if (before !== null && before > run.now && before - run.now <= WAKE_AHEAD_MS)
    await waker.removeWakeAt(run.requestId, before);
}

interface TurnNoteParts {
  spans: Spans;
  notes: SpanNotes;
  core: EngineCore;
}

/** `under`: the context of the turn. */
function turnNote(
  { spans, notes, core }: TurnNoteParts,
  { run, folded, startedAt }: Omit<WrittenTurn, 'endedAt'>,
  under: string,
  prepared: readonly Prepared[],
): PendingNote {
  const parent = spans.under(run.traceparent);
  if (parent === null) return NO_NOTE;
  const endedAt = spans.now();
  const turn = turnSpan(parent, { run, folded, startedAt, endedAt });
  const last = isLastTurn(run, folded)
    ? [runSpan(parent, { run, view: core.view(run.spec, folded.document), endedAt })]
    : [];
  return notes.noteOf(run.requestId, {
    under,
    prepared,
    version: run.version + 1,
    spans: [turn, ...last],
  });
}
