// Whether tenants may add agents and policies while the installation runs, and what agents may be.
// Must never allow anything that the operator has bounded.
import * as z from 'zod';
import {
  agentDefinitionSchema,
  type AgentDefinition,
  runLimitOverridesSchema,
  type SubmittedAgentDefinition,
} from '../contract/run/agent-definition.ts';
import { fieldErrors } from '../contract/json/field-error.ts';
import { REDACTED } from '../contract/json/redaction.ts';
import type { FieldError } from '../contract/problem.ts';
import { toolMatches } from '../contract/tool/tool-pattern.ts';
import { notes } from './notes.ts';

const MOST_BYTES = 32_768;

const patterns = z.array(z.string().min(1).max(256)).min(1).max(256);

const most = (what: string, ofTenant: number, all: number, mostOfTenant = 100) => ({
  most_per_tenant: z
    .int()
    .min(1)
    .max(mostOfTenant)
    .default(ofTenant)
    .register(notes, { description: `${what} that one tenant may add.`, unit: what.toLowerCase() }),
  most: z
    .int()
    .min(1)
    .max(1_000)
    .default(all)
    .register(notes, { description: `${what} that all tenants together may add.`, unit: what.toLowerCase() }),
});

const enabled = (what: string) =>
  z
    .boolean()
    .default(false)
    .register(notes, {
      description: `Whether tenants may add ${what}. The same for every process.`,
    });

const runtimeAgentsSchema = z.strictObject({
  enabled: enabled('agents'),
  tools: patterns.default(['*']).register(notes, {
    description: 'Tools that such an agent may name.',
    special: '`*` matches any characters',
  }),
  models: patterns.default(['*']).register(notes, {
    description: 'Models and aliases that such an agent may name.',
    special: '`*` matches any characters',
  }),
  limits: runLimitOverridesSchema.prefault({}).register(notes, {
    description: 'The most that `limits` of such an agent may be.',
    fallback: 'no limit beside those of agents',
  }),
  ...most('Agents', 20, 200),
});

const runtimePoliciesSchema = z.strictObject({
  enabled: enabled('policies'),
  // All of them are evaluated for each call of the tenant.
  ...most('Policies', 5, 200, 10),
});

export const runtimeDefinitionSections = {
  runtime_agents: runtimeAgentsSchema.prefault({}).register(notes, {
    description: '[Agents that are added at runtime](runtime-servers.md#agents-and-policies).',
  }),
  runtime_policies: runtimePoliciesSchema.prefault({}).register(notes, {
    description: '[Policies that are added at runtime](runtime-servers.md#agents-and-policies).',
  }),
};

/** Bounds of the agents that tenants add. */
export type RuntimeAgentRules = Pick<z.output<typeof runtimeAgentsSchema>, 'tools' | 'models' | 'limits'>;

export type ReadAgent =
  | { readonly ok: true; readonly agent: AgentDefinition }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Checks the definition of an agent of a tenant. `strategies`: those that engines have. */
export function readAgent(
  name: string,
  definition: Readonly<Record<string, unknown>>,
  rules: RuntimeAgentRules,
  strategies: ReadonlySet<string>,
): ReadAgent {
  const text = JSON.stringify(definition);
  if (Buffer.byteLength(text) > MOST_BYTES) return failed('', `must be at most ${MOST_BYTES} bytes`);
  if (text.includes(REDACTED)) return failed('', 'has a redacted value: give the value again');
  const parsed = agentDefinitionSchema.safeParse({ ...definition, name });
  if (!parsed.success) return { ok: false, errors: fieldErrors(parsed.error) };
  const agent = parsed.data;
  const given = definition as Partial<SubmittedAgentDefinition>;
  const errors = [
    ...(given.name === undefined || given.name === name
      ? []
      : [{ path: 'name', message: 'is not that of the path' }]),
    ...useFaults(agent, rules, strategies),
    ...limitFaults(agent, rules),
    ...policyFaults(agent, rules),
  ];
  return errors.length > 0 ? { ok: false, errors } : { ok: true, agent };
}

function failed(path: string, message: string): ReadAgent {
  return { ok: false, errors: [{ path, message }] };
}

/** A pattern is covered by another one that matches it as a text: its wildcards are matched by wildcards alone. */
function useFaults(
  { tools, model, model_alias: alias, strategy }: AgentDefinition,
  rules: RuntimeAgentRules,
  strategies: ReadonlySet<string>,
): FieldError[] {
  const isCovered = (allowed: readonly string[], name: string): boolean =>
    allowed.some((pattern) => toolMatches(pattern, name));
  const path = model === undefined ? 'model_alias' : 'model';
  return [
    ...tools.flatMap((pattern, at) =>
      isCovered(rules.tools, pattern)
        ? []
        : [{ path: `tools[${at}]`, message: 'is not among `runtime_agents.tools` of the operator' }],
    ),
    ...(isCovered(rules.models, model ?? alias)
      ? []
      : [{ path, message: 'is not among `runtime_agents.models` of the operator' }]),
    ...(strategies.has(strategy)
      ? []
      : [{ path: 'strategy', message: `is unknown; those are ${[...strategies].join(', ')}` }]),
  ];
}

function limitFaults({ limits }: AgentDefinition, { limits: ceilings }: RuntimeAgentRules): FieldError[] {
  const own: Readonly<Record<string, number | null>> = limits;
  return Object.entries(ceilings).flatMap(([name, ceiling]) =>
    ceiling === undefined || (own[name] ?? Infinity) <= (ceiling ?? Infinity)
      ? []
      : [
          {
            path: `limits.${name}`,
            message: `is at most ${ceiling} by \`runtime_agents.limits\` of the operator`,
          },
        ],
  );
}

function policyFaults({ policies }: AgentDefinition, { limits }: RuntimeAgentRules): FieldError[] {
  const { approvals, overrides, budget } = policies;
  const isBounded = Object.values(limits).some((ceiling) => ceiling !== undefined);
  return [
    ...Object.entries(approvals).flatMap(([pattern, mode]) =>
      mode === 'auto'
        ? [
            {
              path: `policies.approvals.${pattern}`,
              message: 'cannot be "auto": only the operator lifts an approval',
            },
          ]
        : [],
    ),
    ...(overrides === 'any'
      ? [
          {
            path: 'policies.overrides',
            message: 'cannot be "any": only the operator lets runs loosen limits',
          },
        ]
      : []),
    ...(budget === 'ask' && isBounded
      ? [
          {
            path: 'policies.budget',
            message: 'cannot be "ask": the operator has set `runtime_agents.limits`',
          },
        ]
      : []),
  ];
}
