// The sweeper: looks at directives that should have ended or begun, jobs again or ends them.
// Must never need to be the only one, nor to live on: every step is safe to repeat, and what it took others get after it.
import type { Result } from '../contract/result.ts';
import { deadlineExceededError } from '../contract/cancellation.ts';
import { pause, settledWithin } from '../lifecycle.ts';
import { decodeEnvelope } from '../journal/envelope.ts';
import type { DeadLetterIndex } from '../journal/dead-letter-index.ts';
import type { Journal } from '../journal/journal.ts';
import type { DirectiveRecord } from '../journal/records.ts';
import type { RunJournal } from '../journal/run-journal.ts';
import type { EndRecorder } from '../journal/end-recorder.ts';
import type { DueEntry, SweepIndex } from '../journal/sweep-index.ts';
import { failureSignal } from '../journal/terminal-signal.ts';
import { successorId } from './successor-id.ts';
import { jobDataFor } from './job.ts';
import type { Lanes } from './lanes.ts';
import { mayHaveRun } from './possible-execution.ts';
import { RUN_ENTRY, type RunWaker } from './run-wake.ts';
import { createRunSweep } from './sweep-runs.ts';

export interface SweeperOptions {
  journal: Journal;
  runs: RunJournal;
  index: SweepIndex;
  lanes: Lanes;
  waker: RunWaker;
  dead: DeadLetterIndex;
  ends: EndRecorder;
  /** How long a closed request stays readable, milliseconds. */
  retentionMs: number;
  /** Time between two looks at the index, milliseconds. Default 500: the end of a lease is noticed within that. */
  intervalMs?: number;
  onError: (error: Error) => void;
  onEnded?(requestId: string, id: string): void;
}

/** What is to be done about one directive. */
export type SweepDecision =
  | { kind: 'forget' }
  | { kind: 'record' }
  | { kind: 'look_again'; at: number; missed?: boolean }
  | { kind: 'enqueue'; at: number }
  | { kind: 'expire' };

const BATCH = 200;
/** Every step may be left undone: a stop does not wait for a Redis that is away. */
const LONGEST_STOP_MS = 1_000;
const SHORTEST_LOOK_MS = 5_000;
const LONGEST_LOOK_MS = 60_000;
/** How long after the time of its next attempt somebody should have come. */
const OVERDUE_MS = 500;
/** What has lost its worker is looked at this soon after it was enqueued for: the job may have been held until then. */
const SHORTEST_TAKEOVER_LOOK_MS = 500;
/** A directive that is in the index but not in the journal is given this long to appear. */
const MISSING_GRACE_MS = 60_000;
/** How often dead letters are dropped whose directives are no longer readable. */
const DEAD_LETTER_LOOK_MS = 10_000;
const DEFAULT_INTERVAL_MS = 500;

/** Looks the more seldom the longer it has been so, and always at the deadline. */
function nextLook({ deadlineAt }: DirectiveRecord, now: number, soForMs: number, shortestMs: number): number {
  const pauseMs = Math.min(Math.max(soForMs, shortestMs), LONGEST_LOOK_MS);
  return Math.min(now + pauseMs, Math.max(deadlineAt, now + 1));
}

type Seen = Pick<DueEntry, 'missedBefore' | 'recordedBefore'>;

export function sweepDecision(entry: Seen, record: DirectiveRecord | null, now: number): SweepDecision {
  if (!record)
    return entry.missedBefore
      ? { kind: 'forget' }
      : { kind: 'look_again', at: now + MISSING_GRACE_MS, missed: true };
  if (record.terminal !== null)
    return { kind: record.status === 'failed' && !entry.recordedBefore ? 'record' : 'forget' };
  if (record.deadlineAt <= now) return { kind: 'expire' };
  if (record.status === 'running') return leaseDecision(record, record.leaseUntil ?? now, now);
  const at = nextLook(record, now, now - record.acceptedAt, SHORTEST_LOOK_MS);
  const { nextAttemptAt } = record;
  if (nextAttemptAt !== null && nextAttemptAt > now)
    return { kind: 'look_again', at: Math.min(at, nextAttemptAt + OVERDUE_MS) };
  return { kind: 'enqueue', at };
}

/** The end of a lease is looked at when it comes: nobody else may be there long enough to notice that a worker died. */
function leaseDecision(record: DirectiveRecord, leaseUntil: number, now: number): SweepDecision {
  if (leaseUntil > now) return { kind: 'look_again', at: nextLook(record, now, leaseUntil - now, 1) };
  return { kind: 'enqueue', at: nextLook(record, now, now - leaseUntil, SHORTEST_TAKEOVER_LOOK_MS) };
}

