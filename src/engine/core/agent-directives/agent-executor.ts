// How the runtime carries out a directive of its own: the same protocol as a user's kind, with the run as its state.
// Must never answer anything but ok, async or stop.
import type { AgentDirective, AgentDirectiveType } from '../../../contract/agent-directive.ts';
import type { Executed } from '../directive-exec.ts';
import type { Run } from '../run-state.ts';

export type AgentDirectiveOf<T extends AgentDirectiveType> = Extract<AgentDirective, { type: T }>;

export type AgentExecutors = {
  [T in AgentDirectiveType]: (directive: AgentDirectiveOf<T>, run: Run) => Executed<Run>;
};
