// The configuration of an MCP server: how it is reached, and how far it is trusted.
// Must never define a server: all of them come from the file.
import * as z from 'zod';
import { CONTROL_DIRECTIVE_TYPES } from '../contract/run/control-directive.ts';
import { positiveDurationMsSchema } from '../contract/identifiers.ts';
import { isObject } from '../contract/json/json-object.ts';
import { effectSchema } from './effects.ts';
import type { Environment } from './environment-values.ts';
import { httpUrl } from './http-url.ts';
import { laneSchema } from './lane.ts';
import { byName, recordByName } from './names.ts';
import { notes } from './notes.ts';
import { serverAuthSchema } from './server-auth.ts';

const tokens = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** A hostile server is held to these by every worker, and by the installation as a whole. */
const samplingSchema = z
  .strictObject({
    model: z.string().min(1).max(256).register(notes, {
      description: 'The model that answers: an alias of `models`, whose chain is used, or `provider:model`.',
      fallback: 'required',
    }),
    max_tokens: tokens.default(1_024).register(notes, {
      description: 'The longest answer; a server that asks for more gets this.',
      unit: 'tokens',
    }),
    max_requests_per_call: z.int().min(1).max(1_000).default(10).register(notes, {
      description: 'How often one tool call may ask, over all its attempts.',
      unit: 'requests',
    }),
    max_tokens_per_call: tokens.default(50_000).register(notes, {
      description: 'Tokens, read and written, that one tool call may use, over all its attempts.',
      unit: 'tokens',
    }),
    max_tokens_per_day: tokens.default(1_000_000).register(notes, {
      description: 'The same for the server, over all calls and workers, from midnight to midnight in UTC.',
      unit: 'tokens',
    }),
    timeout_ms: positiveDurationMsSchema.optional().register(notes, {
      description: 'Limit of one call of a model.',
      unit: 'ms',
      fallback: 'as the lane of the provider says',
    }),
  })
  .refine((given) => given.max_tokens < given.max_tokens_per_call, {
    path: ['max_tokens_per_call'],
    message: 'must be more than max_tokens: a call also reads what it is asked',
  })
  .refine((given) => given.max_tokens_per_call <= given.max_tokens_per_day, {
    path: ['max_tokens_per_day'],
    message: 'must be at least max_tokens_per_call',
  });

const trustSchema = z.union([
  z.enum(['all', 'none']),
  z.array(z.string().refine((type) => CONTROL_DIRECTIVE_TYPES.includes(type), 'is not a control directive')),
]);

function directivesField(usual: 'all' | 'none') {
  return trustSchema.default(usual).register(notes, {
    description: 'Control directives in the results of this server that are obeyed.',
    special: 'a list of types',
    fallback: '`none`; `all` with `builtin`',
  });
}

function exposeField(usual: boolean) {
  return z
    .union([z.boolean(), z.array(z.string().min(1))])
    .default(usual)
    .register(notes, {
      description: 'Tools that MCP clients of the service may see and call.',
      special: '`false` = none; a list of names, in which `*` is a wildcard',
      fallback: '`true`; `false` with `builtin`',
    });
}

function contextField(usual: 'caller' | 'all') {
  return z.enum(['none', 'caller', 'all']).default(usual).register(notes, {
    description: 'How much of a call’s `context` the server gets, as `_meta["adjutant/context"]`.',
    special: '`none` = nothing; `caller` = what the caller or the agent gave; `all` = also the run’s `state`',
    fallback: '`caller`; `all` with `builtin` and `module`',
  });
}

/** A list of tools means that the operator chose what may be seen: then only what is named. */
function passedOnField(what: string) {
  return z
    .boolean()
    .optional()
    .register(notes, {
      description: `Whether MCP clients of the service may see and read the ${what} of this server.`,
      fallback: '`true` where `expose` is `true`, else `false`',
    });
}

