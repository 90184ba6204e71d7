// One step: the strategy reads a signal, and its answer is carried out.
// Must never keep half a step: a batch that is too large is refused together with its state.
import { ZodError } from 'zod';
import { normalizeError } from '../../contract/error-envelope.ts';
import { fieldSentence } from '../../contract/json/field-error.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';
import type { Message } from '../../contract/model/message.ts';
import type { AnyStrategy, Step, StrategySignal } from '../strategies/strategy.ts';
import { admit, isWork, releaseWaiting, withdraw } from './gate.ts';
import { endRun, failRun, stopRun } from './lifecycle.ts';
import { execute } from './route.ts';
import { messageFaults } from './message-faults.ts';
import { emitSignal, isEmpty, type Run } from './run-state.ts';
import { strategyContext } from './strategy-context.ts';
import { emitOwn } from './agent-directives.ts';

/** The strategy's first state and its first step. */
export function beginStrategy(run: Run): void {
  const strategy = strategyOf(run);
  if (!strategy) return;
  const started = guarded(run, () => {
    if (strategy.options) run.state.options = strategy.options.parse(run.agent.options);
    run.state.strategy = firstState(run, strategy);
    return true;
  });
  const { request_id, run_id, query } = run.spec;
  if (started) step(run, { type: 'ai.request.started', data: { request_id, run_id, query } });
}

function firstState(run: Run, strategy: AnyStrategy): unknown {
  const state = strategy.init(strategyContext(run)) ?? null;
  const hazard = run.parts.trusted.has(strategy) ? null : findJsonHazard(state);
  if (hazard) throw new TypeError(`the first state of the strategy is not JSON: ${fieldSentence(hazard)}`);
  return state;
}

/** The strategy reads `signal`; then everything starts that may start. */
export function step(run: Run, signal: StrategySignal): void {
  if (run.state.ended) return;
  run.undo = run.before;
  const strategy = strategyOf(run);
  if (!strategy) return;
  run.signal = signal;
  guarded(run, () => {
    const taken: unknown = strategy.reduce(run.state.strategy, signal, strategyContext(run));
    if (!isStep(taken)) throw new TypeError('reduce must return a step, {state, …}, not a promise');
    const trusted = run.parts.trusted.has(strategy);
    const hazard = trusted ? null : findJsonHazard(taken);
    if (hazard) throw new TypeError(`the step of the strategy is not JSON: ${fieldSentence(hazard)}`);
    if (!trusted) requireMessages(taken);
    apply(run, taken, trusted);
    return true;
  });
  run.undo = undefined;
}

/** Checks the history, and model calls with messages of their own: an invalid message would break all later turns. */
function requireMessages({ messages, directives }: Step<unknown>): void {
  const calls = (Array.isArray(directives) ? directives : []) as readonly { messages?: unknown }[];
  const faults = [
    ...messageFaults(messages, 'messages'),
    ...calls.flatMap((call, index) => messageFaults(call?.messages, `directives[${index}].messages`)),
  ];
  if (faults.length > 0) throw new TypeError(`the step of the strategy is invalid: ${faults.join('; ')}`);
}

/** Neither undefined nor a promise. */
function isStep(taken: unknown): taken is Step<unknown> {
  return typeof taken === 'object' && taken !== null && 'state' in taken;
}

function strategyOf(run: Run): AnyStrategy | null {
  const name = run.agent.strategy;
  const strategy = run.parts.strategies.get(name);
  if (strategy) return strategy;
  failRun(run, 'unknown_strategy', `no strategy "${name}" is installed here`);
  return null;
}

/** Null when the strategy threw: that fails the run. */
function guarded<T>(run: Run, work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    const type = error instanceof ZodError ? 'invalid_options' : 'strategy_error';
    failRun(run, type, error instanceof Error ? error.message : String(error));
    run.log.push({ level: 'error', message: 'the strategy failed', details: { error: stackOf(error) } });
    return null;
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function apply(run: Run, taken: Step<unknown>, trusted: boolean): void {
  const { state } = run;
  const directives = [...(taken.directives ?? [])];
  if (overflows(run, directives.length)) return;
  state.strategy = taken.state ?? null;
  state.awaits_input = taken.awaits === 'input';
  if (taken.answer) state.answer = { ...taken.answer, inputs: [] };
  if (taken.messages) state.messages = taken.messages as readonly Message[];
  if (taken.anchors) state.anchors = taken.anchors;
  for (const signal of taken.signals ?? []) {
    if (trusted) emitSignal(run, signal);
    else emitOwn(run, signal);
  }
  if (taken.withdraw) withdraw(run, taken.withdraw);
  for (const directive of directives) {
    if (isWork(directive)) {
      if (!taken.outcome || directive.type === 'emit_request_error') admit(run, directive);
    } else {
      const stopped = execute(run, directive);
      if (stopped) return stopRun(run, stopped);
    }
    if (state.ended) return;
  }
  if (taken.outcome) conclude(run, taken.outcome);
}

/** The state before the step stays, and the run ends: without the batch it would wait for ever. */
function overflows(run: Run, added: number): boolean {
  if (added === 0) return false;
  const { open, waiting, held } = run.state;
  const pending = Object.keys(open).length + waiting.length + Object.keys(held).length + added;
  const limit = run.agent.limits.max_pending;
  if (pending <= limit) return false;
  const message = `${added} more directives would make ${pending} pending ones; at most ${limit} are allowed`;
  const details = { pending, limit };
  const error = { type: 'queue_overflow', message, details, retryable: false };
  emitSignal(run, { type: 'agent.error', data: { error, context: 'overflow', metadata: {} } });
  failRun(run, 'queue_overflow', message, details);
  return true;
}

function conclude(run: Run, outcome: NonNullable<Step<unknown>['outcome']>): void {
  if (outcome.status === 'completed') {
    const { result, details, reason = 'final_answer' } = outcome;
    endRun(run, { status: 'completed', result, details, reason }, { ownOutcome: true });
  } else {
    const error = normalizeError(outcome.error);
    const { reason = error.type } = outcome;
    endRun(run, { status: 'failed', error, reason }, { ownOutcome: true });
  }
}

/** At the end of a turn: starts what may start, and fails a run that waits for nothing. */
export function closeTurn(run: Run): void {
  releaseWaiting(run);
  const { state } = run;
  if (state.ended || state.awaits_input || !isStalled(run)) return;
  run.undo = run.before;
  failRun(
    run,
    'stalled',
    'the strategy waits for nothing: no call, timer, child or input can continue the run',
  );
}

function isStalled({ state, outbox }: Run): boolean {
  return (
    isEmpty(state.open) &&
    isEmpty(state.held) &&
    state.waiting.length === 0 &&
    state.question === null &&
    state.timers.length === 0 &&
    !state.children.some(({ status }) => status === 'starting' || status === 'running') &&
    !outbox.some((entry) => entry.kind === 'start_child')
  );
}
