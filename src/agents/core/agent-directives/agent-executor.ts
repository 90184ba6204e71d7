// How the runtime executes its own directives: with the protocol of custom directives, and the run as their state.
// Must never return anything but ok, async or stop.
import type { AgentDirective, AgentDirectiveType } from '../../../contract/run/agent-directive.ts';
import type { Executed } from '../directive-exec.ts';
import type { Run } from '../run-state.ts';

export type AgentDirectiveOf<T extends AgentDirectiveType> = Extract<AgentDirective, { type: T }>;

export type AgentExecutors = {
  [T in AgentDirectiveType]: (directive: AgentDirectiveOf<T>, run: Run) => Executed<Run>;
};