const policyFields = {
  lane: laneSchema.prefault({}).register(notes, { description: 'The queue of this server.' }),
  serial: z.boolean().default(false).register(notes, {
    description: 'One call at a time over all workers, as long as one worker has it in its file.',
  }),
  directives: directivesField('none'),
  expose: exposeField(true),
  context: contextField('caller'),
  questions: z.boolean().default(false).register(notes, {
    description:
      'Tools of this server may ask a person: the call waits for the answer. Off, the server learns that questions are not answered, and must not ask.',
  }),
  question_timeout_ms: positiveDurationMsSchema.default(900_000).register(notes, {
    description:
      'A question without an answer after this time is declined; at the latest 30 s before the deadline of its directive.',
    unit: 'ms',
  }),
  effects: byName(z.string(), effectSchema).prefault({}).register(notes, {
    description:
      'Repeat policy of single tools, by the tool’s name on this server; wins over the MCP annotations. An object adds [how a lost answer is found](reconcile.md).',
  }),
  approve: z.array(z.string().min(1).max(256)).max(256).default([]).register(notes, {
    description:
      'Tools whose every call waits for the approval of a person, also without an agent, by the tool’s name on this server. Calls of runs are asked about here too, beside the approvals of their agent.',
    special: '`*` matches any characters',
    fallback: 'none',
  }),
  approve_timeout_ms: positiveDurationMsSchema.default(86_400_000).register(notes, {
    description:
      'A call that `approve` names ends with `approval_expired` when it has no decision after this time. Its deadline does not pass meanwhile.',
    unit: 'ms',
  }),
  host_patience_ms: positiveDurationMsSchema.optional().register(notes, {
    description:
      'The same as `mcp.host_patience_ms`, for calls of this server; the API reads it from its own file.',
    unit: 'ms',
    fallback: 'as `mcp.host_patience_ms` says',
  }),
  disabled: z.boolean().default(false).register(notes, { description: 'Leaves the server out.' }),
};

/** Fields of servers that are programs of their own. */
const strangerFields = {
  ...policyFields,
  sampling: samplingSchema.optional().register(notes, {
    description:
      'Tools of this server may ask a model (MCP calls it sampling), within a budget. Without it, the server learns that no model answers. `lane.rate` does not count its requests.',
    fallback: 'no model answers',
  }),
  redact_results: z.boolean().default(false).register(notes, {
    description:
      'Redacts known secrets (keys, tokens, passwords of the configuration, and logins) in successful results of this server, too; in errors, descriptions, logs and spans they always are.',
  }),
  expose_resources: passedOnField('resources'),
  expose_prompts: passedOnField('prompts'),
};

export const stdioServerSchema = z
  .strictObject({
    type: z
      .literal('stdio')
      .optional()
      .register(notes, { description: 'The transport. May be left out.', fallback: 'by `command` or `url`' }),
    command: z.string().min(1).register(notes, {
      description: 'The program to start, searched on the PATH.',
      fallback: '`command` or `url` is required',
    }),
    args: z.array(z.string()).default([]).register(notes, { description: 'Arguments of the program.' }),
    env: recordByName(z.string(), z.string()).prefault({}).register(notes, {
      description:
        'Variables of the program, beside [those that every server gets](mcp-servers.md#what-a-server-can-read).',
    }),
    cwd: z.string().optional().register(notes, {
      description: 'Folder in which the program starts, relative to the configuration file.',
      fallback: 'the folder of the file',
    }),
    uid: z.int().min(0).optional().register(notes, {
      description: 'User that the program runs as, a number as `id` prints it; needs `gid`.',
      fallback: 'the worker’s user',
    }),
    gid: z.int().min(0).optional().register(notes, {
      description: 'Group that the program runs as; needs `uid`.',
      fallback: 'the worker’s group',
    }),
    start_timeout_ms: positiveDurationMsSchema.default(90_000).register(notes, {
      description:
        'Time for the program to start and to answer the handshake; a first `npx` or `uvx` downloads a package.',
      unit: 'ms',
    }),
    ...strangerFields,
  })
  .refine(({ uid, gid }) => (uid === undefined) === (gid === undefined), {
    path: ['gid'],
    message: 'and uid go together: with only one, the process would keep the other of the service',
  });

