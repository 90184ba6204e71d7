// spawn_agent: starts a child run, identified by its tag.
// Must never start two living children with one tag, nor children without a limit of depth.
import type { Executed } from '../directive-exec.ts';
import { ignoreDirective } from '../ignored.ts';
import { spawnChild } from '../children.ts';
import type { Run } from '../run-state.ts';
import type { AgentDirectiveOf } from './agent-executor.ts';

export function spawnAgent(directive: AgentDirectiveOf<'spawn_agent'>, run: Run): Executed<Run> {
  const { agent, tag, input, overrides } = directive;
  const refusal = spawnChild(run, { agent, tag, input, overrides });
  if (refusal === null) return { async: true, ref: tag, state: run };
  ignoreDirective(run, { type: 'spawn_agent', reason: refusal, details: { tag, agent } });
  return { ok: true, state: run };
}
