// The configuration of model aliases, and which providers have a key in the environment.
// Must never hold a key where it could be printed or serialized.
import * as z from 'zod';
import { isObject, ownMember } from '../contract/json/json-object.ts';
import { byName } from './names.ts';
import { providerSchema } from './providers.ts';
import { fieldErrors } from '../contract/json/field-error.ts';
import { serverNameSchema } from '../contract/identifiers.ts';
import { BUILT_IN_PROVIDERS, DEFAULT_ALIASES, parseModelName } from '../contract/model/model-name.ts';
import type { FieldError } from '../contract/problem.ts';
import type { Environment } from './environment-values.ts';
import { schemaErrors } from './known-keys.ts';

/** A key from the environment. Not a plain value, so that no log, dump or JSON ever shows it. */
export interface ProviderKey {
  /** The variables that may hold it; the first that is set wins; empty = no key is needed. */
  readonly variables: readonly string[];
  /** null: no variable is set. */
  read(): string | null;
}

/** Credentials of AWS that sign each request. */
export interface AwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export type ProviderConfig = z.infer<typeof providerSchema> & {
  readonly key: ProviderKey;
  /** For `bedrock` without a key; null: the variables are not set, or there is a key. */
  readonly awsKey: () => AwsKey | null;
};

export const aliasName = z.string().regex(/^[A-Za-z0-9._-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 . _ -');
const modelName = z
  .string()
  .refine((name) => parseModelName(name) !== null, 'must be provider:model, as in openai:gpt-5-mini');
export const chainSchema = z.union([
  modelName.transform((name) => [name]),
  z.array(modelName).min(1).max(16),
]);

/** The sections of the file that this module reads. */
export const modelSections = {
  /** Model providers by name. Those with a key in the environment need no entry. */
  providers: byName(serverNameSchema, z.unknown()).prefault({}),
  /** Aliases: one model, or several; the next one is tried when one is not available. */
  models: byName(aliasName, z.unknown()).prefault({}),
};

export interface ModelConfig {
  /** Providers by name: configured ones, and built-in ones with a key. A configured one may lack its key. */
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  /** Configured aliases only. */
  readonly models: ReadonlyMap<string, readonly string[]>;
}

export type ParsedModels = { ok: true; value: ModelConfig } | { ok: false; errors: FieldError[] };

export interface Sections {
  readonly providers: ReadonlyMap<string, unknown>;
  readonly models: ReadonlyMap<string, unknown>;
}

export function parseModels(sections: Sections, environment: Environment): ParsedModels {
  const errors: FieldError[] = [];
  const providers = parseProviders(sections.providers, environment, errors);
  const models = parseAliases(sections, errors);
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, value: { providers, models } };
}

function parseProviders(
  configured: Sections['providers'],
  environment: Environment,
  errors: FieldError[],
): Map<string, ProviderConfig> {
  const unnamed = [...BUILT_IN_PROVIDERS.keys()].filter((name) => !configured.has(name));
  const builtIn = unnamed.map((name) => [name, {}] as const);
  const providers = new Map<string, ProviderConfig>();
  for (const [name, raw] of [...configured, ...builtIn]) {
    const parsed = providerSchema.safeParse(withType(name, raw));
    if (!parsed.success) {
      errors.push(...schemaErrors(parsed.error, providerSchema, withType(name, raw), `providers.${name}`));
      continue;
    }
    const provider = { ...parsed.data, ...keysOf(parsed.data, environment) };
    const left = provider.disabled || (unnamed.includes(name) && provider.key.read() === null);
    if (!left) providers.set(name, provider);
  }
  return providers;
}

/** A provider with the name of a type has that type by default. */
function withType(name: string, raw: unknown): unknown {
  return isObject(raw) && BUILT_IN_PROVIDERS.has(name) ? { type: name, ...raw } : raw;
}

function keysOf(
  provider: z.infer<typeof providerSchema>,
  environment: Environment,
): Pick<ProviderConfig, 'key' | 'awsKey'> {
  const { type } = provider;
  const named = 'api_key_env' in provider ? provider.api_key_env : undefined;
  const variables = named === undefined ? (KEY_VARIABLES.get(type) ?? []) : [named];
  const valueOf = (name: string): string | null => ownMember(environment, name)?.trim() || null;
  const read = (): string | null => variables.map(valueOf).find((value) => value !== null) ?? null;
  if (type !== 'bedrock' || named !== undefined) return { key: { variables, read }, awsKey: () => null };
  const awsKey = (): AwsKey | null => (read() === null ? awsKeyIn(valueOf) : null);
  const key = {
    variables: [...variables, AWS_VARIABLES.join(' with ')],
    read: () => read() ?? awsKey()?.accessKeyId ?? null,
  };
  return { key, awsKey };
}

const KEY_VARIABLES: ReadonlyMap<string, readonly string[]> = new Map([
  ...BUILT_IN_PROVIDERS,
  ['azure', ['AZURE_API_KEY']],
  ['bedrock', ['AWS_BEARER_TOKEN_BEDROCK']],
]);

const AWS_VARIABLES = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const;

/** null: one of the two is not set. */
function awsKeyIn(valueOf: (name: string) => string | null): AwsKey | null {
  const [accessKeyId, secretAccessKey] = AWS_VARIABLES.map(valueOf);
  if (!accessKeyId || !secretAccessKey) return null;
  const sessionToken = valueOf('AWS_SESSION_TOKEN');
  return { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) };
}

