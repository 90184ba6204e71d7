// The configuration: adjutant.json and the environment, read once and checked as a whole.
// Must never let another file read the environment, nor start with an unknown key.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type * as z from 'zod';
import { environmentSchema } from './environment.ts';
import { ConfigError } from './error.ts';
import { type FilePlace, readConfigFile } from './file.ts';
import { fileSchema } from './file-schema.ts';
import { type MetricsConfig, metricsOf } from './metrics.ts';
import { type TelemetryConfig, telemetryOf } from './telemetry.ts';
import { missingKeys, type ModelConfig, parseModels } from './models.ts';
import { type ServerConfig, transportOf } from './servers.ts';
import { fieldErrors } from '../contract/field-error.ts';
import { fillIn, type Environment } from './environment-values.ts';
import { schemaErrors } from './known-keys.ts';

type PlainSections = Omit<
  z.infer<typeof fileSchema>,
  'mcpServers' | 'providers' | 'models' | 'telemetry' | '$schema'
>;

export interface Config extends PlainSections, ModelConfig {
  /** Enabled servers by name. */
  mcpServers: ReadonlyMap<string, ServerConfig>;
  /** The base of relative paths of servers: the folder of the configuration file. */
  directory: string;
  /** Unset: the caller must provide a Redis (`up` starts a private one). */
  redisUrl: string | undefined;
  /** Key prefix of this installation. */
  prefix: string;
  host: string;
  /** Host names that clients may use for the service, besides its own. */
  allowedHosts: readonly string[];
  port: number;
  logLevel: string;
  logFormat: LogFormat;
  metrics: MetricsConfig;
  telemetry: TelemetryConfig;
  /** Seal the logins at MCP servers; the first seals, each opens. Empty: no login can be stored. */
  tokenKeys: readonly Buffer[];
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

/** An empty variable counts as not set: compose files leave them so. */
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
    telemetry,
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
    logFormat: variables.ADJUTANT_LOG_FORMAT,
    metrics: metricsOf(
      variables,
      variables.OTEL_SDK_DISABLED ? null : (variables.OTEL_EXPORTER_OTLP_ENDPOINT ?? null),
    ),
    telemetry: telemetryOf(telemetry, variables),
    tokenKeys: variables.ADJUTANT_TOKEN_KEY,
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

function parseServers(servers: ReadonlyMap<string, unknown>, source: string): Map<string, ServerConfig> {
  const parsed = [...servers].map(([name, raw]) => {
    const { kind, schema } = transportOf(raw);
    const server = { ...parseOrThrow(schema, raw, source, `mcpServers.${name}`), kind } as ServerConfig;
    return [name, server] as const;
  });
  return new Map(parsed.filter(([, server]) => !server.disabled));
}
