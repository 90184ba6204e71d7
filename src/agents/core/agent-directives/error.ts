// error: the agent reports an error; its policy decides what follows.
// Must never ignore an error, whatever the policy.
import type { Executed } from '../directive-exec.ts';
import { count, emitSignal, type Run } from '../run-state.ts';
import type { AgentDirectiveOf } from './agent-executor.ts';

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
