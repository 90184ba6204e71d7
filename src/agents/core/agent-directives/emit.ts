// emit: writes a signal of the agent into the run's log.
// Must never write a signal whose type belongs to the service.
import { ownSignalFault } from '../../../contract/signal/own-signal.ts';
import { plainText } from '../../../contract/json/plain-text.ts';
import type { Executed } from '../directive-exec.ts';
import type { EmittedSignal } from '../../turn/transition.ts';
import { ignoreDirective } from '../ignored.ts';
import { emitSignal, type Run } from '../run-state.ts';
import type { AgentDirectiveOf } from './agent-executor.ts';

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
