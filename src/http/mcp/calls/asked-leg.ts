/** One leg of a stateless client: the answers that it brings, and the questions that it leaves with.
 *  It must never take an answer for another question than the one that was sealed for this client. */
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import type { CallQuestion } from './call-questions.ts';
import { type Elicitation, elicitationOf } from '../questions/elicitation.ts';
import { type AnswerParts, recordAnswer } from '../questions/host-answers.ts';
import { canAsk, type Host } from '../host.ts';
import type { QuestionListener } from '../questions/question-feed.ts';
import type { Place } from './tool-answer.ts';

/** The questions to the client, as its seal keeps them. */
export interface AskedOnLeg {
  /** The name under which the client sees a question → which it is. */
  readonly keys: Readonly<Record<string, string>>;
  /** Those it is not asked any more. */
  readonly passed: readonly string[];
  /** Answers that did not fit. */
  readonly unfit: number;
}

export const NOTHING_ASKED: AskedOnLeg = { keys: {}, passed: [], unfit: 0 };

/** In `_meta` of what the client gets: what has become of its answers. */
export const NOTICES_META = 'adjutant/notices';

/** At once; the others follow. */
const MOST_AT_ONCE = 8;
/** Answers of one call: then its questions are left to other people. */
export const MOST_UNFIT = 3;
const MOST_PASSED = 64;

/** The answers of the client, and their outcomes. */
export interface Brought {
  readonly passed: readonly string[];
  readonly unfit: number;
  /** Question → why its answer was refused: it is asked again. */
  readonly faults: ReadonlyMap<string, string>;
  /** Remarks for the client about its answers. */
  readonly notices: readonly string[];
}

type Responses = Readonly<Record<string, unknown>>;

export async function broughtAnswers(
  parts: AnswerParts,
  place: Place,
  { keys, passed: before, unfit: unfitBefore }: AskedOnLeg,
  { responses, by }: { readonly responses: Responses; readonly by: string },
): Promise<Brought> {
  const passed = [...before];
  const faults = new Map<string, string>();
  const notices: string[] = [];
  let unfit = unfitBefore;
  for (const [key, ref] of Object.entries(keys)) {
    if (!Object.hasOwn(responses, key)) continue;
    const recorded = await recordAnswer(parts, place, { ref, result: responses[key], by });
    if (recorded.kind === 'refused') notices.push(notTaken(key, recorded.why));
    if (recorded.kind === 'refused' || recorded.kind === 'passed') passed.push(ref);
    if (recorded.kind !== 'unfit') continue;
    unfit += 1;
    faults.set(ref, recorded.why);
    if (unfit >= MOST_UNFIT) passed.push(ref);
  }
  return { passed: passed.slice(-MOST_PASSED), unfit, faults, notices };
}

/** A notice to the client that another answer was first, or why its answer is no longer needed. */
export function notTaken(key: string, why: string): string {
  return `The answer to "${key}" was not taken: ${why}`;
}

export interface LegQuestions {
  /** null: the client cannot ask anybody. */
  readonly listener: QuestionListener | null;
  /** The state that the client carries; null: none. */
  asked(): {
    readonly inputRequests: NonNullable<InputRequiredResult['inputRequests']>;
    readonly keys: AskedOnLeg['keys'];
  } | null;
}

/** `tool` as in `Showing`. */
export function legQuestions(host: Host, tool: string | null, brought: Brought): LegQuestions {
  const enough = new AbortController();
  let shown: readonly Shown[] = [];
  const { passed, faults } = brought;
  const changed = (open: readonly CallQuestion[]): void => {
    const here = open.filter(({ ref }) => !passed.includes(ref));
    shown = shownTo(host, here, { tool, faults });
    if (shown.length > 0) enough.abort();
  };
  return {
    listener: canAsk(host) ? { changed, enough: enough.signal } : null,
    asked: () => (shown.length === 0 ? null : requestsOf(shown, 'own')),
  };
}

interface Shown {
  readonly question: CallQuestion;
  readonly params: Elicitation;
}

interface Showing {
  readonly tool: string | null;
  readonly faults?: ReadonlyMap<string, string>;
}

/** Those of the questions that this host can show, as many as it is asked at once. */
export function shownTo(host: Host, open: readonly CallQuestion[], showing: Showing): readonly Shown[] {
  return ableToShow(host, open, showing).slice(0, MOST_AT_ONCE);
}

/** All of them: what a client has seen is not unseen because other questions are shown first now. */
export function ableToShow(
  host: Host,
  open: readonly CallQuestion[],
  { tool, faults }: Showing,
): readonly Shown[] {
  return open.flatMap((question) => {
    const params = elicitationOf(question, { host, tool, fault: faults?.get(question.ref) });
    return params === null ? [] : [{ question, params }];
  });
}

/** `names`: the tool's own, where they can mean nothing else, or always ours. */
export function requestsOf(shown: readonly Shown[], names: 'own' | 'ref') {
  const keys = new Map<string, string>();
  const inputRequests = new Map<string, { method: 'elicitation/create'; params: Elicitation }>();
  for (const { question, params } of shown) {
    const key = names === 'ref' ? question.ref : keyOf(question, keys);
    keys.set(key, question.ref);
    inputRequests.set(key, { method: 'elicitation/create', params });
  }
  return {
    keys: Object.fromEntries(keys),
    inputRequests: Object.fromEntries(inputRequests) as NonNullable<InputRequiredResult['inputRequests']>,
  };
}

function keyOf(question: CallQuestion, taken: ReadonlyMap<string, string>): string {
  if (question.kind === 'approval' || question.key === null) return question.ref;
  const isPlain = /^[A-Za-z][\w.-]{0,63}$/.test(question.key) && !taken.has(question.key);
  return isPlain ? question.key : question.ref;
}
