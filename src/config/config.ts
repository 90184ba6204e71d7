// The configuration: adjutant.json and the environment, read once and checked as a whole.
// Must never let another file read the environment, nor start with an unknown key.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type * as z from 'zod';
import { environmentSchema } from './environment.ts';
import { type EncryptionConfig, encryptionOf } from './encryption.ts';
import { ConfigError } from './error.ts';
import { type FilePlace, readConfigFile } from './file.ts';
import { fileSchema, wholeSchema } from './file-schema.ts';
import { type MetricsConfig, metricsOf } from './metrics.ts';
import { type TelemetryConfig, telemetryOf } from './telemetry.ts';
import { missingKeys, type ModelConfig, modelFault, parseModels, type Sections } from './models.ts';
import { type RuntimeServerRules, runtimeServerRules } from './runtime-servers.ts';
import {
  isPersonal,
  networkVariables,
  otherHostsKey,
  type ServerConfig,
  transportKeysOf,
  transportOf,
} from './servers.ts';
import { fieldErrors } from '../contract/json/field-error.ts';
import { isObject, ownMember } from '../contract/json/json-object.ts';
import type { FieldError } from '../contract/problem.ts';
import { isClusterUrl } from '../platform/redis/address.ts';
import { fillIn, type Environment } from './environment-values.ts';
import { schemaErrors } from './known-keys.ts';

type PlainSections = Omit<
  z.infer<typeof fileSchema>,
  'mcpServers' | 'providers' | 'models' | 'telemetry' | 'encryption' | '$schema'
>;

export interface Config extends PlainSections, ModelConfig {
  /** Enabled servers by name. */
  mcpServers: ReadonlyMap<string, ServerConfig>;
  /** The base of relative paths of servers: the folder of the configuration file. */
  directory: string;
  /** Variables that every stdio server gets, unless its `env` has them. */
  serverVariables: Readonly<Record<string, string>>;
  /** Unset: the caller must provide a Redis (`up` starts a private one). */
  redisUrl: string | undefined;
  /** Key prefix of this installation. */
  prefix: string;
  /** Patterns of the lanes that this process serves. Default: all. */
  lanePatterns?: readonly string[] | undefined;
  /** The lanes of webhooks that this process serves. Default: all. */
  deliversTo?: ReadonlySet<string> | undefined;
  host: string;
  /** Host names that clients may use for the service, besides its own. */
  allowedHosts: readonly string[];
  /** Origins of web pages that may call `/mcp` from a browser, each with scheme and port. */
  allowedOrigins: readonly string[];
  port: number;
  /** A key that may do everything; null: there is none. */
  adminKey: string | null;
  /** Whether the API may listen beyond loopback without keys. */
  insecure: boolean;
  logLevel: string;
  logFormat: LogFormat;
  metrics: MetricsConfig;
  telemetry: TelemetryConfig;
  /** Seal the logins at MCP servers; the first seals, each opens. Empty: no login can be stored. */
  tokenKeys: readonly Buffer[];
  /** Limits of the servers that tenants may add; null: they may add none. */
  runtimeServerRules: RuntimeServerRules | null;
  /** The keys of workers for what clients encrypt; null: none. */
  encryption: EncryptionConfig | null;
}

type LogFormat = z.output<typeof environmentSchema>['ADJUTANT_LOG_FORMAT'];

const CONFIG_FILE = 'adjutant.json';

/**
 * Reads `file` (default: adjutant.json here, or nothing if there is none) and the environment.
 * Throws `ConfigError`, which names the path of each fault.
 */
export function loadConfig(file?: string, environment: Environment = process.env): Config {
  const named = file ?? (environment['ADJUTANT_CONFIG'] || undefined);
  const path = resolve(named ?? CONFIG_FILE);
  if (!existsSync(path) && named !== undefined)
    throw new ConfigError(path, [{ path: '', message: 'does not exist' }], { fix: NAME_A_FILE });
  if (!existsSync(path)) return parseConfig({}, { source: path, directory: dirname(path), environment });
  const read = readConfigFile(path);
  if (!read.ok) {
    const placeOf = (): FilePlace | null => read.place;
    throw new ConfigError(path, [{ path: '', message: read.message }], { placeOf });
  }
  try {
    return parseConfig(read.value, { source: path, directory: dirname(path), environment });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw error.placedIn(path, read.placeOf);
  }
}

