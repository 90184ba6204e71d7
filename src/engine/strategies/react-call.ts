// ReAct's next model call.
// Must never use one id for two calls.
import type { ReactContext, ReactState } from './react-state.ts';
import { callModel, type Step } from './strategy.ts';

export function askModel(state: ReactState, context: ReactContext): Step<ReactState> {
  const iteration = state.iteration + 1;
  const model = state.model_alias === null ? {} : { model_alias: state.model_alias };
  return {
    state: { ...state, status: 'awaiting_llm', iteration, calls: [], warn: null },
    directives: [callModel(context, `model-${iteration}`, model)],
  };
}
