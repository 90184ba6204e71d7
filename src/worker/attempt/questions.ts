// The questions of a tool, at its worker: written to the journal, and answered from there. Never answers for a person:
// a question without an answer in time is declined, and the log shows that.
import {
  DECLINED,
  inputIdOf,
  type InputCause,
  QUESTION_LIMITS,
  type QuestionAnswer,
} from '../../contract/tool/tool-question.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { AnsweredRound, AskedQuestions, HeldQuestion } from '../executors/definition.ts';
import type { AskedRound } from '../../store/request/asked-round.ts';
import type { Asking, AskVerdict, QuestionRound } from '../../store/request/questions.ts';
import { tenantOf } from '../../contract/access/tenant.ts';
import { ASK_SUBJECT } from '../../contract/signal/webhook.ts';
import { noticeRef } from '../../directives/sweep/notice.ts';
import { FIRST_LOOK_MS } from '../../queue/entrance.ts';
import { draftSignal } from '../../store/log/signal-draft.ts';
import { directiveMetadata } from '../../store/log/terminal-signal.ts';
import { pause } from '../../platform/lifecycle.ts';
import type { AttemptParts, Claimed } from './claimed.ts';
import { durably } from '../record/durably.ts';

/** Interval at which a worker that holds a call checks for the answer, milliseconds: short enough for a person. */
const LOOK_MS = 500;

/** The numbers of the next round, after those of its questions. */
function nextNumbers(
  { granted: { asked } }: Claimed,
  held: readonly number[],
): { number: number; first: number } {
  const last = Math.max((asked?.first ?? 1) + (asked?.count ?? 0) - 1, ...held);
  return { number: (asked?.round ?? 0) + 1, first: last + 1 };
}

/** Milliseconds since the epoch, by the clock of Redis. */
export function redisNow({ granted, claimedAt }: Claimed): number {
  return granted.now + (performance.now() - claimedAt);
}

/** A tool that is declined gets this long, or a tenth of the time that is left, to end before the deadline of its directive. */
const LAST_WORDS_MS = 30_000;

function untilOf(claimed: Claimed, patienceMs: number): number {
  const now = redisNow(claimed);
  const { deadlineAt } = claimed.granted;
  const lastMs = Math.min(LAST_WORDS_MS, (deadlineAt - now) / 10);
  return Math.floor(Math.min(now + patienceMs, deadlineAt - lastMs));
}

/** Announced first where endpoints are notified of questions: the sweeper does that, though this worker dies. */
async function ask(
  parts: AttemptParts,
  { claim }: Claimed,
  asking: Asking,
  signals: readonly SignalDraft[],
): Promise<AskVerdict> {
  const { journal, index } = parts.records;
  const { requestId, id } = claim;
  const isNoticed = parts.endNotices?.asks(tenantOf(requestId)) === true;
  const subject = `${ASK_SUBJECT}${id}/${asking.first}`;
  if (isNoticed) await durably(parts, () => index.announce([noticeRef(requestId, subject)], FIRST_LOOK_MS));
  const verdict = await durably(parts, () => journal.questions.ask(claim, asking, signals));
  if (isNoticed && verdict === 'asked') parts.callNotice?.(requestId, subject);
  return verdict;
}

/** Ends the claim until the answers arrive. null: the questions do not fit into the request. */
export async function recordQuestions(
  parts: AttemptParts,
  claimed: Claimed,
  { questions, state, endpoint, patienceMs, afresh, given, stopsDeadline, approver }: AskedQuestions,
): Promise<{
  verdict: AskVerdict;
  untilAt: number;
}> {
  const { number, first } = nextNumbers(claimed, []);
  const now = redisNow(claimed);
  const untilAt = stopsDeadline ? Math.floor(now + patienceMs) : untilOf(claimed, patienceMs);
  const asking: Asking = {
    ...(stopsDeadline ? { deadlineAt: untilAt + claimed.granted.deadlineAt - now } : {}),
    round: {
      endpoint,
      state,
      questions,
      ...(given === undefined ? {} : { given }),
      ...(approver === undefined ? {} : { approver }),
    },
    held: false,
    number,
    first,
    untilAt,
    afresh,
  };
  const signals = questions.map((named, index) => askedSignal(claimed, named, first + index, untilAt));
  return { verdict: await ask(parts, claimed, asking, signals), untilAt };
}

/** The questions of an earlier attempt's tool, with the answers; questions without one are declined now. */
export async function answeredRound(
  parts: AttemptParts,
  claimed: Claimed,
): Promise<AnsweredRound | undefined> {
  const { asked } = claimed.granted;
  if (asked === null) return undefined;
  if (asked.held) {
    await withdrawHeld(parts, claimed, asked);
    return undefined;
  }
  const { requestId, id } = claimed.claim;
  const { questions } = parts.records.journal;
  const round = await durably(parts, () => questions.round(requestId, id));
  if (round === null) return undefined;
  const stored = await durably(parts, () => questions.answers(requestId, id, asked));
  const answers: [string, QuestionAnswer][] = [];
  for (const [index, { key }] of round.questions.entries()) {
    const answer = stored[index] ?? (await endQuestion(parts, claimed, asked.first + index, 'deadline'));
    answers.push([key, answer]);
  }
  const { questions: _, ...kept } = round;
  return { ...kept, afresh: asked.afresh, round: asked.round, answers: Object.fromEntries(answers) };
}

/** Withdraws the questions of a call whose worker is gone: its answer has no reader any more. */
async function withdrawHeld(
  parts: AttemptParts,
  claimed: Claimed,
  { first, count, open }: AskedRound,
): Promise<void> {
  if (open === 0) return;
  for (let number = first; number < first + count; number += 1)
    await endQuestion(parts, claimed, number, 'withdrawn');
}

