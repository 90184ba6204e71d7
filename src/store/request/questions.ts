// The questions of a directive's tool and their answers: written and read in the journal. Never decides what an answer
// means, nor puts one into the log.
import type {
  InputAction,
  InputCause,
  QuestionAnswer,
  ToolQuestion,
} from '../../contract/tool/tool-question.ts';
import type { Approver } from '../../contract/policy/policy.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import type { DirectiveRecord } from './records.ts';
import type { RunScript, ScriptReply } from '../scripts.ts';
import { writeSignal } from '../log/stored-signal.ts';
import type { ClaimRef } from '../refs.ts';

/** One question of a round. `key`: the server's name for it. */
export interface RoundQuestion {
  key: string;
  question: ToolQuestion;
}

/** A round as it is kept. */
export interface QuestionRound {
  /** Which server asked: an answer goes to no other. */
  endpoint: string;
  /** The state that the server wants back with the answers; null: none. */
  state: string | null;
  questions: readonly RoundQuestion[];
  /** Responses of others to the same round, which go back with the answers; absent: none. */
  given?: Readonly<Record<string, unknown>>;
  /** `other`: the caller that has submitted the directive may not accept. Absent: any caller may. */
  approver?: Approver;
}

/** Endpoint of a round in which the service itself asks whether the call is approved; no server has it. */
export const OWN_ENDPOINT = '';

/** Endpoint of a round in which the service itself asks a caller to log in; no server has it. */
export const LOGIN_ENDPOINT = '@login';

/** Whether the service itself asks: the answers go to no server. */
export function isOwn({ endpoint }: Pick<QuestionRound, 'endpoint'>): boolean {
  return endpoint === OWN_ENDPOINT || endpoint === LOGIN_ENDPOINT;
}

export function isApproval(round: Pick<QuestionRound, 'endpoint'>): boolean {
  return round.endpoint === OWN_ENDPOINT;
}

/** How a round is asked. */
export interface Asking {
  round: QuestionRound;
  /** The worker holds the call; else the claim is given back. */
  held: boolean;
  number: number;
  /** Number of its first question. */
  first: number;
  /** Milliseconds since the epoch, by the clock of Redis. */
  untilAt: number;
  afresh: boolean;
  /** The deadline of the directive from now on, by the clock of Redis. Default: as it was. */
  deadlineAt?: number;
}

export interface AnswerGiven {
  answer: QuestionAnswer;
  cause: InputCause;
  digest: string;
  /** null: unknown. */
  by: string | null;
}

export type AnswerVerdict =
  | { kind: 'answered'; at: number; open: number }
  | { kind: 'already'; at: number; action: InputAction; cause: InputCause; digest: string; by: string | null }
  | { kind: 'over' | 'unknown' }
  | { kind: 'no_room'; bytes: number };

export type AskVerdict = 'asked' | 'cancelled' | 'ended' | 'stale' | 'unknown' | 'no_room';

/** The fields of the bodies, as the scripts name them. */
const QUESTION = '@question|';
const ANSWER = '@answer|';

export interface QuestionParts {
  connection: RedisConnection;
  keys: KeySpace;
  /** Maximum size of a request. */
  mostBytes: (requestId: string) => number;
  /** The callback of `JournalOptions`. */
  onChange: ((requestId: string) => void) | undefined;
}

export function createQuestions(run: RunScript, { connection, keys, mostBytes, onChange }: QuestionParts) {
  /** Under the claim, which ends with it unless the worker holds the call. */
  async function ask(ref: ClaimRef, asking: Asking, signals: readonly SignalDraft[]): Promise<AskVerdict> {
    const { round, held, number, first, untilAt, afresh, deadlineAt } = asking;
    const texts = signals.map((signal) => writeSignal(ref.requestId, signal));
    const place = [held ? 'h' : 'r', number, first, Math.round(untilAt), afresh ? 1 : 0];
    const args = [ref.id, ref.fence, ...place, JSON.stringify(round), mostBytes(ref.requestId)];
    const deadline = deadlineAt === undefined ? '' : Math.round(deadlineAt);
    return noted(ref.requestId, async () => {
      const [verdict] = await run('ask', keys.request(ref.requestId), [...args, deadline, ...texts]);
      return verdict as AskVerdict;
    });
  }

  /** `fence`: of the worker that ends the question; null: a caller answers. */
  async function answer(
    { requestId, id, number, fence }: { requestId: string; id: string; number: number; fence: number | null },
    { answer: given, cause, digest, by }: AnswerGiven,
    signal: SignalDraft,
  ): Promise<AnswerVerdict> {
    const who = by === null ? '-' : encodeURIComponent(by).replaceAll('-', '%2D');
    const about = [id, number, fence ?? '', given.action, cause, digest, who];
    const args = [...about, JSON.stringify(given), mostBytes(requestId), writeSignal(requestId, signal)];
    return noted(requestId, async () => answerVerdict(await run('answer', keys.request(requestId), args)));
  }

  /** Also where no answer came: Redis may have written it all the same. */
  async function noted<V>(requestId: string, write: () => Promise<V>): Promise<V> {
    try {
      return await write();
    } finally {
      onChange?.(requestId);
    }
  }

  /** null: the directive's tool asks nothing, or no longer. */
  async function round(requestId: string, id: string): Promise<QuestionRound | null> {
    const [, bodies] = keys.request(requestId);
    const json = await connection.hget(bodies, QUESTION + id);
    return json === null ? null : (JSON.parse(json) as QuestionRound);
  }

  /** The rounds of directives that ask, by id. */
  async function rounds(requestId: string, ids: readonly string[]): Promise<Map<string, QuestionRound>> {
    if (ids.length === 0) return new Map();
    const [, bodies] = keys.request(requestId);
    const texts = await connection.hmget(bodies, ...ids.map((id) => QUESTION + id));
    return new Map(
      ids.flatMap((id, index) => {
        const json = texts[index] ?? null;
        return json === null ? [] : [[id, JSON.parse(json) as QuestionRound] as const];
      }),
    );
  }

  /** The answers to questions of a round, in their order; null: there is none yet. */
  async function answers(
    requestId: string,
    id: string,
    { first, count }: Pick<NonNullable<DirectiveRecord['asked']>, 'first' | 'count'>,
  ): Promise<(QuestionAnswer | null)[]> {
    const [, bodies] = keys.request(requestId);
    const fields = Array.from({ length: count }, (_, index) => `${ANSWER}${id}|${first + index}`);
    const texts = await connection.hmget(bodies, ...fields);
    return texts.map((json) => (json === null ? null : (JSON.parse(json) as QuestionAnswer)));
  }

  return { ask, answer, round, rounds, answers };
}

function answerVerdict([verdict, first, ...rest]: ScriptReply): AnswerVerdict {
  const kind = verdict as AnswerVerdict['kind'];
  switch (kind) {
    case 'answered':
      return { kind, at: Number(first), open: Number(rest[0]) };
    case 'already': {
      const [action, cause, digest, by] = rest.map(String);
      return {
        kind,
        at: Number(first),
        action: action as InputAction,
        cause: cause as InputCause,
        digest: digest ?? '',
        by: by === undefined || by === '-' ? null : decodeURIComponent(by),
      };
    }
    case 'no_room':
      return { kind, bytes: Number(first) };
    case 'over':
    case 'unknown':
      return { kind };
  }
}
