/** A strategy that executes its run's query step by step: the real core takes every turn, and the test writes the run as a list.
 *  It must not know more than a strategy may: no I/O, no clock, the same step for the same signal. */
import type { SubmittedAgentDefinition } from '../../src/contract/run/agent-definition.ts';
import { createCore } from '../../src/agents/core/core.ts';
import {
  callModel,
  callTool,
  defineStrategy,
  type Step,
  type StrategyContext,
  type StrategyDirective,
  type StrategySignal,
} from '../../src/agents/strategies/strategy.ts';
import type { EmittedSignal, EngineCore } from '../../src/agents/turn/transition.ts';

/** One step of a script; the next one begins when everything it requested has been answered. */
export type ScriptStep =
  | { tools: string[] }
  | { tool_errors: string[] }
  | { timer_ms: number }
  | { child: { agent: string; script: ScriptStep[] } }
  /** A call of the tool of this name, which begins with `ask`: it is held until it is approved. */
  | { approval: string }
  /** Waits until this many inputs wait to be read. */
  | { inputs: number }
  | { model: string }
  | { emit: string };

interface State {
  step: number;
  /** What the step still waits for: ids of calls, tags of children, messages of timers, `input`. */
  pending: string[];
  /** What came, in the order in which it was read. */
  heard: string[];
}

const SCRIPTED_TOOLS = 'a b c d e f inner later after ask ask-b'.split(' ');

/** The tools that scripts may call, as their server publishes them. */
export function scriptedTools() {
  const server = 'test';
  const tools = SCRIPTED_TOOLS.map((tool) => ({
    name: tool,
    server,
    tool,
    input_schema: {},
    effect: 'idempotent' as const,
  }));
  return { server, status: 'ready' as const, tools, updatedAt: 0 };
}

/** The agent `scripted`, unless `more` names another. */
export function scriptedAgent(more: Partial<SubmittedAgentDefinition> = {}): SubmittedAgentDefinition {
  const policies = { approvals: { 'ask*': 'ask' as const }, ...more.policies };
  return { name: 'scripted', strategy: 'scripted', tools: ['*'], ...more, policies };
}

/** The query of a run with these steps. */
export function script(...steps: ScriptStep[]): string {
  return JSON.stringify(steps);
}

const scripted = defineStrategy<State>({
  name: 'scripted',
  init: () => ({ step: -1, pending: [], heard: [] }),
  reduce(state, signal, context) {
    if (signal.type === 'ai.request.started') return proceed(state, context);
    const place = state.pending.indexOf(answered(signal));
    const pending = state.pending.filter((_, index) => index !== place);
    return proceed({ ...state, pending, heard: [...state.heard, heardOf(signal)] }, context);
  },
});

export function scriptedCore(): EngineCore {
  return createCore({ strategies: [scripted] });
}

/** Steps on while nothing is awaited. */
function proceed(before: State, context: StrategyContext): Step<State> {
  const steps = context.spec.query.startsWith('[') ? (JSON.parse(context.spec.query) as ScriptStep[]) : [];
  const signals: EmittedSignal[] = [];
  const directives: StrategyDirective[] = [];
  let state = before;
  while (state.pending.length === 0) {
    const step = steps[state.step + 1];
    if (!step) return { ...completed(state, context), signals };
    const number = state.step + 1;
    const requested = requests(step, number, context);
    directives.push(...requested);
    if ('emit' in step) signals.push({ type: step.emit, data: { step: number } });
    const missing = 'inputs' in step ? Math.max(step.inputs - context.waitingInputs, 0) : 0;
    const pending = [...requested.map(awaited), ...Array.from({ length: missing }, () => 'input')];
    state = { ...state, step: number, pending };
  }
  return { state, signals, directives, ...(state.pending.includes('input') ? { awaits: 'input' } : {}) };
}

function completed(state: State, { messages }: StrategyContext): Step<State> {
  const outcome = { status: 'completed', result: state.heard } as const;
  return { state, messages: [...messages, { role: 'assistant', content: 'done' }], outcome };
}

function requests(step: ScriptStep, number: number, context: StrategyContext): StrategyDirective[] {
  const id = (name: string): string => `s${number}.${name}`;
  if ('tools' in step)
    return step.tools.map((name) => callTool(id(name), name, {}, { effect: 'idempotent' }));
  if ('tool_errors' in step)
    return step.tool_errors.map((name) => ({
      type: 'emit_tool_error',
      id: id(name),
      tool_name: name,
      error: 'unknown',
    }));
  if ('approval' in step) return [callTool(step.approval, step.approval)];
  if ('model' in step) return [callModel(context, id(step.model))];
  if ('timer_ms' in step) return [{ type: 'schedule', delay_ms: step.timer_ms, message: `t${number}` }];
  if (!('child' in step)) return [];
  const { agent, script: input } = step.child;
  return [{ type: 'spawn_agent', agent, tag: `c${number}`, input }];
}

/** The name by which a directive's answer is recognised. */
function awaited(directive: StrategyDirective): string {
  const { id, tag, message } = directive as { id?: string; tag?: string; message?: string };
  return id ?? tag ?? message ?? '';
}

function answered({ type, data }: StrategySignal): string {
  if (type === 'ai.request.input') return 'input';
  const { call_id, tag, message } = data as { call_id?: string; tag?: string; message?: string };
  return call_id ?? tag ?? message ?? '';
}

function heardOf(signal: StrategySignal): string {
  const name = signal.type === 'ai.request.input' ? signal.data.input_id : answered(signal);
  const failed =
    'result' in signal.data && Object(signal.data.result).ok === false
      ? ' failed'
      : signal.type === 'agent.child.exit' && signal.data.status !== 'completed'
        ? ' failed'
        : '';
  return `${signal.type} ${name}${failed}`;
}
