// The sections of adjutant.json.
// Must never accept a key that no section knows.
import * as z from 'zod';
import { accessSections } from './access.ts';
import { budgetFaults, budgetSections } from './budgets.ts';
import { flowFaults, flowSections } from './flow.ts';
import { archiveSections, lateArchive, placeFields, requireOnePlace } from './archive.ts';
import { encryptionSections } from './encryption.ts';
import { modelSections } from './models.ts';
import { byName, recordByName } from './names.ts';
import { notes } from './notes.ts';
import { policyFaults, policySections } from './policy.ts';
import { runtimeDefinitionSections } from './runtime-definitions.ts';
import { runtimeServerSections } from './runtime-servers.ts';
import { serviceSections } from './service.ts';
import { webhookSections } from './webhooks.ts';
import { tenantSections, uncountedTenants } from './tenants.ts';
import { customTypeSchema } from '../contract/directive/custom-directive.ts';
import { repeatPolicySchema } from '../contract/directive/work-directive.ts';
import { configuredServerNameSchema } from '../contract/identifiers.ts';
import { inlineAgentSchema } from './agents.ts';
import { agentNameSchema } from '../contract/run/agent-definition.ts';

const MOST_ENTRIES = 100_000_000;

const streamSchema = z.strictObject({
  max_entries: z.int().min(1_000).max(MOST_ENTRIES).register(notes, {
    description:
      'Signals that the stream of each tenant keeps, about: Redis trims the oldest in blocks of a hundred. A consumer that is further behind reads them in the logs.',
  }),
});

const signalsSchema = z.strictObject({
  stream: streamSchema.optional().register(notes, {
    description:
      'One Redis stream of all signals of each tenant, for consumer groups in any language: [Redis](redis.md#the-stream-of-all-signals). The same for every process. Not on a Redis Cluster.',
    fallback: 'there is none',
  }),
});

const signalsSections = {
  signals: signalsSchema.prefault({}).register(notes, {
    description: 'What other programs read of [signals in Redis](redis.md).',
  }),
};

const searchSchema = z.strictObject({
  enabled: z.boolean().default(true).register(notes, {
    description:
      'Whether the list of requests is kept: `GET /v1/requests`, bulk actions, the inbox of approvals and those pages of the console. The same for every process.',
    special: '`false` = nothing is noted for it, and what was there is removed',
  }),
});

const searchSections = {
  search: searchSchema.prefault({}).register(notes, {
    description: 'The [list of requests](search.md).',
  }),
};

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

const remoteTypeSchema = z.strictObject({
  effect: repeatPolicySchema.default('once').register(notes, {
    description: 'Whether the work may be repeated after its program died.',
    special: '`read`, `idempotent` = up to three times; `once` = never: it ends as `outcome_unknown`',
  }),
  lease_ms: z.int().min(2_000).max(600_000).default(30_000).register(notes, {
    description: 'Time after which a program that has not renewed its work counts as dead.',
    unit: 'ms',
  }),
});

const runSections = {
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
  remote_directives: recordByName(customTypeSchema, remoteTypeSchema).default({}).register(notes, {
    description:
      'Directive types that other programs execute, which take the work over HTTP, by name. See [Python](python.md#directive-types).',
  }),
  strategies: z.array(modulePath).default([]).register(notes, {
    description: 'Paths of modules that export strategies (`defineStrategy`), relative to the file.',
  }),
  engine: engineSchema.prefault({}).register(notes, { description: 'How an engine takes turns.' }),
};

/** Smaller payloads travel with their job. */
const LEAST_BYTES = 32_768;

const payloadsSchema = z
  .strictObject({
    ...placeFields,
    offload_above_bytes: z.int().min(LEAST_BYTES).default(262_144).register(notes, {
      description: 'Directives, and results above `limits.result_bytes`, that are larger are stored there.',
      unit: 'bytes',
    }),
  })
  .superRefine(requireOnePlace);

const payloadSections = {
  payloads: payloadsSchema.optional().register(notes, {
    description:
      'Large payloads lie there instead of in Redis. See [large payloads](archive.md#large-payloads).',
    fallback: 'all are in Redis',
  }),
};

export const fileSchema = z.strictObject({
  $schema: z
    .string()
    .optional()
    .register(notes, { description: 'The JSON Schema of this file, for your editor.', fallback: 'none' }),
  /** Each server is read on its own, so that a fault is reported for the form that was meant. */
  mcpServers: byName(configuredServerNameSchema, z.unknown()).prefault({}),
  ...modelSections,
  ...runSections,
  ...serviceSections,
  ...accessSections,
  ...archiveSections,
  ...payloadSections,
  ...encryptionSections,
  ...searchSections,
  ...signalsSections,
  ...tenantSections,
  ...budgetSections,
  ...flowSections,
  ...policySections,
  ...runtimeServerSections,
  ...runtimeDefinitionSections,
  ...webhookSections,
});

/** With what one section asks of another. */
export const wholeSchema = fileSchema.superRefine((sections, context) => {
  for (const message of lateArchive(sections))
    context.addIssue({ code: 'custom', path: ['archive', 'after_ms'], message });
  for (const fault of [...budgetFaults(sections), ...flowFaults(sections), ...policyFaults(sections)])
    context.addIssue({ code: 'custom', ...fault });
  for (const name of uncountedTenants(sections))
    context.addIssue({
      code: 'custom',
      path: ['tenants', name, 'stored_bytes'],
      message: 'needs the list of requests, which search.enabled turns off',
    });
});
