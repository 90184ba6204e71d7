// emit: a signal of the agent's own, in the run's log.
// Must never write a signal that the service itself answers for.
import type { Executed } from '../directive-exec.ts';
import type { EmittedSignal } from '../../transition.ts';
import { ignoreDirective } from '../ignored.ts';
import type { Run } from '../run-state.ts';
import type { AgentDirectiveOf } from './agent-executor.ts';

const RESERVED = /^(?:ai|agent|directive)(?:\.|$)/;

export function emit({ signal }: AgentDirectiveOf<'emit'>, run: Run): Executed<Run> {
  emitOwn(run, signal);
  return { ok: true, state: run };
}

/** Types of the service are refused, and said to be. */
export function emitOwn(run: Run, signal: EmittedSignal): void {
  if (RESERVED.test(signal.type)) {
    ignoreDirective(run, { type: 'emit', reason: 'reserved_type', details: { signal_type: signal.type } });
  } else {
    run.signals.push(signal);
  }
}
