// The agents of an installation as a reader sees them.
// Must never show an agent's prompt or its tool context.
import * as z from 'zod';
import { definitionVersionSchema } from '../runtime-definition.ts';
import { agentNameSchema, toolPatternSchema } from './agent-definition.ts';

/** Schema of an agent in a list. */
export const listedAgentSchema = z.object({
  name: agentNameSchema.describe('Name of the agent.'),
  description: z.string().describe('Purpose of the agent.'),
  strategy: z.string().describe('Strategy that drives its runs.'),
  model: z.string().describe('Model as `provider:model`, or the alias where the agent names no model.'),
  tools: z
    .array(toolPatternSchema)
    .describe('Tools that the agent may call: names or patterns over the catalog.'),
  version: definitionVersionSchema
    .optional()
    .describe(
      'Version of an agent that the tenant has added at runtime. Absent: the operator has configured it.',
    ),
});

/** In the order of their names. */
export const agentListingSchema = z.object({
  agents: z.array(listedAgentSchema).describe('Agents that the caller may run.'),
});

/** Agent in a list. */
export type ListedAgent = z.infer<typeof listedAgentSchema>;
/** List of agents. */
export type AgentListing = z.infer<typeof agentListingSchema>;
