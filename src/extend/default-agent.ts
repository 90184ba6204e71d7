// The agent that answers when nobody has said which: every tool of the catalog, the alias `fast`.
// Must never stand in for an agent that the configuration declares.
import type { AgentDefinition } from '../contract/agent-definition.ts';
import { defineAgent } from '../engine/define-agent.ts';

const DEFAULT_AGENT = defineAgent({
  name: 'default',
  description: 'Answers questions, with every tool there is',
  system_prompt:
    'Answer the question. Use the tools where they help, several at once when none needs the result of another. ' +
    'When a tool fails, say so or find another way; never make up what a tool would have said.',
  tools: ['*'],
});

/** The agents, with the built-in `default` beside them unless one is declared by that name. */
export function withDefaultAgent(declared: readonly AgentDefinition[]): readonly AgentDefinition[] {
  return declared.some(({ name }) => name === DEFAULT_AGENT.name) ? declared : [...declared, DEFAULT_AGENT];
}