const httpServerSchema = z
  .strictObject({
    type: z
      .enum(['http', 'streamable-http', 'sse'])
      .optional()
      .register(notes, { description: 'The transport. May be left out.', fallback: 'by `command` or `url`' }),
    url: httpUrl().register(notes, {
      description: 'URL of a server that is already running.',
      fallback: '`command` or `url` is required',
    }),
    headers: recordByName(z.string(), z.string())
      .prefault({})
      .register(notes, { description: 'Headers of every request to the server.' }),
    bearer_token: z.string().min(1).optional().register(notes, {
      description: 'Sent as `Authorization: Bearer …`; write `${TOKEN}` and keep it in the environment.',
      fallback: 'none',
    }),
    auth: serverAuthSchema
      .optional()
      .register(notes, { description: 'OAuth; `{}` is enough for most servers.', fallback: 'no login' }),
    ...strangerFields,
  })
  .superRefine(({ auth, bearer_token, headers }, context) => {
    const fixed = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
    if (auth !== undefined && (fixed || bearer_token !== undefined))
      context.addIssue({
        code: 'custom',
        path: ['auth'],
        message: 'excludes bearer_token and a header Authorization',
      });
  });

/** Directives and context are its purpose, and outside a run its tools do nothing; the file may still say otherwise. */
const builtInServerSchema = z.strictObject({
  builtin: z.enum(['control']).register(notes, {
    description: 'A server that Adjutant brings along; the worker starts it as a process.',
    special: '`control` = the control tools: to-do list, handoff, delegation, completion',
    fallback: 'none',
  }),
  ...policyFields,
  directives: directivesField('all'),
  context: contextField('all'),
  expose: exposeField(false),
});

/** Tools of a user's module, which the worker calls in its own process. */
const moduleServerSchema = z.strictObject({
  module: z.string().min(1).register(notes, {
    description: 'Path of a module that exports tools (`defineTool`), relative to the file.',
    fallback: 'none',
  }),
  ...policyFields,
  context: contextField('all'),
});

/** A REST API, which the worker calls as its OpenAPI document describes it. */
const openApiServerSchema = z.strictObject({
  openapi: z.string().min(1).max(2_048).register(notes, {
    description:
      'A REST API as a server: path, relative to the file, or URL of its OpenAPI document, version 3.0 or 3.1, in JSON.',
    fallback: 'none',
  }),
  operations: z.array(z.string().min(1).max(256)).min(1).max(1_000).optional().register(notes, {
    description: 'Operations that become tools, by `operationId`.',
    special: '`*` matches any characters',
    fallback: 'all',
  }),
  base_url: httpUrl().optional().register(notes, {
    description: 'URL that the paths of the document are added to.',
    fallback: 'the first of `servers` in the document; of a fetched one only with its own origin',
  }),
  headers: recordByName(z.string(), z.string())
    .prefault({})
    .register(notes, { description: 'Headers of every request to the API.' }),
  bearer_token: z.string().min(1).optional().register(notes, {
    description: 'Sent as `Authorization: Bearer …`; write `${TOKEN}` and keep it in the environment.',
    fallback: 'none',
  }),
  private_addresses: z.boolean().default(false).register(notes, {
    description: 'Which addresses the API may have.',
    special: 'true = also loopback, private and link-local addresses',
  }),
  ...policyFields,
  redact_results: strangerFields.redact_results,
});

/** One row for each transport: the key that a server of it has, and the schema of its entry. */
const TRANSPORTS = {
  http: { key: 'url', schema: httpServerSchema },
  stdio: { key: 'command', schema: stdioServerSchema },
  builtin: { key: 'builtin', schema: builtInServerSchema },
  module: { key: 'module', schema: moduleServerSchema },
  openapi: { key: 'openapi', schema: openApiServerSchema },
} as const;

type Kind = keyof typeof TRANSPORTS;
type ConfigOf<K extends Kind> = z.infer<(typeof TRANSPORTS)[K]['schema']> & { readonly kind: K };