export function createSweeper(options: SweeperOptions) {
  const { journal, runs, index, lanes, waker, dead, ends, onError } = options;
  const sweepRun = createRunSweep({ runs, index, waker });
  const stopping = new AbortController();
  let loop: Promise<void> | undefined;
  let deadLetterLookAt = 0;

  /** One look at what is due and no other sweeper has taken; returns how many entries there were. */
  async function sweep(): Promise<number> {
    const { now, entries } = await index.take(BATCH);
    await Promise.all(
      entries.map((entry) => examine(entry, now).catch((error: unknown) => putOff(entry, now, error))),
    );
    return entries.length;
  }

  /** One entry that cannot be looked at must not keep the others from being looked at. */
  async function putOff(entry: DueEntry, now: number, error: unknown): Promise<void> {
    onError(error instanceof Error ? error : new Error(String(error)));
    await index.lookAgain(entry, now + SHORTEST_LOOK_MS, entry.missedBefore);
  }

  async function examine(entry: DueEntry, now: number): Promise<void> {
    if (entry.id === RUN_ENTRY) return sweepRun(entry, now);
    const record = await journal.directive(entry.requestId, entry.id);
    const decision = sweepDecision(entry, record, now);
    if (record && record.terminal !== null) await removeJob(entry, record);
    if (decision.kind === 'forget') index.forget(entry);
    else if (record && decision.kind === 'record') await recordFailed(entry, record);
    else if (decision.kind === 'look_again') await index.lookAgain(entry, decision.at, decision.missed);
    else if (record && decision.kind === 'enqueue') await enqueueAgain(entry, record, decision.at);
    else if (record) await expire(entry, record, now);
  }

  /** A repeated submission jobs without knowing of the end, and where no worker would take that job, it would stay. */
  async function removeJob({ requestId, id }: DueEntry, { lane }: DirectiveRecord): Promise<void> {
    if (lane) await lanes.removeJob(lane, requestId, id);
  }

  /** Its worker died between the end and the dead letter, or it was submitted again after its end. */
  async function recordFailed(entry: DueEntry, record: DirectiveRecord): Promise<void> {
    const { requestId, id } = entry;
    // Whoever redrove it took it off the list.
    if (await journal.directive(requestId, successorId(id))) return index.forget(entry);
    const signal = record.terminal === null ? null : await journal.signalAt(requestId, record.terminal);
    const result = signal && 'result' in signal.data ? (signal.data.result as Partial<Result>) : null;
    const errorType = result && 'error' in result ? (result.error?.type ?? null) : null;
    ends.record({ requestId, id, lane: record.lane, errorType });
  }

  async function enqueueAgain(entry: DueEntry, record: DirectiveRecord, at: number): Promise<void> {
    const json = await journal.envelope(entry.requestId, entry.id);
    if (json && record.lane) {
      const job = jobDataFor(decodeEnvelope(json), record.digest, json.length);
      // Where somebody had it, its job may still lie where a worker died.
      await (record.fence > 0 ? lanes.requeue(record.lane, job) : lanes.enqueue(record.lane, job));
    }
    await index.lookAgain(entry, at);
    await lookAtLease(entry, at);
  }

  /** The ring may be answered before the look is put off: whoever claimed meanwhile could not bring the look forward. */
  async function lookAtLease(entry: DueEntry, at: number): Promise<void> {
    const record = await journal.directive(entry.requestId, entry.id);
    const leaseUntil = record?.leaseUntil ?? null;
    if (leaseUntil !== null && leaseUntil < at) await index.add([entry], leaseUntil);
  }

  async function expire(entry: DueEntry, record: DirectiveRecord, now: number): Promise<void> {
    const json = await journal.envelope(entry.requestId, entry.id);
    if (!json) return index.forget(entry);
    const { directive, traceparent } = decodeEnvelope(json);
    const error = deadlineExceededError(record.deadlineAt - record.acceptedAt, {
      status: record.status,
      attempts: record.fence - record.released,
      failures: record.failures,
      ...(mayHaveRun(record, directive) ? { outcome: 'unknown' } : {}),
    });
    const origin = { requestId: entry.requestId, causationId: entry.id, traceparent };
    const signal = failureSignal(directive, error, origin, {
      attempts: record.fence - record.released,
      redeliveries: record.redeliveries,
    });
    await journal.endUnclaimed(entry.requestId, entry.id, 'failed', [signal]);
    // Before the entry goes: when it fails, the next look finds the directive ended and does it again.
    await removeJob(entry, record);
    const ended = { requestId: entry.requestId, id: entry.id, lane: record.lane, errorType: error.type };
    if (record.fence > 0) ends.record(ended);
    else await ends.recordUntaken(ended, now + SHORTEST_LOOK_MS);
    options.onEnded?.(entry.requestId, entry.id);
  }

  async function sweepAll(): Promise<void> {
    while ((await sweep()) >= BATCH && !stopping.signal.aborted);
    if (performance.now() < deadLetterLookAt) return;
    deadLetterLookAt = performance.now() + DEAD_LETTER_LOOK_MS;
    await dead.expire(options.retentionMs);
    await lanes.forgetIdle();
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await sweepAll();
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)));
      }
      await pause(options.intervalMs ?? DEFAULT_INTERVAL_MS, stopping.signal);
    }
  }

  return {
    name: 'sweeper',
    sweep,
    async start(): Promise<void> {
      loop ??= run();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await settledWithin(loop ?? Promise.resolve(), LONGEST_STOP_MS);
      index.flush();
    },
  };
}
