// The configuration: adjutant.json and the environment, read once and checked whole.
// Must never let another file read the environment, nor start with a key it does not understand.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import { ConfigError } from './error.ts';
import { type FilePlace, readConfigFile } from './file.ts';
import { durationMs, laneSchema } from './lane.ts';
import { missingKeys, type ModelConfig, modelSections, parseModels } from './models.ts';
import { byName, recordByName } from './names.ts';
import { runSections } from './runs.ts';
import { CONTROL_DIRECTIVE_TYPES } from '../contract/control-directive.ts';
import { fieldErrors } from '../contract/field-error.ts';
import { serverNameSchema } from '../contract/identifiers.ts';
import { repeatPolicySchema } from '../contract/work-directive.ts';
import { fillIn, type Environment } from './environment-values.ts';
import { schemaErrors } from './known-keys.ts';
import { redisUrlFault } from '../redis/address.ts';

const trustSchema = z.union([
  z.enum(['all', 'none']),
  z.array(z.string().refine((type) => CONTROL_DIRECTIVE_TYPES.includes(type), 'is not a control directive')),
]);

const policyFields = {
  lane: laneSchema.prefault({}),
  /** One call at a time over all workers. Default: false. */
  serial: z.boolean().default(false),
  /** Which control directives in this server's results are believed. Default: none. */
  directives: trustSchema.default('none'),
  /** How much of a call's context the server gets, as `_meta["adjutant/context"]`. Default: caller. */
  context: z.enum(['none', 'caller', 'all']).default('caller'),
  /** Effect of single tools, over their annotations. */
  effects: byName(z.string(), repeatPolicySchema).prefault({}),
  disabled: z.boolean().default(false),
};

const stdioServerSchema = z
  .strictObject({
    type: z.literal('stdio').optional(),
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: recordByName(z.string(), z.string()).prefault({}),
    cwd: z.string().optional(),
    /** The user that the server's process runs as, numbers as of `id`; both or none. Needs the right to change users. */
    uid: z.int().min(0).optional(),
    gid: z.int().min(0).optional(),
    ...policyFields,
  })
  .refine(({ uid, gid }) => (uid === undefined) === (gid === undefined), {
    path: ['gid'],
    message: 'and uid go together: with one of them the process would keep the other of ours',
  });

const httpServerSchema = z.strictObject({
  type: z.enum(['http', 'streamable-http', 'sse']).optional(),
  url: z.url({ protocol: /^https?$/ }),
  headers: recordByName(z.string(), z.string()).prefault({}),
  /** Sent as `Authorization: Bearer …`; name it `${TOKEN}` and keep it in the environment. */
  bearer_token: z.string().min(1).optional(),
  ...policyFields,
});

const retentionSchema = z.strictObject({
  /** How long a closed request stays readable, milliseconds. Default: one day. */
  closed_ms: durationMs.default(86_400_000),
});

const limitsSchema = z.strictObject({
  /** The largest HTTP body, bytes. Default: 4 MiB. */
  body_bytes: z
    .int()
    .min(1_024)
    .default(4 * 1_024 * 1_024),
  /** The most directives of one submission. Default: 1 000. */
  batch: z.int().min(1).max(1_000).default(1_000),
  /** The largest arguments of one directive, bytes as JSON. Default: 1 MiB. */
  arguments_bytes: z
    .int()
    .min(1_024)
    .default(1_024 * 1_024),
  /** The largest payload of a result, bytes as JSON. Default: 1 MiB. */
  result_bytes: z
    .int()
    .min(1_024)
    .default(1_024 * 1_024),
  /** What becomes of a larger result: cut to a marked preview, or an `invalid_result` error. Default: truncate. */
  result_overflow: z.enum(['truncate', 'refuse']).default('truncate'),
  /**
   * How long holding a value against a tool's schema, or a directive's, may take when that is done in a thread of its own,
   * milliseconds. Small values and schemas without patterns, references or comparisons are checked at once. Default: 2 000.
   */
  schema_check_ms: durationMs.default(2_000),
  /**
   * How long a server's or provider's "slow down" holds at most before it is asked again, milliseconds. Default: 5 minutes.
   */
  pause_ms: durationMs.default(300_000),
  /** Open directives of the whole service; more are refused with 429. Default: 100 000. */
  max_open: z.int().min(1).default(100_000),
  /** What a request may hold in Redis: log, payloads, its run; more is refused with 413, bytes. Default: 64 MiB. */
  request_bytes: z
    .int()
    .min(65_536)
    .default(64 * 1_024 * 1_024),
  /**
   * What Redis may hold in all before new work is refused with 429, bytes; 0 = no such limit. Default: 80 % of Redis'
   * `maxmemory`; without one half of its machine's memory.
   */
  total_bytes: z.int().min(0).optional(),
});