function parseAliases({ providers, models }: Sections, errors: FieldError[]): Map<string, readonly string[]> {
  const aliases = new Map<string, readonly string[]>();
  for (const [alias, raw] of models) {
    const path = `models.${alias}`;
    const parsed = chainSchema.safeParse(raw);
    if (!parsed.success) {
      errors.push(...chainErrors(raw, path));
      continue;
    }
    aliases.set(alias, parsed.data);
    errors.push(...unknownProviders(parsed.data, Array.isArray(raw), path, providers));
  }
  return aliases;
}

/** The error of a union says little; the error of the intended form says more. */
function chainErrors(raw: unknown, path: string): FieldError[] {
  const meant = Array.isArray(raw) ? z.array(modelName).min(1).max(16) : modelName;
  const parsed = meant.safeParse(raw);
  return parsed.success ? [] : fieldErrors(parsed.error, path);
}

function unknownProviders(
  chain: readonly string[],
  isList: boolean,
  path: string,
  configured: Sections['providers'],
): FieldError[] {
  return chain.flatMap((name, position) => {
    const message = providerFault(name, configured);
    return message === null ? [] : [{ path: isList ? `${path}[${position}]` : path, message }];
  });
}

/** Why no provider can have the model `provider:model`; null: one may. */
function providerFault(name: string, configured: Sections['providers']): string | null {
  const provider = parseModelName(name)?.provider ?? '';
  if (configured.has(provider) || BUILT_IN_PROVIDERS.has(provider)) return null;
  const known = [...new Set([...configured.keys(), ...BUILT_IN_PROVIDERS.keys()])];
  return `names a provider that is not configured; there are ${known.join(', ')}`;
}

/** Why `asked` names no model; null: it is an alias, or a model of a provider that is configured. */
export function modelFault(asked: string, { providers, models }: Sections): string | null {
  if (models.has(asked) || DEFAULT_ALIASES.has(asked)) return null;
  if (parseModelName(asked) === null) return 'is neither an alias of models nor provider:model';
  return providerFault(asked, providers);
}

/** One fault for each provider whose key is missing. */
export function missingKeys(providers: ModelConfig['providers']): FieldError[] {
  return [...providers].flatMap(([name, { key }]) => {
    if (key.variables.length === 0 || key.read() !== null) return [];
    const message = `needs a key: the environment variable ${key.variables.join(' or ')} is not set`;
    return [{ path: `providers.${name}`, message }];
  });
}
