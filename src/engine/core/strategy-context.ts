// What a strategy is shown of its run.
// Must never show anything that another turn of the same run could not show again.
import type { StrategyContext } from '../strategies/strategy.ts';
import type { Run } from './run-state.ts';

export function strategyContext(run: Run): StrategyContext {
  const { state } = run;
  return {
    now: run.now,
    spec: run.spec,
    agent: run.agent,
    options: state.options,
    tools: run.setup.tools,
    messages: state.messages,
    anchors: state.anchors,
    agentState: state.agent_state,
    iterations: state.counters.iterations,
    waitingInputs: state.inputs.length,
    isModelAlias: (name) => run.parts.modelAliases?.has(name) ?? true,
  };
}
