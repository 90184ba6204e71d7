// The sections of adjutant.json about runs: agents, and the modules that bring strategies and kinds of directives.
// Must never load a module: what is named here is loaded when a service is made.
import * as z from 'zod';
import { recordByName } from './names.ts';
import { agentDefinitionSchema, agentNameSchema } from '../contract/agent-definition.ts';

/** A path, relative to the configuration file. */
const modulePath = z.string().min(1);

const inlineAgent = agentDefinitionSchema.omit({ name: true });

const engineSchema = z.strictObject({
  /** Turns at once in one process. Default: 64. */
  concurrency: z.int().min(1).max(10_000).default(64),
  /** How long a stop waits for turns under way, milliseconds. Default: 5 000. */
  drain_ms: z.int().min(0).default(5_000),
});

export const runSections = {
  /** By name, either the agent itself or the path of a module that exports it; or only such paths. Default: none. */
  agents: z
    .union([recordByName(agentNameSchema, z.union([modulePath, inlineAgent])), z.array(modulePath)])
    .default({}),
  /** Paths of modules that export kinds of directives (`defineDirective`). Default: none. */
  directives: z.array(modulePath).default([]),
  /** Paths of modules that export strategies (`defineStrategy`). Default: none. */
  strategies: z.array(modulePath).default([]),
  engine: engineSchema.prefault({}),
};
