// One turn of a run: read → fold → write → enqueue, until nothing is left to read. The whole sequence in one file.
// Must never act outside the run before the turn that asks for it is written.
import type { Directive } from '../contract/directive.ts';
import type { CommitVerdict } from '../journal/run-journal.ts';
import type { SweepIndex } from '../journal/sweep-index.ts';
import type { Confirm } from '../queue/durability.ts';
import type { JobData } from '../queue/job.ts';
import type { Lanes } from '../queue/lanes.ts';
import { type Prepared, type Preparer, enqueueAll } from '../queue/prepare.ts';
import { WAKE_AHEAD_MS, RUN_ENTRY, type RunWaker } from '../queue/run-wake.ts';
import { begin, type BeginningParts } from './beginning.ts';
import { endOf, endOfUnreadable, guarded } from './broken-run.ts';
import { type Acknowledgement, begun, fold, type Folded, isDue, isOver } from './fold.ts';
import { type OutboxParts, performOutbox } from './outbox.ts';
import { TURN_SIZE, type RunStore, type StoredRun } from './run-store.ts';
import { commitOf, textsOf, type Turn } from './turn-record.ts';

export interface TurnLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface TurnParts extends BeginningParts, OutboxParts {
  store: RunStore;
  preparer: Preparer;
  index: SweepIndex;
  lanes: Lanes;
  waker: RunWaker;
  /** The worker of this process, if any: it gets what it can take at once, without a job. */
  localWorker: LocalWorker;
  /** Started before each write; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
  /** Redis Cluster keeps no order between slots, so there each step waits for the one before it. */
  ordered: boolean;
  logger: TurnLogger;
}

/** May execute a directive without a job. If it dies, the sweeper enqueues what it had. */
export interface LocalWorker {
  /** Whether it could take a directive of the lane now. */
  canTake(lane: string): boolean;
  /** Takes an accepted directive; false: it needs a job. */
  take(lane: string, job: JobData): boolean;
}

export const NO_LOCAL_WORKER: LocalWorker = { canTake: () => false, take: () => false };

/** The sweeper first checks a turn's directives and outbox this long after the turn. */
const FIRST_LOOK_MS = 5_000;

/**
 * `known`: the run as the caller knows it, for the first turn. Rejects when Redis does not answer; the next call does
 * what is left undone.
 */
export async function takeTurns(
  parts: TurnParts,
  requestId: string,
  known: StoredRun | null = null,
): Promise<void> {
  let size = TURN_SIZE;
  for (let next = known; ; next = null) {
    const run = next ?? (await parts.store.read(requestId, size));
    if (!run) return parts.index.forget({ requestId, id: RUN_ENTRY });
    const turn = await workOut(parts, run);
    if (turn === null) return;
    const verdict = await write(parts, run, turn);
    // The run would end, but has more signals than were read.
    if (verdict.kind === 'more') size = { limit: size.limit * 4, bytes: size.bytes * 4 };
    else if (verdict.kind === 'unknown') return;
    else if (verdict.kind === 'committed' && !verdict.more && !hasMoreToDo(run, turn)) return;
  }
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
  const acknowledgements = await performOutbox(parts, run);
  if (acknowledgements.length === 0 && run.signals.length === 0 && !isDue(run.document, run.now)) return null;
  return { folded: nextTurn(parts, run, acknowledgements), spec: null };
}

/** The last turn of an unreadable run. Its spec is written again, so that readers of its end find one. */
function lastTurn(parts: TurnParts, run: StoredRun, fault: string): Turn {
  const { spec } = run;
  return { folded: begun(endOfUnreadable(parts, run, fault), spec.run_id), spec };
}

