// Whether tenants may add servers while the installation runs, and what these may be.
// Must never allow anything that the section does not name.
import * as z from 'zod';
import { TENANT_FORM, TENANT_NAME } from '../contract/access/tenant-name.ts';
import { toolMatches } from '../contract/tool/tool-pattern.ts';
import type { Environment } from './environment-values.ts';
import { byName } from './names.ts';
import { notes } from './notes.ts';

const MOST_VARIABLES = 256;

const hostPattern = z
  .string()
  .regex(/^[a-z0-9.*:[\]-]{1,253}$/, 'must be a host name in lower case, in which * is a wildcard');

const hosts = z.array(hostPattern).min(1).max(256);

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'is not the name of a variable');

const variableSchema = z.strictObject({
  tenants: z
    .array(z.string().regex(TENANT_NAME, `must be ${TENANT_FORM}`))
    .min(1)
    .optional()
    .register(notes, { description: 'Tenants that may name the variable.', fallback: 'all tenants' }),
  hosts: hosts.optional().register(notes, {
    description: 'Hosts that its value may be sent to. A `command` gets no variable that has hosts.',
    fallback: 'every host of `runtime_servers.hosts`',
  }),
});

const runtimeServersSchema = z.strictObject({
  enabled: z.boolean().default(false).register(notes, {
    description: 'Whether tenants may add servers. The same for every process.',
  }),
  kinds: z
    .array(z.enum(['http', 'openapi', 'stdio']))
    .min(1)
    .default(['http', 'openapi'])
    .register(notes, {
      description: 'Transports that may be added.',
      special: '`stdio` = administrators of tenants run programs on the workers',
    }),
  hosts: hosts.default(['*']).register(notes, {
    description: 'Hosts that a server may have.',
    special: '`*` matches any characters',
  }),
  private_addresses: z.boolean().default(false).register(notes, {
    description: 'Which addresses a server may have.',
    special: 'true = also loopback, private and link-local addresses',
  }),
  environment: byName(variableName, variableSchema)
    .prefault({})
    .refine(
      (variables) => (variables as ReadonlyMap<string, unknown>).size <= MOST_VARIABLES,
      `must be at most ${MOST_VARIABLES}`,
    )
    .register(notes, {
      description: 'Variables that a definition may name as `${NAME}`. Their values go to its server.',
      fallback: 'none',
    }),
  most_per_tenant: z.int().min(1).max(100).default(20).register(notes, {
    description: 'Servers that one tenant may have.',
    unit: 'servers',
  }),
  most: z.int().min(1).max(1_000).default(200).register(notes, {
    description: 'Servers that all tenants together may have.',
    unit: 'servers',
  }),
  concurrency: z.int().min(1).max(100).default(10).register(notes, {
    description: 'Calls at once of each of them in one worker.',
    unit: 'calls',
  }),
});

export const runtimeServerSections = {
  runtime_servers: runtimeServersSchema.prefault({}).register(notes, {
    description: '[Servers that are added at runtime](runtime-servers.md).',
  }),
};

type Section = z.output<typeof runtimeServersSchema>;

/** Limits of what a tenant may add. */
export interface RuntimeServerRules {
  readonly kinds: ReadonlySet<string>;
  readonly privateAddresses: boolean;
  readonly concurrency: number;
  /** Values of the variables that definitions may name. Absent: not set. */
  readonly values: Environment;
  isHostAllowed(host: string): boolean;
  /** Whether a tenant may name a variable in a definition with these hosts; none: a program. */
  mayName(variable: string, tenant: string, hosts: readonly string[]): boolean;
}

/** The only reader of these variables. null: tenants may add no servers. */
export function runtimeServerRules(section: Section, environment: Environment): RuntimeServerRules | null {
  if (!section.enabled) return null;
  const { environment: variables } = section;
  const matches = (patterns: readonly string[], host: string): boolean =>
    patterns.some((pattern) => toolMatches(pattern, host));
  return {
    kinds: new Set(section.kinds),
    privateAddresses: section.private_addresses,
    concurrency: section.concurrency,
    values: Object.fromEntries([...variables.keys()].map((name) => [name, environment[name]])),
    isHostAllowed: (host) => matches(section.hosts, host),
    mayName(variable, tenant, named) {
      const rule = variables.get(variable);
      if (rule === undefined || rule.tenants?.includes(tenant) === false) return false;
      const { hosts: only } = rule;
      return only === undefined || (named.length > 0 && named.every((host) => matches(only, host)));
    },
  };
}
