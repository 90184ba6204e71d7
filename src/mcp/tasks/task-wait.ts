/** Waits for the end of a task: asks its server again and again, until it has ended, is forgotten, or is no longer needed.
 *  It always has a limit of its own, and never cancels a task that another worker goes on with. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { QUESTION_LIMITS } from '../../contract/tool/tool-question.ts';
import type { CallDeadline } from '../call-deadline.ts';
import type { Session } from '../session.ts';
import { expiryOf, nextPollMs, pollMsAfter, type TaskRef, type TaskReport } from './task.ts';
import {
  answerTask,
  askTask,
  cancelTask,
  heldResult,
  type TaskAnswer,
  type TaskServer,
} from './task-question.ts';
import type { HeldResult } from './task-result.ts';

export interface TaskWait {
  readonly server: TaskServer;
  readonly task: TaskRef;
  /** Last report of the server, and its session; null: not polled yet. */
  readonly report: TaskReport | null;
  readonly knowing: Session | null;
  readonly deadline: CallDeadline;
  /** Whether the call goes on elsewhere once the deadline has fired. */
  readonly goesOn: () => boolean;
  /** Each new thing that there is to say of it. */
  readonly onMessage: (message: string) => void;
  readonly onAnswered: (session: Session) => void;
  /** Questions of the task, as the server wrote them: resolves with the answers; null: such questions are not answered. */
  readonly onQuestions: (inputRequests: unknown) => Promise<Readonly<Record<string, unknown>> | null>;
}

export type TaskEnd =
  | { readonly kind: 'over'; readonly report: TaskReport }
  /** It has ended, but its end cannot be taken. */
  | { readonly kind: 'refused'; readonly error: ErrorEnvelope }
  | { readonly kind: 'forgotten'; readonly reason: string }
  /** It needs an answer that is not available here. `isTold`: its server has answered the request to cancel it. */
  | { readonly kind: 'asks'; readonly isTold: boolean }
  /** The deadline has fired, and its outcome is unknown. */
  | { readonly kind: 'stopped'; readonly isTold: boolean };

/** Result of one poll: null, it has not ended. */
type Found = Exclude<TaskEnd, { kind: 'asks' | 'stopped' }> | { readonly kind: 'asks' } | null;

/** A server may take so many questions to notice that it has the answers; then it asks the same again. */
const MOST_REPEATS = 10;

/** How long a cancelled task is asked for its end: less than a worker waits for a call that it has stopped. Milliseconds. */
const CANCEL_MS = 1_500;
const CANCEL_POLL_MS = 250;

/** State of a task during the wait. */
interface Known {
  report: TaskReport | null;
  /** When the server may forget it, as in `expiryOf`. */
  expiresAt: number;
  /** Questions, and those since the last answer. */
  polls: number;
  unanswered: number;
  said: string | null;
  /** Rounds of questions; the last one as JSON, with its answers, and how often it was reported since. */
  rounds: number;
  asked: { readonly requests: string; readonly answers: Readonly<Record<string, unknown>> } | null;
  repeats: number;
  /** The session that reported it last. */
  knowing: Session | null;
  /** The result that the server holds back; null: it is not asked for. */
  held: HeldResult | null;
  /** That result, until the server has confirmed whose it is. */
  early: TaskReport | null;
}

const NOTHING_KNOWN: Known = {
  report: null,
  expiresAt: Infinity,
  polls: 0,
  unanswered: 0,
  said: null,
  rounds: 0,
  asked: null,
  repeats: 0,
  knowing: null,
  held: null,
  early: null,
};

/** Never rejects. `polls`: how often the server was asked. */
export async function taskEnd(wait: TaskWait): Promise<{ end: TaskEnd; polls: number }> {
  const known: Known = { ...NOTHING_KNOWN, knowing: wait.knowing };
  if (wait.report !== null) note(wait, known, wait.report);
  const over = new AbortController();
  try {
    const end = (await endOf(wait, known, over.signal)) ?? (await stopped(wait, known));
    return { end, polls: known.polls };
  } finally {
    over.abort();
  }
}

/** null: the deadline has fired. */
async function endOf(wait: TaskWait, known: Known, over: AbortSignal): Promise<TaskEnd | null> {
  const { deadline } = wait;
  if (known.report !== null) {
    say(wait, known, known.report.message);
    if (isOver(known.report)) return { kind: 'over', report: known.report };
  }
  for (;;) {
    if (known.early === null) known.early = await nextQuestion(wait, known, over);
    else await pause(delayOf(known), deadline.signal);
    // A process is one session: nobody else's task can have the id.
    if (known.early !== null && wait.server.only !== null) return { kind: 'over', report: known.early };
    if (deadline.ending() !== null) return null;
    const isLast = Date.now() >= known.expiresAt;
    const end = endIn(wait, known, await ask(wait, known, deadline.signal));
    if (deadline.ending() !== null && end?.kind !== 'over') return null;
    if (end?.kind === 'asks' && (await answered(wait, known))) continue;
    if (deadline.ending() !== null) return null;
    if (end !== null) return end.kind === 'asks' ? refusedToAnswer(wait) : end;
    // A server that reports it keeps it, whatever time it gave.
    if (isLast && known.unanswered > 0)
      return { kind: 'forgotten', reason: 'it has outlived the time that its server keeps it' };
  }
}

