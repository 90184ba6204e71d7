// schedule: a later message to the agent itself; stored in the document, so a restart does not lose it.
// Must never measure its delay from anything but the turn that sets it.
import type { Executed } from '../directive-exec.ts';
import { count, type Run } from '../run-state.ts';
import type { AgentDirectiveOf } from './agent-executor.ts';

export function schedule({ delay_ms, message }: AgentDirectiveOf<'schedule'>, run: Run): Executed<Run> {
  const id = `timer-${count(run, 'named')}`;
  run.state.timers = [...run.state.timers, { id, due_at: run.now + delay_ms, message }];
  return { async: true, ref: id, state: run };
}
