// How a run begins and ends: its signals, its history, and who is notified of its end.
// Must never end a run twice.
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';
import { strategyContext } from './strategy-context.ts';
import { answerCalls } from './history.ts';
import { NORMAL_LOOKING_REASONS, type StopCause } from './directive-exec.ts';
import { interrupted, sharing } from './interruption.ts';
import { messageFaults } from './message-faults.ts';
import type { RequestOrigin } from '../../contract/run/run-origin.ts';
import type { JsonObject, OutboxEntry, RunSpec } from '../turn/transition.ts';
import type { Run } from './run-state.ts';

export type Ending =
  | {
      status: 'completed';
      result: unknown;
      details?: JsonObject | undefined;
      reason: string;
      unanswered?: readonly string[];
    }
  | { status: 'failed' | 'cancelled' | 'timeout'; error: ErrorEnvelope; reason: string };

/** How the end treats work that is still going on. */
interface Manner {
  /** The strategy ended the run itself, so its history is complete. */
  ownOutcome?: boolean;
  /** Results of work in flight are ignored, queued work is withdrawn, and no hook runs. */
  hard?: boolean;
}

export function announceStart(run: Run): void {
  const { request_id, query, run_id, origin } = run.spec;
  const data = { request_id, query, run_id, ...originField(origin) };
  run.signals.push({ type: 'ai.request.started', data });
}

/** The origin as readers see it: without the record of a fork. */
export function originField(origin: RunSpec['origin']): { origin?: RequestOrigin } {
  if (origin === undefined) return {};
  const { request_id, kind, turn } = origin;
  return { origin: { request_id, kind, ...(turn === undefined ? {} : { turn }) } };
}

export function endRun(run: Run, ending: Ending, manner: Manner = {}): void {
  if (run.state.ended) return;
  const { state } = run;
  const left = isFinal(ending) ? null : (run.left ?? interrupted(run));
  closeHistory(run, ending, manner);
  if (left !== null) state.left = sharing(left, state.messages);
  const unanswered = ending.status === 'completed' ? (ending.unanswered ?? []) : [];
  state.unread_inputs = [...unanswered, ...state.inputs.map(({ id }) => id)];
  release(run, manner);
  state.ended = ending.status;
  state.termination_reason = ending.reason;
  if (ending.status === 'completed') {
    state.result = ending.result ?? null;
    state.details = ending.details;
  } else state.error = ending.error;
  announceEnd(run);
  notifyChildren(run);
  notifyParent(run);
  endConversation(run);
}

/** A run that a limit has completed can still go on. */
function isFinal({ status, reason }: Ending): boolean {
  return status === 'completed' && !LIMITS.has(reason);
}

const LIMITS: ReadonlySet<string> = new Set([
  'max_iterations',
  'max_tool_calls',
  'max_tokens',
  'max_cost',
  'deadline_exceeded',
]);

/** Ends the run with the answer it had before the unread input arrived; false: there is no such answer. */
export function endWithAnswer(run: Run, reason: string): boolean {
  const { answer } = run.state;
  if (!answer) return false;
  const { result, details, inputs } = answer;
  endRun(run, { status: 'completed', result, details, reason, unanswered: inputs });
  return true;
}

/** An abnormal end that an executor requests. */
export function stopRun(run: Run, { reason, details }: StopCause): void {
  if (NORMAL_LOOKING_REASONS.has(reason)) {
    const message = `a stop for the reason "${reason}" ends the run as failed; a normal end is an outcome of the strategy`;
    run.log.push({ level: 'warn', message, details: { reason } });
  }
  const error = errorEnvelope('stopped', `The agent was stopped: ${reason}`, { ...details, reason });
  endRun(run, { status: 'failed', error, reason: 'stopped' }, { hard: true });
}

export function failRun(
  run: Run,
  type: string,
  message: string,
  details: Record<string, unknown> = {},
): void {
  endRun(run, { status: 'failed', error: errorEnvelope(type, message, details), reason: type });
}

/** Gives every tool call in the history an answer. */
function closeHistory(run: Run, ending: Ending, manner: Manner): void {
  const { state } = run;
  // A strategy that has not begun has nothing to close.
  if (!manner.ownOutcome && !manner.hard && state.strategy !== undefined) closeStrategy(run);
  const missing =
    ending.status === 'completed' ? errorEnvelope('cancelled', 'The run ended before') : ending.error;
  state.messages = answerCalls(state.messages, missing);
}

function closeStrategy(run: Run): void {
  const strategy = run.parts.strategies.get(run.agent.strategy);
  if (!strategy?.close) return;
  try {
    const messages = strategy.close(run.state.strategy, strategyContext(run));
    const faults = run.parts.trusted.has(strategy) ? [] : messageFaults(messages, 'messages');
    if (faults.length > 0) throw new TypeError(faults.join('; '));
    run.state.messages = messages;
  } catch (error) {
    const details = { error: String(error) };
    run.log.push({ level: 'error', message: 'the strategy could not close', details });
  }
}

/** Stops waiting for anything. */
function release(run: Run, manner: Manner): void {
  const { state } = run;
  const directive_ids = Object.keys(state.open);
  if (directive_ids.length > 0) {
    const entry: OutboxEntry = manner.hard
      ? { id: 'end:withdraw', kind: 'withdraw_directives', directive_ids, reason: 'the run was stopped' }
      : { id: 'end:cancel', kind: 'cancel_directives', directive_ids, reason: 'the run has ended' };
    run.outbox = [...run.outbox, entry];
  }
  state.open = {};
  state.waiting = [];
  state.held = {};
  state.question = null;
  state.timers = [];
  state.inputs = [];
  state.awaits_input = false;
}

function announceEnd(run: Run): void {
  const { request_id, run_id } = run.spec;
  const { ended, result, details, error, termination_reason, unread_inputs } = run.state;
  const unread = unread_inputs.length > 0 ? { unread_inputs } : {};
  const about = { request_id, run_id, termination_reason, ...unread };
  if (ended === 'completed') {
    const outcome = details === undefined ? { result } : { result, details };
    run.signals.push({ type: 'ai.request.completed', data: { ...about, ...outcome } });
  } else {
    run.signals.push({ type: 'ai.request.failed', data: { ...about, error } });
  }
}

function notifyChildren(run: Run): void {
  const { spec, state } = run;
  for (const child of state.children) {
    if (!isAlive(child.status)) continue;
    const data = {
      parent_request_id: spec.request_id,
      reason: state.termination_reason,
      metadata: { request_id: child.request_id },
    };
    run.outbox = [
      ...run.outbox,
      {
        id: `end:child:${child.request_id}`,
        kind: 'signal_run',
        request_id: child.request_id,
        signal: { type: 'agent.parent.exit', data },
      },
    ];
  }
}

function notifyParent(run: Run): void {
  const { spec, state } = run;
  if (!spec.parent || state.orphan) return;
  const { request_id, tag } = spec.parent;
  const data = {
    tag,
    child_request_id: spec.request_id,
    status: state.ended,
    result: state.result,
    error: state.error,
    metadata: { request_id },
  };
  const signal = { type: 'agent.child.exit', data };
  run.outbox = [...run.outbox, { id: 'end:parent', kind: 'signal_run', request_id, signal }];
}

function endConversation(run: Run): void {
  const { conversation_id } = run.spec;
  if (conversation_id === null) return;
  const messages = run.state.messages;
  run.outbox = [
    ...run.outbox,
    { id: 'end:conversation', kind: 'end_conversation', conversation_id, messages },
  ];
}

export function isAlive(childStatus: string): boolean {
  return childStatus === 'starting' || childStatus === 'running';
}
