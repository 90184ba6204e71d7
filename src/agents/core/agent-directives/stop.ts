// stop: ends the agent at once, as an abnormal end.
// Must never be how a run completes.
import type { Executed } from '../directive-exec.ts';
import type { Run } from '../run-state.ts';
import type { AgentDirectiveOf } from './agent-executor.ts';

export function stop({ reason }: AgentDirectiveOf<'stop'>, run: Run): Executed<Run> {
  return { stop: true, reason, state: run };
}