/** Resolves when the server wants to be asked again; with the end when it has answered by itself before. */
async function nextQuestion(wait: TaskWait, known: Known, over: AbortSignal): Promise<TaskReport | null> {
  const { report, polls } = known;
  if (report === null) return polls === 0 ? null : pause(delayOf(known), wait.deadline.signal);
  const { signal } = wait.deadline;
  // Not of a server that was away: it may have begun anew, and have given the id to another task.
  if (known.unanswered === 0)
    known.held ??= heldResult(wait.server, wait.task, known.knowing, AbortSignal.any([signal, over]));
  const answered = new AbortController();
  const rest = pause(delayOf(known), AbortSignal.any([signal, answered.signal]));
  if (known.held === null) return rest;
  const held = known.held.result.then(async (result) => {
    if (result === null) {
      // Asked for again with the next question, not sooner.
      await rest;
      known.held = null;
      return null;
    }
    return { ...report, status: 'completed', result } as const;
  });
  return Promise.race([rest, held]).finally(() => answered.abort());
}

async function ask(wait: TaskWait, known: Known, signal: AbortSignal): Promise<TaskAnswer> {
  known.polls += 1;
  const answer = await askTask(wait.server, wait.task, signal, known.early);
  if (answer.kind === 'report') {
    wait.onAnswered(answer.session);
    known.knowing = answer.session;
  }
  known.unanswered = answer.kind === 'away' ? known.unanswered + 1 : 0;
  return answer;
}

function note({ task }: TaskWait, known: Known, report: TaskReport): void {
  known.report = report;
  known.expiresAt = expiryOf(task, report, Date.now());
}

function endIn(wait: TaskWait, known: Known, answer: TaskAnswer): Found {
  switch (answer.kind) {
    case 'report':
      note(wait, known, answer.report);
      say(wait, known, answer.report.message);
      if (isOver(answer.report)) return { kind: 'over', report: answer.report };
      return answer.report.status === 'input_required' ? { kind: 'asks' } : null;
    case 'away':
      say(wait, known, `The task cannot be asked for its end at the moment: ${answer.reason}`);
      return null;
    case 'refused':
    case 'forgotten':
      return answer;
  }
}

function isOver({ status }: TaskReport): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

function delayOf({ report, unanswered, expiresAt }: Known): number {
  const pollMs = pollMsAfter(report?.pollMs ?? CANCEL_POLL_MS, unanswered);
  return nextPollMs(pollMs, expiresAt, Date.now());
}

function say({ onMessage }: TaskWait, known: Known, message: string | null): void {
  if (message === null || message === known.said) return;
  known.said = message;
  onMessage(message);
}

/** Whether the task goes on: its questions are answered, or will be asked again. */
async function answered(wait: TaskWait, known: Known): Promise<boolean> {
  const requests = JSON.stringify(known.report?.inputRequests ?? {});
  if (known.asked?.requests !== requests || known.repeats >= MOST_REPEATS) {
    if (known.rounds >= QUESTION_LIMITS.rounds) return false;
    const answers = await wait.onQuestions(known.report?.inputRequests).catch(() => null);
    if (answers === null || wait.deadline.ending() !== null) return false;
    Object.assign(known, { asked: { requests, answers }, repeats: 0, rounds: known.rounds + 1 });
  }
  known.repeats += 1;
  await answerTask(wait.server, wait.task, known.asked?.answers ?? {}, wait.deadline.signal);
  return true;
}

async function refusedToAnswer(wait: TaskWait): Promise<TaskEnd> {
  return { kind: 'asks', isTold: await told(wait, AbortSignal.timeout(CANCEL_MS)) };
}

/** Whether its server has answered the request to cancel it. */
async function told({ server, task }: TaskWait, signal: AbortSignal): Promise<boolean> {
  const { kind } = await cancelTask(server, task, signal);
  return kind !== 'away';
}

/** Cancels a task that is no longer needed, which is a request only: it may still complete. */
async function stopped(wait: TaskWait, known: Known): Promise<TaskEnd> {
  if (wait.goesOn()) return { kind: 'stopped', isTold: false };
  const late = AbortSignal.timeout(CANCEL_MS);
  let isTold = await told(wait, late);
  while (!late.aborted) {
    const answer = await ask(wait, known, late);
    const end = endIn(wait, known, answer);
    if (end?.kind === 'over') return end;
    if (end?.kind === 'forgotten' || end?.kind === 'refused') return { kind: 'stopped', isTold: true };
    if (end !== null && isTold) break;
    // Only to a server that has just reported this task: after a restart the id may be another one's.
    if (answer.kind === 'report' && !isTold) isTold = await told(wait, late);
    await pause(CANCEL_POLL_MS, late);
  }
  return { kind: 'stopped', isTold };
}

async function pause(ms: number, signal: AbortSignal): Promise<null> {
  await delay(ms, undefined, { signal }).catch(() => {});
  return null;
}
