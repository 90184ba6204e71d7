// A run as a reader sees it.
// Must never show the strategy's inner state.
import type { RunView, RunWait } from '../../contract/run/run.ts';
import type { RunDocument, RunSpec } from '../turn/transition.ts';
import { isModelType } from './budget.ts';
import { isAlive, originField } from './lifecycle.ts';
import { type RunState, stateOf } from './run-state.ts';

export function runView(spec: RunSpec, document: RunDocument): Omit<RunView, 'ended_at'> {
  const state = stateOf(document);
  return {
    run_id: spec.run_id,
    agent: spec.agent,
    strategy: document.setup.agent.strategy,
    status: document.status,
    conversation_id: spec.conversation_id,
    query: spec.query,
    iterations: state.counters.iterations,
    tool_calls: state.counters.tool_calls,
    usage: state.usage,
    cost: state.cost,
    result: state.result,
    error: state.error,
    ...(state.details === undefined ? {} : { details: state.details }),
    termination_reason: state.termination_reason,
    ...(state.unread_inputs?.length ? { unread_inputs: [...state.unread_inputs] } : {}),
    ...(state.resumed === undefined ? {} : { resumed: state.resumed }),
    waiting_for: state.ended ? [] : waits(state),
    messages: [...state.messages],
    children: state.children.map(({ tag, request_id, status }) => ({ tag, request_id, status })),
    started_at: instant(state.started_at),
    deadline_at: instant(state.deadline_at),
    ...originField(spec.origin),
  };
}

function waits(state: RunState): RunWait[] {
  const { open, waiting, held, question, timers, children } = state;
  return [
    ...Object.entries(open).map(([id, { type, name }]): RunWait => wait(kindOf(type), id, name ?? type)),
    ...waiting.map((request): RunWait =>
      wait('turn', request.id, 'tool_name' in request ? request.tool_name : request.type),
    ),
    ...Object.entries(held).map(([id, { call, deadline_at }]): RunWait =>
      wait('approval', id, call.tool_name, deadline_at),
    ),
    ...(question ? [wait('budget', question.id, question.limit, question.deadline_at)] : []),
    ...timers.map((timer): RunWait => wait('timer', timer.id, undefined, timer.due_at)),
    ...children
      .filter(({ status }) => isAlive(status))
      .map(({ tag, agent }): RunWait => wait('child', tag, agent)),
  ];
}

function kindOf(directiveType: string): RunWait['kind'] {
  return isModelType(directiveType) || directiveType === 'llm_embed' ? 'model' : 'tool';
}

function wait(kind: RunWait['kind'], id: string, name?: string, until?: number): RunWait {
  return {
    kind,
    id,
    ...(name === undefined ? {} : { name }),
    ...(until === undefined ? {} : { until: instant(until) }),
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
