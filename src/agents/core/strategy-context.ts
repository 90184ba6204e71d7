// The view of a run for its strategy. Shows only what a repeat of the same turn could show again.
import type { StrategyContext } from '../strategies/strategy.ts';
import { applyControls } from './control/apply-controls.ts';
import type { AppliedControls, CallControls, ControlOptions } from './control/control-context.ts';
import { shortenHistory } from './model-messages.ts';
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
    isModelAlias: (name) => isModelAlias(run, name),
    applyControls: (calls, options) => applyTo(run, calls, options),
    shortenHistory: () => shortenHistory(run),
  };
}

function isModelAlias(run: Run, name: string): boolean {
  return run.parts.modelAliases?.has(name) ?? true;
}

/** Allows the signals of the service's own handlers in the strategy's step, whatever their type. */
function applyTo(run: Run, calls: readonly CallControls[], options: ControlOptions = {}): AppliedControls {
  const { handlers = {}, ...begun } = options;
  const { messages, anchors } = run.state;
  const start = {
    messages,
    anchors,
    modelAlias: null,
    todos: null,
    phase: null,
    phases: {},
    ...begun,
    depth: run.spec.parent?.depth ?? 0,
    isModelAlias: (name: string) => isModelAlias(run, name),
  };
  return applyControls(start, calls, { handlers, grant: (signal) => run.granted.add(signal) });
}
