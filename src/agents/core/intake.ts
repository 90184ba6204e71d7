// The effect of each signal of the log on a run. A stale, foreign or repeated signal changes nothing but a count.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import type { StrategySignal } from '../strategies/strategy.ts';
import { decide } from './approvals.ts';
import { spend } from './budget.ts';
import { noteExit, noteParentExit } from './children.ts';
import { endRun } from './lifecycle.ts';
import { close } from './open-calls.ts';
import { answerOf } from './resume.ts';
import { count, type Run } from './run-state.ts';
import { step } from './step.ts';
import { noteUnusable } from './unusable-calls.ts';

type SignalOf<T extends StrategySignal['type']> = Extract<StrategySignal, { type: T }>;
type AnswerType = 'ai.llm.response' | 'ai.tool.result' | 'ai.embed.result' | 'directive.result';
type ConcernedType =
  | AnswerType
  | 'ai.request.input'
  | 'ai.request.resumed'
  | 'ai.request.cancel_requested'
  | 'ai.tool.approval_decided'
  | 'agent.child.exit'
  | 'agent.parent.exit';

const HANDLERS: { [T in ConcernedType]: (run: Run, signal: SignalOf<T>) => void } = {
  'ai.llm.response': takeAnswer,
  'ai.tool.result': takeAnswer,
  'ai.embed.result': takeAnswer,
  'directive.result': takeAnswer,
  'ai.request.input': takeInput,
  // A run that has ended reads it; another one goes on already.
  'ai.request.resumed': (run) => void count(run, 'stale'),
  'ai.request.cancel_requested': (run, { data }) => cancelRun(run, data.reason),
  'ai.tool.approval_decided': (run, { data }) => decide(run, data),
  'agent.child.exit': takeChildExit,
  'agent.parent.exit': takeParentExit,
};

/** The signals that concern a run; each reaches its unread list once. */
export function concerns(type: string): type is ConcernedType {
  return Object.hasOwn(HANDLERS, type);
}

export function takeIn(run: Run, signal: StrategySignal): void {
  if (!concerns(signal.type)) {
    count(run, 'stale');
    return;
  }
  const handler = HANDLERS[signal.type] as (run: Run, signal: StrategySignal) => void;
  handler(run, signal);
}

function takeAnswer(run: Run, signal: SignalOf<AnswerType>): void {
  const call = close(run, signal.data.call_id);
  if (!call) {
    count(run, 'stale');
    return;
  }
  const read = answerOf(run, call, signal);
  if (read?.isCounted !== false) spend(run, call, signal);
  if (read === null) return;
  const { signal: answer } = read;
  if (answer.type === 'ai.llm.response') noteUnusable(run, answer.data.result);
  step(run, answer);
}

/** Kept until the next model call; a run that waits for input continues at once. */
function takeInput(run: Run, signal: SignalOf<'ai.request.input'>): void {
  const { input_id, content } = signal.data;
  run.state.inputs = [...run.state.inputs, { id: input_id, content }];
  if (run.state.awaits_input) step(run, signal);
}

function cancelRun(run: Run, reason: string | null): void {
  const message =
    reason === null || reason === '' ? 'The run was cancelled' : `The run was cancelled: ${reason}`;
  const error = errorEnvelope('cancelled', message, reason === null ? {} : { reason });
  endRun(run, { status: 'cancelled', error, reason: 'cancelled' });
}

function takeChildExit(run: Run, signal: SignalOf<'agent.child.exit'>): void {
  if (noteExit(run, signal.data.child_request_id, signal.data.status)) step(run, signal);
}

function takeParentExit(run: Run, signal: SignalOf<'agent.parent.exit'>): void {
  if (noteParentExit(run, signal.data.parent_request_id, signal.data.reason)) step(run, signal);
}
