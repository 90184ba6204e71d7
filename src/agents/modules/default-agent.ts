// The agent for requests that name none: every tool of the catalog, the alias `fast`.
// Must never replace an agent that the configuration declares.
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import { defineAgent } from '../define-agent.ts';

const DEFAULT_AGENT = defineAgent({
  name: 'default',
  description: 'Answers questions, with all available tools',
  system_prompt:
    'Answer the question. Use the tools where they help, several at once when none needs the result of another. ' +
    'When a tool fails, say so or find another way; never make up what a tool would have said.',
  tools: ['*'],
});

/** The declared agents, and the built-in `default` unless one has that name. */
export function withDefaultAgent(declared: readonly AgentDefinition[]): readonly AgentDefinition[] {
  return declared.some(({ name }) => name === DEFAULT_AGENT.name) ? declared : [...declared, DEFAULT_AGENT];
}
