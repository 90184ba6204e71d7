// Other agents take over a task, one stage after the other; each result comes back as a message.
// Must never call the model while a stage is under way.
import type { Message } from '../../contract/model/message.ts';
import { type Delegation, shownName } from '../core/control/control-context.ts';
import { askModel } from './react-call.ts';
import type { OpenDelegation, ReactContext, ReactState } from './react-state.ts';
import type { AgentOwnDirective, Step, StrategySignal } from './strategy.ts';

type ChildExit = Extract<StrategySignal, { type: 'agent.child.exit' }>['data'];

export function startDelegation(state: ReactState, delegations: readonly Delegation[]): Step<ReactState> {
  const open = delegations.map((delegation): OpenDelegation => ({ ...delegation, done: 0, output: null }));
  const [first] = open;
  const next: ReactState = { ...state, status: 'awaiting_child', calls: [], delegations: open };
  return { state: next, directives: first ? [spawn(first)] : [] };
}

export function continueDelegation(
  state: ReactState,
  exit: ChildExit,
  context: ReactContext,
): Step<ReactState> {
  const [current, ...rest] = state.delegations;
  if (!current || exit.tag !== stageTag(current)) return { state };
  const ended: OpenDelegation = { ...current, done: current.done + 1, output: textOf(exit.result) };
  if (exit.status === 'completed' && ended.done < ended.stages.length) {
    return { state: { ...state, delegations: [ended, ...rest] }, directives: [spawn(ended)] };
  }
  const messages = [...context.messages, report(ended, exit)];
  const [next] = rest;
  const left = { ...state, delegations: rest };
  return next
    ? { state: left, messages, directives: [spawn(next)] }
    : { ...askModel(left, context), messages };
}

function spawn(delegation: OpenDelegation): AgentOwnDirective {
  const { stages, done, task, output, max_turns } = delegation;
  const input = output === null ? task : `${task}\n\n[PRIOR STAGE OUTPUT]\n${output}`;
  const overrides = max_turns === null ? {} : { limits: { max_iterations: Math.min(max_turns, 1_000) } };
  return { type: 'spawn_agent', agent: stages[done] ?? '', tag: stageTag(delegation), input, overrides };
}

function stageTag({ tag, done }: OpenDelegation): string {
  return `${tag}-${done}`;
}

function report({ stages, done }: OpenDelegation, { status, result, error }: ChildExit): Message {
  const kind = stages.length > 1 ? 'PIPELINE' : 'DELEGATION';
  if (status === 'completed') {
    return { role: 'user', content: `[${kind} COMPLETE: ${stages.join(' -> ')}] ${textOf(result)}` };
  }
  const message = (Object(error) as { message?: unknown }).message;
  const why = typeof message === 'string' ? message : status;
  const name = shownName(stages[done - 1] ?? '');
  // No agent has such a name, and the error would quote it.
  if (name === null) return { role: 'user', content: `[${kind} FAILED] there is no such agent` };
  return { role: 'user', content: `[${kind} FAILED: ${name}] ${why}` };
}

function textOf(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result ?? null);
}
