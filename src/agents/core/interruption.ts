// The work that the end of a run interrupts, kept with its document so that a resume can restore it. Never changes the
// run.
import { isObject } from '../../contract/json/json-object.ts';
import type { Message } from '../../contract/model/message.ts';
import type { Result } from '../../contract/result.ts';
import type { InterruptedRun, RunDocument } from '../turn/transition.ts';
import { type Interrupted, type Run, stateOf } from './run-state.ts';

/** Facts that a caller needs before it resumes the run; null: the run has not ended, has its final answer, or never began. */
export function interruptionOf(document: RunDocument): InterruptedRun | null {
  const { ended, left } = stateOf(document);
  if (!ended || !left) return null;
  return { calls: Object.keys(left.open), signal: left.signal, agent: document.setup.agent };
}

/** Whether a call may have acted without an answer. */
export function isUnknown(result: Result): boolean {
  return (
    !result.ok && (result.error.type === 'outcome_unknown' || result.error.details['outcome'] === 'unknown')
  );
}

/** A step of the strategy that fails is undone as a whole: it is made again. null: the strategy has not begun. */
export function interrupted(run: Run): Interrupted | null {
  const { undo: before } = run;
  const state = before ?? run.state;
  if (before === null || state.strategy === undefined) return null;
  const { strategy, anchors, agent_state, open, waiting, held, timers, awaits_input, answer, unusable } =
    state;
  const data: unknown = before === undefined ? null : run.read?.data;
  const answered = isObject(data) ? data['call_id'] : null;
  const failed = typeof answered === 'string' && Object.hasOwn(open, answered) ? answered : null;
  return {
    strategy,
    messages: { kept: 0, rest: state.messages },
    anchors,
    agent_state,
    open,
    waiting: waiting.filter(({ id }) => !Object.hasOwn(open, id)),
    held,
    timers,
    inputs: run.state.inputs,
    awaits_input,
    answer,
    ...(unusable === undefined ? {} : { unusable }),
    failed,
    signal: before === undefined || failed !== null ? null : (run.read?.sequence ?? null),
  };
}

/** The history is stored once: the end only adds to it. */
export function sharing(left: Interrupted, final: readonly Message[]): Interrupted {
  const { rest } = left.messages;
  const differs = rest.findIndex((message, at) => message !== final[at]);
  const kept = differs < 0 ? rest.length : differs;
  return { ...left, messages: { kept, rest: rest.slice(kept) } };
}
