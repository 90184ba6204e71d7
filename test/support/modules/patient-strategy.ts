/** A strategy for tests, as in a user's module: tool calls one after the other, a timer, a call that needs approval.
 *  It must not call a model. */
import {
  callTool,
  defineStrategy,
  type Step,
  type StrategyContext,
  type StrategySignal,
} from '../../../src/agents/strategies/strategy.ts';

/** The query: what to wait for, in order. */
export type Wait = { tool: string; delay_ms?: number } | { timer_ms: number };

interface State {
  step: number;
  results: unknown[];
}

function waits({ spec }: StrategyContext): Wait[] {
  return JSON.parse(spec.query) as Wait[];
}

function next(state: State, context: StrategyContext): Step<State> {
  const wait = waits(context)[state.step];
  if (!wait) return { state, outcome: { status: 'completed', result: state.results } };
  if ('timer_ms' in wait)
    return { state, directives: [{ type: 'schedule', delay_ms: wait.timer_ms, message: state.step }] };
  const label = `${context.spec.request_id}/${state.step}`;
  const args = { label, delay_ms: wait.delay_ms ?? 0 };
  return { state, directives: [callTool(`call-${state.step}`, wait.tool, args)] };
}

function answer(signal: StrategySignal): unknown {
  if (signal.type === 'agent.scheduled') return signal.data.message;
  if (signal.type !== 'ai.tool.result') return undefined;
  return signal.data.result.ok ? signal.data.call_id : signal.data.result.error.type;
}

export const patient = defineStrategy<State>({
  name: 'patient',
  init: () => ({ step: 0, results: [] }),
  reduce(state, signal, context) {
    if (signal.type === 'ai.request.started') return next(state, context);
    const came = answer(signal);
    if (came === undefined) return { state };
    return next({ step: state.step + 1, results: [...state.results, came] }, context);
  },
});