export type StdioServerConfig = ConfigOf<'stdio'>;
export type HttpServerConfig = ConfigOf<'http'>;
export type BuiltInServerConfig = ConfigOf<'builtin'>;
export type ModuleServerConfig = ConfigOf<'module'>;
export type OpenApiServerConfig = ConfigOf<'openapi'>;
/** A server that the pool reaches. */
export type McpServerConfig =
  | StdioServerConfig
  | HttpServerConfig
  | BuiltInServerConfig
  | OpenApiServerConfig;
export type ServerConfig = McpServerConfig | ModuleServerConfig;

const CALL_LIMIT = 'milliseconds in `lane.timeout_ms` limit a call';
const START_LIMIT = 'milliseconds in `start_timeout_ms` limit the start of a program';

/** Variables that say how programs reach the network. Registries of packages are not among them: their addresses often hold tokens. */
const NETWORK_VARIABLES = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'NODE_USE_ENV_PROXY',
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
];

/** The network variables that every stdio server gets; without them `npx` waits for its registry without a word. An address with a user or password is left out. */
export function networkVariables(environment: Environment): Record<string, string> {
  const found = NETWORK_VARIABLES.flatMap((name) => {
    const value = environment[name] ?? '';
    const holdsUser = /proxy$/i.test(name) && value.includes('@');
    return value === '' || holdsUser ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

/** Keys that other MCP hosts read, and how the same is written here. Their times are seconds at some, milliseconds at others. */
const OTHER_HOSTS: ReadonlyMap<string, string> = new Map([
  ['timeout', `${CALL_LIMIT}, ${START_LIMIT}`],
  ['tool_timeout_sec', CALL_LIMIT],
  ['requestTimeout', CALL_LIMIT],
  ['initTimeout', START_LIMIT],
  ['startup_timeout_sec', START_LIMIT],
  ['startup_timeout_ms', START_LIMIT],
  ['serverUrl', 'write the address as `url`'],
  ['httpUrl', 'write the address as `url`'],
  ['transport', 'write `type`, or leave it out'],
  ['enabled', 'write `"disabled": true` to leave a server out'],
  ['envFile', 'write each variable in `env` as `${NAME}`, and load the file before the start'],
]);

/** How a key of other hosts is written here; null: it is none. */
export function otherHostsKey(key: string): string | null {
  return OTHER_HOSTS.get(key) ?? null;
}

/** Whether each caller has a login of its own at the server. */
export function isPersonal(server: ServerConfig): boolean {
  return server.kind === 'http' && server.auth?.login === 'each';
}

/** Whether MCP clients of the service may see resources and prompts of a server. */
export function passesOn(server: ServerConfig): { readonly resources: boolean; readonly prompts: boolean } {
  if (server.kind !== 'stdio' && server.kind !== 'http') return { resources: false, prompts: false };
  if (isPersonal(server)) return { resources: false, prompts: false };
  const usual = server.expose === true;
  return { resources: server.expose_resources ?? usual, prompts: server.expose_prompts ?? usual };
}

/** Transport and schema of an entry. An entry without the key of a transport is read as a process, and refused. */
export function transportOf(entry: unknown): { kind: Kind; schema: z.ZodType<z.infer<typeof serverSchema>> } {
  const kinds = Object.keys(TRANSPORTS) as Kind[];
  const kind = kinds.find((each) => isObject(entry) && Object.hasOwn(entry, TRANSPORTS[each].key)) ?? 'stdio';
  return { kind, schema: TRANSPORTS[kind].schema };
}

/** The keys of an entry that say how its server is reached: it has one of them. */
export function transportKeysOf(entry: unknown): readonly string[] {
  const keys = Object.values(TRANSPORTS).map(({ key }) => key);
  return keys.filter((key) => isObject(entry) && Object.hasOwn(entry, key));
}

/** Any entry of `mcpServers`. */
export const serverSchema = z.union([
  stdioServerSchema,
  httpServerSchema,
  builtInServerSchema,
  moduleServerSchema,
  openApiServerSchema,
]);