const workerSchema = z.strictObject({
  /** How long a silent worker keeps its claims, milliseconds. Default: 6 000. */
  lease_ms: durationMs.default(6_000),
  /**
   * How long a worker whose event loop is blocked, as by the code of a module, keeps its claims, milliseconds. Default: 60 000.
   */
  blocked_ms: durationMs.default(60_000),
  /** How long a stop waits for running attempts, milliseconds. Default: 20 000. */
  drain_ms: z.int().min(0).default(20_000),
});

const fileSchema = z.strictObject({
  $schema: z.string().optional(),
  mcpServers: byName(serverNameSchema, z.unknown()).prefault({}),
  ...modelSections,
  ...runSections,
  retention: retentionSchema.prefault({}),
  limits: limitsSchema.prefault({}),
  /** What an acceptance waits for: Redis' memory, its disk, or a replica. Default: memory. */
  durability: z.enum(['memory', 'fsync', 'replica']).default('memory'),
  worker: workerSchema.prefault({}),
});

export type StdioServerConfig = z.infer<typeof stdioServerSchema>;
export type HttpServerConfig = z.infer<typeof httpServerSchema>;
export type ServerConfig = StdioServerConfig | HttpServerConfig;

type PlainSections = Omit<z.infer<typeof fileSchema>, 'mcpServers' | 'providers' | 'models' | '$schema'>;

export interface Config extends PlainSections, ModelConfig {
  /** Enabled servers by name. */
  mcpServers: ReadonlyMap<string, ServerConfig>;
  /** Where relative paths of servers begin: the folder of the configuration file. */
  directory: string;
  /** Unset: the caller must bring a Redis (`up` starts a private one). */
  redisUrl: string | undefined;
  /** Key prefix of this installation. */
  prefix: string;
  host: string;
  /** Names by which the service may be called, besides its own. */
  allowedHosts: readonly string[];
  port: number;
  logLevel: string;
}

/** As in a Host header, without the port. */
const HOST_NAME = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;

const PORT = 'must be a whole number from 0 to 65535; 0 takes a free port';

const environmentSchema = z.object({
  REDIS_URL: z
    .string()
    .superRefine((url, context) => {
      const fault = redisUrlFault(url);
      if (fault !== null) context.addIssue({ code: 'custom', message: `${fault.says}. ${fault.fix}` });
    })
    .optional(),
  ADJUTANT_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 . _ -')
    .default('adjutant'),
  ADJUTANT_HOST: z.string().default('127.0.0.1'),
  ADJUTANT_ALLOWED_HOSTS: z
    .string()
    .default('')
    .transform((list) => list.split(',').map((name) => name.trim()))
    .transform((names) => names.filter((name) => name !== ''))
    .refine(
      (names) => names.every((name) => HOST_NAME.test(name)),
      'must be host names without ports, separated by commas',
    ),
  ADJUTANT_PORT: z
    .string()
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, PORT)
    .transform(Number)
    .default(7_420),
  ADJUTANT_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

const CONFIG_FILE = 'adjutant.json';

/**
 * Reads `file` (default: adjutant.json here, or nothing if there is none) and the environment.
 * Throws `ConfigError`, which names the path of each fault.
 */
export function loadConfig(file?: string, environment: Environment = process.env): Config {
  const named = file ?? (environment['ADJUTANT_CONFIG'] || undefined);
  const path = resolve(named ?? CONFIG_FILE);
  if (!existsSync(path) && named !== undefined)
    throw new ConfigError(path, [{ path: '', message: 'does not exist' }]);
  if (!existsSync(path)) return parseConfig({}, { source: path, directory: dirname(path), environment });
  const read = readConfigFile(path);
  if (!read.ok) {
    const placeOf = (): FilePlace | null => read.place;
    throw new ConfigError(path, [{ path: '', message: read.message }], { placeOf });
  }
  try {
    return parseConfig(read.value, { source: path, directory: dirname(path), environment });
  } catch (error) {
    if (!(error instanceof ConfigError) || error.source !== path) throw error;
    throw new ConfigError(path, error.errors, { fix: error.fix, placeOf: read.placeOf });
  }
}

/** A variable that is set to nothing counts as not set, as compose files leave them. */
function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}

