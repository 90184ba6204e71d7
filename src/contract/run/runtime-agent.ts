// The agents that a tenant adds while the installation runs, on the wire.
// Must never be shown to callers without the scope `admin`: a definition holds its prompt and its context.
import * as z from 'zod';
import { jsonObjectSchema } from '../identifiers.ts';
import {
  definitionChange,
  type OfTenant,
  type RemoveDefinitionQuery,
  replacedVersionSchema,
} from '../runtime-definition.ts';
import { agentNameSchema } from './agent-definition.ts';

/** Schema of the body that adds or replaces an agent. */
export const putAgentBodySchema = z.strictObject({
  agent: jsonObjectSchema.describe(
    'Agent as in `agents` of adjutant.json, at most 32,768 bytes. It loosens nothing that the operator has set.',
  ),
  version: replacedVersionSchema,
});

/** Schema of an agent that a tenant has added. */
export const runtimeAgentSchema = z.object({
  name: agentNameSchema.describe('Name of the agent.'),
  ...definitionChange,
  agent: jsonObjectSchema.describe('Definition, with secrets redacted by their names.'),
  fault: z.string().nullable().describe('Reason why no run can begin with it; null: none.'),
});

/** Schema of the agents that a tenant has added. */
export const runtimeAgentListingSchema = z.object({
  agents: z.array(runtimeAgentSchema).describe('Agents in the order of their names.'),
});

/** Agent that a tenant has added. */
export type RuntimeAgent = z.infer<typeof runtimeAgentSchema>;
/** Agents that a tenant has added. */
export type RuntimeAgentListing = z.infer<typeof runtimeAgentListingSchema>;

type PutAgentBody = z.input<typeof putAgentBodySchema>;

/** Client for agents that are added while the installation runs. Refused with `not_found` where that is off. */
export interface RuntimeAgentClient {
  /** Agents of the tenant, also those with which no run can begin. */
  list(options?: OfTenant): Promise<RuntimeAgentListing>;
  /** Throws `DirectiveRefused` (`not_found`) for a name that the tenant has not added. */
  get(name: string, options?: OfTenant): Promise<RuntimeAgent>;
  /** Adds or replaces an agent. Runs that have begun keep their version. The same definition again changes nothing. */
  put(name: string, body: PutAgentBody, options?: OfTenant): Promise<RuntimeAgent>;
  /** Removes an agent and returns its last view. Runs that have begun continue. */
  remove(name: string, query?: RemoveDefinitionQuery, options?: OfTenant): Promise<RuntimeAgent>;
}