/** An empty variable counts as not set: compose files leave them so. */
function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}

interface ParseOptions {
  source: string;
  directory: string;
  environment: Environment;
}

const NAME_A_FILE =
  'Name a file that exists with --config or ADJUTANT_CONFIG, or write a first one with the verb `init`.';
const CORRECT_VARIABLE = 'Correct the variable, or unset it.';
const SET_VARIABLE = 'Set the variable, or give it a default in the file: ${NAME:-default}.';
const USE_VARIABLE =
  'Write ${NAME} or ${env:NAME}, and set that variable; a ${ that is no placeholder is written ${DOLLAR:-$}{.';

/** The pure part of `loadConfig`. */
export function parseConfig(raw: unknown, { source, directory, environment }: ParseOptions): Config {
  const { sections, mcpServers, variables } = parseAll(raw, environment, source);
  if (sections.signals.stream !== undefined) requireOneRedis(variables.REDIS_URL, source);
  requirePersonalLogins({ mcpServers, access: sections.access }, source);
  const { mcpServers: _, providers, models, telemetry, encryption, $schema: __, ...rest } = sections;
  return {
    ...rest,
    ...parseModelsOrThrow({ providers, models }, environment, source),
    mcpServers,
    directory,
    serverVariables: networkVariables(environment),
    redisUrl: variables.REDIS_URL,
    prefix: variables.ADJUTANT_PREFIX,
    host: variables.ADJUTANT_HOST,
    allowedHosts: variables.ADJUTANT_ALLOWED_HOSTS,
    allowedOrigins: variables.ADJUTANT_ALLOWED_ORIGINS,
    port: variables.ADJUTANT_PORT,
    adminKey: variables.ADJUTANT_ADMIN_KEY ?? null,
    insecure: variables.ADJUTANT_INSECURE,
    logLevel: variables.ADJUTANT_LOG_LEVEL,
    logFormat: variables.ADJUTANT_LOG_FORMAT,
    metrics: metricsOf(
      variables,
      variables.OTEL_SDK_DISABLED ? null : (variables.OTEL_EXPORTER_OTLP_ENDPOINT ?? null),
    ),
    telemetry: telemetryOf(telemetry, variables),
    tokenKeys: variables.ADJUTANT_TOKEN_KEY,
    runtimeServerRules: runtimeServerRules(sections.runtime_servers, withoutEmpty(environment)),
    encryption: encryptionOf(encryption, environment),
  };
}

/** Throws one `ConfigError` with the faults of the placeholders, the sections, the servers and the variables together. */
function parseAll(raw: unknown, environment: Environment, source: string) {
  const filled = fillIn(raw, environment);
  const unfilled = new Set([...filled.unset, ...filled.unknown].map(({ path }) => path));
  const sections = attempted(() => parseOrThrow(wholeSchema, filled.value, source));
  const servers = attempted(() => parseServers(filled.value, source));
  const variables = attempted(() => parseVariables(environment));
  // What stands where a variable is not set is not yet the value.
  const errors = [sections, servers]
    .flatMap((each) => (each.ok ? [] : each.error.errors))
    .filter(({ path }) => !unfilled.has(path));
  const faults = [
    ...(errors.length > 0 ? [new ConfigError(source, errors)] : []),
    ...(filled.unset.length > 0 ? [new ConfigError(source, filled.unset, { fix: SET_VARIABLE })] : []),
    ...(filled.unknown.length > 0 ? [new ConfigError(source, filled.unknown, { fix: USE_VARIABLE })] : []),
    ...(variables.ok ? [] : [variables.error]),
  ];
  const [first, ...others] = faults;
  if (first !== undefined) throw new ConfigError(first.source, first.errors, { fix: first.fix, others });
  if (!sections.ok || !servers.ok || !variables.ok) throw new Error('a fault of the configuration is lost');
  return { sections: sections.value, mcpServers: servers.value, variables: variables.value };
}

