// ReAct's next model call.
// Must never use one id for two calls.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { ReactContext, ReactState } from './react-state.ts';
import { callModel, type Step } from './strategy.ts';

export function askModel(state: ReactState, context: ReactContext): Step<ReactState> {
  const iteration = state.iteration + 1;
  const model = state.model_alias === null ? {} : { model_alias: state.model_alias };
  return {
    state: { ...state, status: 'awaiting_llm', iteration, shortened: false, calls: [], warn: null },
    directives: [callModel(context, `model-${iteration}`, model)],
  };
}

/** Reasons of refusals that a shorter history may mend. */
const TOO_LONG: ReadonlySet<unknown> = new Set(['context_length', 'request_too_large']);

/** Once after each refusal: the same question with a shorter history. Otherwise the run fails, with the reason. */
export function afterFailure(
  state: ReactState,
  error: ErrorEnvelope,
  context: ReactContext,
): Step<ReactState> {
  const { reason } = error.details;
  const isTooLong = TOO_LONG.has(reason);
  const messages = isTooLong && state.shortened !== true ? context.shortenHistory() : null;
  if (messages !== null) {
    const again = askModel(state, context);
    return { ...again, state: { ...again.state, shortened: true }, messages };
  }
  const named = isTooLong ? { reason: String(reason) } : {};
  return { state: { ...state, status: 'error' }, outcome: { status: 'failed', error, ...named } };
}