/** The answer to the first question of the newest round, which is declined now if there is none. */
export async function firstAnswer(
  parts: AttemptParts,
  claimed: Claimed,
  { first }: Pick<AskedRound, 'first'>,
): Promise<QuestionAnswer & { isLate: boolean }> {
  const { requestId, id } = claimed.claim;
  const { questions } = parts.records.journal;
  const [stored] = await durably(parts, () => questions.answers(requestId, id, { first, count: 1 }));
  if (stored) return { ...stored, isLate: false };
  const answer = await endQuestion(parts, claimed, first, 'deadline');
  return { ...answer, isLate: answer === DECLINED };
}

/** Ends a question as the worker that has the claim. An answer at the last moment counts. */
async function endQuestion(
  parts: AttemptParts,
  claimed: Claimed,
  number: number,
  cause: Exclude<InputCause, 'answer'>,
): Promise<QuestionAnswer> {
  const { requestId, id, fence } = claimed.claim;
  const { questions } = parts.records.journal;
  const answer: QuestionAnswer = cause === 'deadline' ? DECLINED : CANCELLED;
  const signal = overSignal(claimed, number, answer, cause);
  const given = { answer, cause, digest: '-', by: null };
  const verdict = await durably(parts, () =>
    questions.answer({ requestId, id, number, fence }, given, signal),
  );
  if (verdict.kind !== 'already') return answer;
  const [stored] = await durably(parts, () => questions.answers(requestId, id, { first: number, count: 1 }));
  return stored ?? { action: verdict.action };
}

/** Questions of one call that is held, in all; a further one is cancelled. */
const MOST_HELD = QUESTION_LIMITS.rounds * QUESTION_LIMITS.perRound;

const CANCELLED: QuestionAnswer = { action: 'cancel' };

/**
 * Asks while the call goes on; one question at a time, so that each has its own number. Those that come meanwhile wait for
 * their turn; more than a round of them are cancelled at once.
 */
export function heldQuestions(parts: AttemptParts, claimed: Claimed) {
  const numbers: number[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let unanswered = 0;
  return async (asked: HeldQuestion, withdrawn: AbortSignal): Promise<QuestionAnswer> => {
    if (unanswered >= QUESTION_LIMITS.perRound) return CANCELLED;
    unanswered += 1;
    const answer = last.then(async () => askHeld(parts, claimed, { ...asked, numbers, withdrawn }));
    last = answer.catch(() => {});
    return answer.finally(() => (unanswered -= 1));
  };
}

/** `numbers`: of the questions that this claim has asked. */
async function askHeld(
  parts: AttemptParts,
  claimed: Claimed,
  asked: HeldQuestion & { numbers: number[]; withdrawn: AbortSignal },
): Promise<QuestionAnswer> {
  const { question, endpoint, numbers, withdrawn } = asked;
  if (withdrawn.aborted || numbers.length >= MOST_HELD) return CANCELLED;
  const { number, first } = nextNumbers(claimed, numbers);
  const untilAt = untilOf(claimed, asked.patienceMs);
  const named = { key: '', question };
  const round: QuestionRound = { endpoint, state: null, questions: [named] };
  const place = { number: number + numbers.length, first, untilAt };
  const asking: Asking = { round, held: true, ...place, afresh: false };
  const signals = [askedSignal(claimed, named, first, untilAt)];
  if ((await ask(parts, claimed, asking, signals)) !== 'asked') return CANCELLED;
  numbers.push(first);
  const patienceMs = untilAt - redisNow(claimed);
  return answerOf(parts, claimed, { number: first, patienceMs, withdrawn });
}

async function answerOf(
  parts: AttemptParts,
  claimed: Claimed,
  { number, patienceMs, withdrawn }: { number: number; patienceMs: number; withdrawn: AbortSignal },
): Promise<QuestionAnswer> {
  const { requestId, id } = claimed.claim;
  const { questions } = parts.records.journal;
  const endsAt = performance.now() + patienceMs;
  while (!withdrawn.aborted && performance.now() < endsAt) {
    await pause(Math.min(LOOK_MS, Math.max(1, endsAt - performance.now())), withdrawn);
    // Redis may be away for a while: the next look finds the answer.
    const [answer] = await questions.answers(requestId, id, { first: number, count: 1 }).catch(() => []);
    if (answer) return answer;
  }
  return endQuestion(parts, claimed, number, withdrawn.aborted ? 'withdrawn' : 'deadline');
}

function about({ envelope: { directive } }: Claimed, number: number) {
  const { id } = directive;
  const tool_name = 'tool_name' in directive ? String(directive.tool_name) : directive.type;
  const metadata = directiveMetadata(directive);
  return { call_id: id, tool_name, input_id: inputIdOf(id, number), metadata };
}

function askedSignal(
  claimed: Claimed,
  { key, question }: QuestionRound['questions'][number],
  number: number,
  untilAt: number,
): SignalDraft {
  const deadline_at = new Date(untilAt).toISOString();
  const shown = question.mode === 'form' ? { ...question, schema: { ...question.schema } } : question;
  const named = key === '' ? {} : { key };
  return draftSignal(
    'ai.tool.input_requested',
    { ...about(claimed, number), ...named, ...shown, deadline_at },
    claimed.origin,
  );
}

function overSignal(
  claimed: Claimed,
  number: number,
  { action }: QuestionAnswer,
  cause: InputCause,
): SignalDraft {
  return draftSignal('ai.tool.input_answered', { ...about(claimed, number), action, cause }, claimed.origin);
}
