// Declares an agent in code, with the same checks as one in the configuration.
// Must never know which strategies or tools exist: the catalog of a running service does.
import {
  type AgentDefinition,
  agentDefinitionSchema,
  type SubmittedAgentDefinition,
} from '../contract/run/agent-definition.ts';
import { fieldErrors, fieldSentence } from '../contract/json/field-error.ts';

/**
 * Declares an agent in code, with the same validation as one in the configuration.
 * @param definition Definition of the agent; members with a default may be absent.
 * @returns The agent with every default filled in.
 * @throws `TypeError` that names each invalid member by its path.
 * @example
 * ```ts
 * import { defineAgent } from 'adjutant/engine';
 * export const helper = defineAgent({ name: 'helper', model_alias: 'fast', tools: ['everything.echo'] });
 * ```
 */
export function defineAgent(definition: SubmittedAgentDefinition): AgentDefinition {
  const parsed = agentDefinitionSchema.safeParse(definition);
  if (parsed.success) return parsed.data;
  const faults = fieldErrors(parsed.error).map((fault) => fieldSentence(fault, 'agent'));
  throw new TypeError(`agent ${nameOf(definition)}: ${faults.join('; ')}`);
}

function nameOf(definition: unknown): string {
  const name = Object(definition)['name'] as unknown;
  return typeof name === 'string' ? `"${name.slice(0, 64)}"` : '(without a name)';
}
