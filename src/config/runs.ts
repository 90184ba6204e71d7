// The sections of adjutant.json about runs: agents, and the modules that define strategies and directive types.
// Must never load a module: the modules are loaded when a service starts.
import * as z from 'zod';
import { inlineAgentSchema } from './agents.ts';
import { recordByName } from './names.ts';
import { notes } from './notes.ts';
import { agentNameSchema } from '../contract/run/agent-definition.ts';

/** A path, relative to the configuration file. */
const modulePath = z.string().min(1);

const engineSchema = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .max(10_000)
    .default(64)
    .register(notes, { description: 'Turns of runs at once in one engine.', unit: 'turns' }),
  drain_ms: z.int().min(0).default(5_000).register(notes, {
    description: 'How long a stop waits for turns in progress.',
    special: '0 = not at all',
    unit: 'ms',
  }),
});

export const runSections = {
  agents: z
    .union([recordByName(agentNameSchema, z.union([modulePath, inlineAgentSchema])), z.array(modulePath)])
    .default({})
    .register(notes, {
      description: 'Agents by name: the agent itself, or the path of a module that exports it.',
      special: 'a list of paths = all agents of these modules',
    }),
  directives: z.array(modulePath).default([]).register(notes, {
    description: 'Paths of modules that export directive types (`defineDirective`), relative to the file.',
  }),
  strategies: z.array(modulePath).default([]).register(notes, {
    description: 'Paths of modules that export strategies (`defineStrategy`), relative to the file.',
  }),
  engine: engineSchema.prefault({}).register(notes, { description: 'How an engine takes turns.' }),
};