/** Throws `ConfigError` for a cluster: the stream of all signals is in another slot than the logs that it is written with. */
function requireOneRedis(redisUrl: string | undefined, source: string): void {
  if (redisUrl === undefined || !isClusterUrl(redisUrl)) return;
  const message = 'cannot be used on a Redis Cluster, which REDIS_URL names; use one Redis or Sentinel';
  throw new ConfigError(source, [{ path: 'signals.stream', message }]);
}

/** Throws `ConfigError` where callers could not be asked for their logins. */
function requirePersonalLogins(
  { mcpServers, access }: Pick<Config, 'mcpServers' | 'access'>,
  source: string,
): void {
  const [name] = [...mcpServers].flatMap(([each, server]) => (isPersonal(server) ? [each] : []));
  if (name === undefined || access.personal_logins !== undefined) return;
  const message = 'needs access.personal_logins, whose pages ask callers for their logins';
  throw new ConfigError(source, [{ path: `mcpServers.${name}.auth.login`, message }]);
}

type Attempted<T> = { ok: true; value: T } | { ok: false; error: ConfigError };

function attempted<T>(parse: () => T): Attempted<T> {
  try {
    return { ok: true, value: parse() };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { ok: false, error };
  }
}

/** A section of a file whose other sections may be faulty; null where the section itself is, which is a fault of the file. */
function sectionIn(value: unknown, name: 'mcpServers' | keyof Sections): ReadonlyMap<string, unknown> | null {
  const section = isObject(value) ? ownMember(value, name) : undefined;
  const parsed = fileSchema.shape[name].safeParse(section);
  return parsed.success ? parsed.data : null;
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

/** Throws `ConfigError` when a configured provider has no key. Only callers of models need keys; submitters do not. */
export function requireKeys({ providers }: ModelConfig): void {
  const errors = missingKeys(providers);
  const fix = `Set the variable, or remove the provider from the configuration.`;
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

/** Throws one `ConfigError` with the faults of all servers, also of those that are left out. */
function parseServers(file: unknown, source: string): Map<string, ServerConfig> {
  const [providers, models] = [sectionIn(file, 'providers'), sectionIn(file, 'models')];
  const known = providers === null || models === null ? null : { providers, models };
  const parsed = [...(sectionIn(file, 'mcpServers') ?? [])].map(
    ([name, raw]) => [name, attempted(() => parseServer(name, raw, { source, known }))] as const,
  );
  const errors = parsed.flatMap(([, each]) => (each.ok ? [] : each.error.errors));
  if (errors.length > 0) throw new ConfigError(source, errors);
  const found = parsed.flatMap(([name, each]) => (each.ok ? [[name, each.value] as const] : []));
  return new Map(found.filter(([, server]) => !server.disabled));
}

function withKeyOfHere(error: FieldError, place: string): FieldError {
  const how = error.path.startsWith(`${place}.`) ? otherHostsKey(error.path.slice(place.length + 1)) : null;
  return how === null ? error : { ...error, message: `${error.message}; ${how}` };
}

/** `known`: null = it cannot be told which models there are. */
function parseServer(
  name: string,
  raw: unknown,
  { source, known }: { source: string; known: Sections | null },
): ServerConfig {
  const ways = transportKeysOf(raw);
  if (ways.length > 1) {
    const message = `has ${ways.join(' and ')}: a server is reached in one way, so keep one of them`;
    throw new ConfigError(source, [{ path: `mcpServers.${name}`, message }]);
  }
  const { kind, schema } = transportOf(raw);
  const place = `mcpServers.${name}`;
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    const errors = schemaErrors(parsed.error, schema, raw, place);
    throw new ConfigError(
      source,
      errors.map((error) => withKeyOfHere(error, place)),
    );
  }
  const server = { ...parsed.data, kind } as ServerConfig;
  const model = 'sampling' in server ? server.sampling?.model : undefined;
  const message = model === undefined || known === null ? null : modelFault(model, known);
  if (message === null) return server;
  throw new ConfigError(source, [{ path: `mcpServers.${name}.sampling.model`, message }]);
}
