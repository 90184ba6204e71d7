// How the runtime executes its own directives: with the protocol of custom directives, and the run as their state.
// Must never return anything but ok, async or stop.
import type { AgentDirective, AgentDirectiveType } from '../../contract/run/agent-directive.ts';
import type { Executed } from './directive-exec.ts';
import { count, emitSignal, type Run } from './run-state.ts';
import { ownSignalFault } from '../../contract/signal/own-signal.ts';
import { plainText } from '../../contract/json/plain-text.ts';
import type { EmittedSignal } from '../turn/transition.ts';
import { ignoreDirective } from './ignored.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { endRun, isAlive } from './lifecycle.ts';
import { spawnChild } from './children.ts';

export type AgentDirectiveOf<T extends AgentDirectiveType> = Extract<AgentDirective, { type: T }>;

export type AgentExecutors = {
  [T in AgentDirectiveType]: (directive: AgentDirectiveOf<T>, run: Run) => Executed<Run>;
};

/**
 * Writes a signal of the agent into the run's log. Must never write a signal whose type belongs to the service.
 */
export function emit({ signal }: AgentDirectiveOf<'emit'>, run: Run): Executed<Run> {
  emitOwn(run, signal);
  return { ok: true, state: run };
}

/** A refused signal is recorded with its reason, and the run goes on without it. */
export function emitOwn(run: Run, signal: EmittedSignal): void {
  const reason = run.granted.has(signal) ? null : ownSignalFault(signal);
  if (reason === null) emitSignal(run, signal);
  else ignoreDirective(run, { type: 'emit', reason, details: { signal_type: readable(signal.type) } });
}

function readable(type: unknown): string {
  return plainText(String(type)).slice(0, 256);
}

/**
 * A later message to the agent itself; stored in the document, so a restart does not lose it. Must never measure its delay from
 * anything but the turn that sets it.
 */
export function schedule({ delay_ms, message }: AgentDirectiveOf<'schedule'>, run: Run): Executed<Run> {
  const id = `timer-${count(run, 'named')}`;
  run.state.timers = [...run.state.timers, { id, due_at: run.now + delay_ms, message }];
  return { async: true, ref: id, state: run };
}

const REASON = 'cancelled by an agent';

/** Cancels another request, or the agent's own run. Must never wait for the other request to end. */
export function cancel({ request_id }: AgentDirectiveOf<'cancel'>, run: Run): Executed<Run> {
  if (request_id === run.spec.request_id) {
    const error = errorEnvelope('cancelled', 'The agent cancelled its own run');
    endRun(run, { status: 'cancelled', error, reason: 'cancelled' });
    return { ok: true, state: run };
  }
  const id = `cancel-${count(run, 'named')}`;
  run.outbox = [...run.outbox, { id, kind: 'cancel_request', request_id, reason: REASON, asked_at: run.now }];
  return { async: true, ref: id, state: run };
}

/**
 * Starts a child run, identified by its tag. Must never start two living children with one tag, nor children without a limit of
 * depth.
 */
export function spawnAgent(directive: AgentDirectiveOf<'spawn_agent'>, run: Run): Executed<Run> {
  const { agent, tag, input, overrides } = directive;
  const refusal = spawnChild(run, { agent, tag, input, overrides });
  if (refusal === null) return { async: true, ref: tag, state: run };
  ignoreDirective(run, { type: 'spawn_agent', reason: refusal, details: { tag, agent } });
  return { ok: true, state: run };
}

/**
 * Ends a child run; its exit is reported like any other. Must never fail when there is no such child: it may just have ended.
 */
export function stopChild({ tag, reason }: AgentDirectiveOf<'stop_child'>, run: Run): Executed<Run> {
  const child = run.state.children.find((known) => known.tag === tag && isAlive(known.status));
  if (!child) return { ok: true, state: run };
  const id = `stop-${count(run, 'named')}`;
  const { request_id } = child;
  run.outbox = [...run.outbox, { id, kind: 'cancel_request', request_id, reason, asked_at: run.now }];
  return { async: true, ref: id, state: run };
}

/**
 * The agent reports an error; its policy decides what follows. Must never ignore an error, whatever the policy.
 */
export function error({ error: what, context }: AgentDirectiveOf<'error'>, run: Run): Executed<Run> {
  const errors = count(run, 'errors');
  const policy = run.agent.policies.error;
  run.log.push({ level: 'error', message: 'the agent reports an error', details: { error: what, context } });
  emitSignal(run, { type: 'agent.error', data: { error: what, context, metadata: { errors } } });
  const details = { error: what, context, errors };
  if (policy === 'stop') return { stop: true, reason: 'agent_error', details, state: run };
  if (typeof policy !== 'object' || errors < policy.max_errors) return { ok: true, state: run };
  const { max_errors } = policy;
  return { stop: true, reason: 'max_errors_exceeded', details: { ...details, max_errors }, state: run };
}

/** Ends the agent at once, as an abnormal end. Must never be how a run completes. */
export function stop({ reason }: AgentDirectiveOf<'stop'>, run: Run): Executed<Run> {
  return { stop: true, reason, state: run };
}
