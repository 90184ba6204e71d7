/** Records what a host says to the questions of its call, as everybody's answers and decisions are.
 *  It must never answer for a call that is not the host's own. */
import type { DirectiveClient } from '../../../contract/directive/directive-client.ts';
import { fieldLine } from '../../../contract/json/field-error.ts';
import { DirectiveRefused } from '../../../contract/problem.ts';
import { parseRef } from '../calls/call-questions.ts';
import { type HostAnswer, readAnswer } from './elicitation.ts';
import type { QuestionReader } from './question-reader.ts';
import type { Place } from '../calls/tool-answer.ts';

export interface AnswerParts {
  readonly client: DirectiveClient;
  readonly questions: QuestionReader;
}

export interface GivenAnswer {
  /** The ref of `CallQuestion`. */
  readonly ref: string;
  /** Result of `elicitation/create`. */
  readonly result: unknown;
  readonly by: string;
}

/** The outcome of an answer. `unfit`: the host may try again. `refused`: another one counts, or none any more. */
export type Recorded =
  | { readonly kind: 'recorded' | 'passed' }
  | { readonly kind: 'unfit' | 'refused'; readonly why: string };

/** Throws `ServiceUnavailable`: whether it was recorded is unknown then, and the same answer again is the same. */
export async function recordAnswer(
  parts: AnswerParts,
  place: Place,
  { ref, result, by }: GivenAnswer,
): Promise<Recorded> {
  const named = parseRef(ref);
  if (named === null) return { kind: 'refused', why: 'this call does not ask that' };
  const answer = readAnswer(named.kind, by, result);
  if (answer.kind === 'passed' || answer.kind === 'unfit') return answer;
  try {
    await sent(parts.client, place, named.id, answer);
    return { kind: 'recorded' };
  } catch (error) {
    if (!(error instanceof DirectiveRefused)) throw error;
    return refused(parts, place, ref, error);
  }
}

async function sent(
  client: DirectiveClient,
  { requestId }: Place,
  id: string,
  answer: Extract<HostAnswer, { body: unknown }>,
): Promise<unknown> {
  return answer.kind === 'input'
    ? client.answer(requestId, id, answer.body)
    : client.runs.decide(requestId, id, answer.body);
}

async function refused(
  { questions }: AnswerParts,
  place: Place,
  ref: string,
  { message, problem }: DirectiveRefused,
): Promise<Recorded> {
  const [first] = problem.errors ?? [];
  if (problem.code === 'invalid_body')
    return { kind: 'unfit', why: first === undefined ? message : fieldLine(first) };
  // The refusal of a decision does not say who was first; the log does.
  const ended = await questions.read(place).then(
    (read) => read.endOf(ref),
    () => null,
  );
  return { kind: 'refused', why: ended === null ? message : `"${parseRef(ref)?.id}" ${ended}` };
}