interface ParseOptions {
  source: string;
  directory: string;
  environment: Environment;
}

const CORRECT_VARIABLE = 'Correct the variable, or unset it.';
const SET_VARIABLE = 'Set the variable, or give it a default in the file: ${NAME:-default}.';

/** The pure part of `loadConfig`. */
export function parseConfig(raw: unknown, { source, directory, environment }: ParseOptions): Config {
  const filled = fillIn(raw, environment);
  if (filled.errors.length > 0) throw new ConfigError(source, filled.errors, { fix: SET_VARIABLE });
  const {
    mcpServers,
    providers,
    models,
    $schema: _,
    ...rest
  } = parseOrThrow(fileSchema, filled.value, source);
  const variables = parseVariables(environment);
  return {
    ...rest,
    ...parseModelsOrThrow({ providers, models }, environment, source),
    mcpServers: parseServers(mcpServers, source),
    directory,
    redisUrl: variables.REDIS_URL,
    prefix: variables.ADJUTANT_PREFIX,
    host: variables.ADJUTANT_HOST,
    allowedHosts: variables.ADJUTANT_ALLOWED_HOSTS,
    port: variables.ADJUTANT_PORT,
    logLevel: variables.ADJUTANT_LOG_LEVEL,
  };
}

function parseVariables(environment: Environment): z.output<typeof environmentSchema> {
  const parsed = environmentSchema.safeParse(withoutEmpty(environment));
  if (parsed.success) return parsed.data;
  throw new ConfigError('environment', fieldErrors(parsed.error), { fix: CORRECT_VARIABLE });
}

function parseModelsOrThrow(
  sections: Parameters<typeof parseModels>[0],
  environment: Environment,
  source: string,
): ModelConfig {
  const parsed = parseModels(sections, environment);
  if (!parsed.ok) throw new ConfigError(source, parsed.errors);
  return parsed.value;
}

/** Throws `ConfigError` when a configured provider has no key: who calls models needs it, who submits does not. */
export function requireKeys({ providers }: ModelConfig): void {
  const errors = missingKeys(providers);
  const fix = `Set the variable, or take the provider out of the configuration.`;
  if (errors.length > 0) throw new ConfigError('environment', errors, { fix });
}

function parseOrThrow<S extends z.ZodType>(
  schema: S,
  value: unknown,
  source: string,
  prefix = '',
): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ConfigError(source, schemaErrors(parsed.error, schema, value, prefix));
}

/** A server with a `url` is reached over HTTP, any other is started as a process. */
function parseServers(servers: ReadonlyMap<string, unknown>, source: string): Map<string, ServerConfig> {
  const parsed = [...servers].map(([name, raw]) => {
    const overHttp = typeof raw === 'object' && raw !== null && Object.hasOwn(raw, 'url');
    const schema: z.ZodType<ServerConfig> = overHttp ? httpServerSchema : stdioServerSchema;
    return [name, parseOrThrow(schema, raw, source, `mcpServers.${name}`)] as const;
  });
  return new Map(parsed.filter(([, server]) => !server.disabled));
}
