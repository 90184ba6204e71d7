// The login of its caller that a call needs at a server with personal logins: asked for before the call, and again once the server
// refuses it. Must never let a call be made with another login, nor ask without end.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult, okResult } from '../../contract/result.ts';
import { QUESTION_LIMITS } from '../../contract/tool/tool-question.ts';
import { isOwn, LOGIN_ENDPOINT, type QuestionRound } from '../../store/request/questions.ts';
import type { Execution } from '../executors/definition.ts';
import { durably } from '../record/durably.ts';
import type { AttemptParts, Claimed, LoginState } from './claimed.ts';
import { firstAnswer } from './questions.ts';

/** `login`: the name of the caller's login; null: the call needs none. */
type CallLogin = { readonly login: string | null };

/** The login, or the outcome of an attempt that cannot be made without one. */
export async function loginOf(
  parts: AttemptParts,
  claimed: Claimed,
): Promise<CallLogin | { readonly execution: Execution }> {
  const { logins } = parts;
  if (logins === null) return { login: null };
  const state = await durably(parts, async () => logins.stateOf(claimed));
  return state.kind === 'stored' || state.kind === 'none'
    ? { login: state.kind === 'stored' ? state.login : null }
    : { execution: await askedFor(parts, claimed, state) };
}

/** The outcome in place of a call that the server has refused for its login; null: it did not. */
export async function refusedLogin(
  parts: AttemptParts,
  claimed: Claimed,
  { login }: CallLogin,
  made: Execution,
): Promise<Execution | null> {
  const { logins } = parts;
  const { result, untaken } = made;
  if (logins === null || login === null || result.ok || untaken !== true) return null;
  const { type, details } = result.error;
  // 403: the login is valid, and may not do this.
  if (type !== 'auth' || details['status'] === FORBIDDEN) return null;
  await durably(parts, async () => logins.forget(claimed, login));
  const state = await durably(parts, async () => logins.stateOf(claimed));
  if (state.kind === 'missing') return askedFor(parts, claimed, state);
  // The caller has logged in anew while the call was made: it is made once more with that login.
  return state.kind === 'stored' && state.login !== login ? { ...made, unmade: true } : null;
}

const FORBIDDEN = 403;

async function askedFor(
  parts: AttemptParts,
  claimed: Claimed,
  state: Extract<LoginState, { kind: 'missing' | 'refused' }>,
): Promise<Execution> {
  if (state.kind === 'refused') return without(claimed, state.reason);
  const { digest, granted } = claimed;
  const { asked } = granted;
  const before = asked === null ? null : await ownRound(parts, claimed);
  if (asked !== null && before?.endpoint === LOGIN_ENDPOINT) {
    // @guard login-declined
    const { action } = await firstAnswer(parts, claimed, asked);
    if (action !== 'accept') return without(claimed, 'its caller declined to log in, or did not in time');
  }
  if ((asked?.round ?? 0) >= QUESTION_LIMITS.rounds)
    return without(claimed, `its caller was asked ${asked?.round} times, and no login is valid`);
  const { question, patienceMs } = state;
  return {
    result: okResult(null),
    asks: {
      questions: [{ key: LOGIN_ENDPOINT, question }],
      // An approval of the call outlives the question after it.
      state: before?.state === digest ? digest : null,
      endpoint: LOGIN_ENDPOINT,
      patienceMs,
      afresh: false,
      stopsDeadline: true,
    },
  };
}

/** The last round, where the service asked it, and not the tool. */
async function ownRound(
  parts: AttemptParts,
  { claim: { requestId, id } }: Claimed,
): Promise<QuestionRound | null> {
  const { questions } = parts.records.journal;
  const round = await durably(parts, async () => questions.round(requestId, id));
  return round !== null && isOwn(round) ? round : null;
}

/** An earlier attempt may have made the call, and its end cannot be asked for without a login. */
function without({ granted }: Pick<Claimed, 'granted'>, reason: string): Execution {
  const result = errorResult(errorEnvelope('auth', `The call has no login at its server: ${reason}`));
  return granted.task === null ? { result, unsent: true } : { result, ambiguous: true };
}
