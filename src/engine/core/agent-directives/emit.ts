// emit: a signal of the agent's own, in the run's log.
// Must never write a signal that the service itself answers for.
import { ID_PATTERN } from '../../../contract/identifiers.ts';
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

/** Types of the service are refused, and said to be; so is a subject that is no name. */
export function emitOwn(run: Run, signal: EmittedSignal): void {
  const reason = refusalOf(signal);
  if (reason === null) run.signals.push(signal);
  else ignoreDirective(run, { type: 'emit', reason, details: { signal_type: signal.type } });
}

function refusalOf({ type, subject }: EmittedSignal): string | null {
  if (RESERVED.test(type)) return 'reserved_type';
  return subject === undefined || ID_PATTERN.test(subject) ? null : 'invalid_subject';
}