async function firstTurn(parts: TurnParts, run: StoredRun): Promise<Turn | null> {
  const beginning = await begin(parts, run);
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

function nextTurn(parts: TurnParts, run: StoredRun, acknowledgements: readonly Acknowledgement[]): Folded {
  const { spec, document, signals, now } = run;
  if (document === null) throw new Error('a run without a document has no next turn');
  return guardedFold(parts, run, () => fold(parts.core, { spec, document, acknowledgements, signals, now }));
}

function guardedFold(parts: TurnParts, run: StoredRun, work: () => Folded): Folded {
  return guarded(parts, run, work, (end) => begun(end, run.spec.run_id));
}

function failed(parts: TurnParts, run: StoredRun, error: { reason: string; message: string }): Folded {
  return begun(endOf(parts, run, error), run.spec.run_id);
}

/** Writes the turn; if it cannot be written, the run ends instead. */
async function write(parts: TurnParts, run: StoredRun, turn: Turn): Promise<CommitVerdict> {
  const verdict = await commit(parts, run, turn);
  if (verdict.kind === 'overflow') {
    const message = `${verdict.open} directives would be open at once`;
    turn.folded = failed(parts, run, { reason: 'queue_overflow', message });
  } else if (verdict.kind === 'no_room') {
    const message = `the request holds ${verdict.bytes} bytes, and limits.request_bytes has no room for more`;
    turn.folded = failed(parts, run, { reason: 'request_full', message });
  } else if (verdict.kind === 'conflict') {
    const message = `the request holds another directive with the id "${verdict.id}"`;
    turn.folded = failed(parts, run, { reason: 'id_conflict', message });
  } else return verdict;
  return commit(parts, run, turn);
}

async function commit(parts: TurnParts, run: StoredRun, turn: Turn): Promise<CommitVerdict> {
  const texts = textsOf(parts, run, turn);
  const { folded } = turn;
  const prepared = await parts.preparer.prepare(folded.directives as Directive[], run.traceparent);
  const open = prepared.filter(({ acceptance }) => acceptance.lane !== null);
  const confirmed = await parts.confirm();
  const announced = announce(parts, run, folded, open);
  if (!parts.ordered) await announced;
  const committing = parts.store.commit(run, commitOf(run, turn, texts, prepared));
  const near = open.filter(({ acceptance }) => parts.localWorker.canTake(acceptance.lane ?? ''));
  // One directive on one connection: Redis executes the three commands in this order, in one round trip.
  const alone = parts.ordered && open.length === 1 && near.length === 0;
  const enqueued = alone ? enqueueAll(parts.lanes, open) : undefined;
  enqueued?.catch(() => {});
  const [verdict] = await Promise.all([committing, announced]);
  if (verdict.kind !== 'committed') {
    if (enqueued) await removeJobs(parts, run, verdict, open);
    return verdict;
  }
  await dispatch(parts, run, folded, enqueued ?? handOut(parts, open));
  await confirmed?.();
  return verdict;
}

/** Enqueues what the local worker does not take. */
function handOut({ localWorker, lanes }: TurnParts, open: readonly Prepared[]): Promise<void> {
  const left = open.filter(({ acceptance, job }) => !localWorker.take(acceptance.lane ?? '', job));
  return enqueueAll(lanes, left);
}

/** If another turn has accepted the same directives, the jobs were right. */
async function removeJobs(
  { lanes }: TurnParts,
  { requestId }: StoredRun,
  { kind }: CommitVerdict,
  open: readonly Prepared[],
): Promise<void> {
  if (kind === 'version') return;
  for (const { acceptance } of open)
    await lanes.removeJob(acceptance.lane ?? '', requestId, acceptance.id).catch(() => {});
}

/** Before the commit: if this process dies after it, the sweeper enqueues what has no job. */
async function announce(
  { index }: TurnParts,
  { requestId, document: before, now }: StoredRun,
  { document }: Folded,
  open: readonly Prepared[],
): Promise<void> {
  // While nothing else is due, the planned check is enough.
  const wakeAt = document.wake_at === before?.wake_at ? null : document.wake_at;
  const own = Math.min(wakeAt ?? Infinity, document.outbox.length > 0 ? now + FIRST_LOOK_MS : Infinity);
  const refs = open.map(({ acceptance }) => ({ requestId, id: acceptance.id }));
  const lookAfterMs = Math.min(FIRST_LOOK_MS, ...open.map(({ acceptance }) => acceptance.deadlineMs));
  await Promise.all([
    refs.length > 0 ? index.announce(refs, lookAfterMs) : undefined,
    own === Infinity ? undefined : index.add([{ requestId, id: RUN_ENTRY }], own),
  ]);
}

/** The sweeper repeats a job that could not be enqueued. */
async function dispatch(
  parts: TurnParts,
  run: StoredRun,
  { document, log }: Folded,
  enqueued: Promise<void>,
): Promise<void> {
  const { requestId } = run;
  for (const { level, message, details } of log)
    parts.logger[level]({ request_id: requestId, ...details }, message);
  await Promise.all([enqueued, enqueueWake(parts, run, document.wake_at)]).catch(() => {});
  if (!isOver(document) || document.outbox.length > 0) return;
  parts.index.forget({ requestId, id: RUN_ENTRY });
}

async function enqueueWake({ waker }: TurnParts, run: StoredRun, wakeAt: number | null): Promise<void> {
  const before = run.document?.wake_at ?? null;
  if (wakeAt === before) return;
  if (wakeAt !== null && wakeAt - run.now <= WAKE_AHEAD_MS) await waker.wakeAt(run.requestId, wakeAt);
  if (before !== null && before > run.now && before - run.now <= WAKE_AHEAD_MS)
    await waker.removeWakeAt(run.requestId, before);
}
