// Sends each directive that is not work to its executor, by its type.
// Must never let an unknown type end the run: it is recorded, and the run goes on.
import {
  type AgentDirective,
  agentDirectiveSchema,
  type AgentDirectiveType,
} from '../../contract/run/agent-directive.ts';
import { fieldErrors, fieldSentence } from '../../contract/json/field-error.ts';
import type { StrategyDirective } from '../strategies/strategy.ts';
import {
  type AgentExecutors,
  cancel,
  emit,
  error,
  schedule,
  spawnAgent,
  stop,
  stopChild,
} from './agent-directives.ts';
import { executeCustom } from './custom-directive.ts';
import type { Executed, StopCause } from './directive-exec.ts';
import { ignoreDirective } from './ignored.ts';
import { failRun } from './lifecycle.ts';
import type { Run } from './run-state.ts';

const EXECUTORS: AgentExecutors = {
  emit,
  schedule,
  cancel,
  spawn_agent: spawnAgent,
  stop_child: stopChild,
  error,
  stop,
};

/** Why the agent is stopped, or null to go on with the next directive. */
export function execute(run: Run, directive: StrategyDirective): StopCause | null {
  if (isAgentType(directive.type)) return executeOwn(run, directive);
  const customType = run.parts.customTypes.get(directive.type);
  if (customType) return executeCustom(run, customType, directive as Record<string, unknown>);
  const { id } = directive as { id?: unknown };
  ignoreDirective(run, {
    type: String(directive.type),
    reason: 'unknown_type',
    ...(typeof id === 'string' && id !== '' ? { callId: id } : {}),
  });
  return null;
}

function executeOwn(run: Run, directive: StrategyDirective): StopCause | null {
  const parsed = agentDirectiveSchema.safeParse(directive);
  if (!parsed.success) {
    const faults = fieldErrors(parsed.error).map((fault) => fieldSentence(fault));
    failRun(run, 'strategy_error', `the directive "${directive.type}" is invalid: ${faults.join('; ')}`);
    return null;
  }
  const executed = dispatch(run, parsed.data);
  return 'stop' in executed ? executed : null;
}

function dispatch(run: Run, directive: AgentDirective): Executed<Run> {
  const executor = EXECUTORS[directive.type] as (directive: AgentDirective, run: Run) => Executed<Run>;
  return executor(directive, run);
}

function isAgentType(type: string): type is AgentDirectiveType {
  return Object.hasOwn(EXECUTORS, type);
}
