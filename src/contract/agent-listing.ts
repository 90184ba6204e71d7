// The agents of an installation as a reader sees them.
// Must never show an agent's prompt or its tool context.
import * as z from 'zod';
import { agentNameSchema, toolPatternSchema } from './agent-definition.ts';

export const listedAgentSchema = z.object({
  name: agentNameSchema,
  description: z.string(),
  strategy: z.string(),
  /** `provider:model`, or the alias when the agent names no model. */
  model: z.string(),
  /** The tools it may use: names or patterns over the catalog. */
  tools: z.array(toolPatternSchema),
});

/** In the order of their names. */
export const agentListingSchema = z.object({ agents: z.array(listedAgentSchema) });

export type ListedAgent = z.infer<typeof listedAgentSchema>;
export type AgentListing = z.infer<typeof agentListingSchema>;
