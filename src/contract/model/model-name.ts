// Names of models: `provider:model`, the aliases for them, and which of them this installation can reach.
// Must never know how to call a provider, nor hold a key.
import { errorEnvelope, type ErrorEnvelope } from '../error-envelope.ts';

/** One model of one provider. `name` is the whole: `provider:model`. */
export interface ModelRef {
  readonly provider: string;
  readonly model: string;
  readonly name: string;
}

/** The known models: aliases with their chains of names, and the providers that workers can reach. */
export interface ModelTable {
  readonly aliases: ReadonlyMap<string, readonly string[]>;
  readonly providers: ReadonlyMap<string, KnownProvider>;
}

/** Model provider that needs no entry in the configuration. */
export interface KnownProvider {
  /** The provider's type, as the configuration names it: `anthropic`, `openai-compatible`, `scripted`. */
  readonly type: string;
  /** false: no worker serves it at present. Absent: one does, or it is unknown. */
  readonly served?: boolean;
}

/** How a directive names its model. */
export interface ModelChoice {
  readonly model?: string | undefined;
  readonly model_alias?: string | undefined;
}

/** `models` is never empty: the first is tried first, the others when it is not available. */
export type ResolvedModels =
  | { readonly ok: true; readonly models: readonly ModelRef[] }
  | { readonly ok: false; readonly error: ErrorEnvelope };

/** Aliases that exist without configuration; configuration is merged on top. */
export const DEFAULT_ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ['fast', ['anthropic:claude-haiku-4-5']],
  ['capable', ['anthropic:claude-sonnet-4-20250514']],
  ['thinking', ['anthropic:claude-sonnet-4-20250514']],
  ['reasoning', ['anthropic:claude-sonnet-4-20250514']],
  ['planning', ['anthropic:claude-sonnet-4-20250514']],
  ['image', ['openai:gpt-image-1']],
  ['embedding', ['openai:text-embedding-3-small']],
]);

/** Providers that need only a key, with the environment variables that may hold it; the first that is set wins. */
export const BUILT_IN_PROVIDERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['anthropic', ['ANTHROPIC_API_KEY']],
  ['openai', ['OPENAI_API_KEY']],
  ['google', ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY']],
]);

/** Most names listed in an error. */
const LISTED_NAMES = 50;
const MODEL_NAME = /^(?<provider>[A-Za-z0-9_-]{1,64}):(?<model>[^\p{Cc}\p{Zl}\p{Zp}]+)$/u;
/** Some providers put the model into the URL of the call, where these would lead to another URL, with the key. */
const LEAVES_ADDRESS = /[?#\\%]|\.\.|^\/|\/\/|\/$|(?:^|\/)\.(?:\/|$)/;
const MODEL_LANE = 'llm.';

/** The lane of every model of a provider. */
export function modelLane(provider: string): string {
  return `${MODEL_LANE}${provider}`;
}

/**
 * `provider:model`; the model part may hold colons, and slashes inside. null: another form, or a name that could lead a
 * call away from the provider's models.
 */
export function parseModelName(name: string): ModelRef | null {
  const { provider, model } = MODEL_NAME.exec(name)?.groups ?? {};
  if (provider === undefined || model === undefined || LEAVES_ADDRESS.test(model)) return null;
  return { provider, model, name };
}

/** The models that may answer a directive, in order. A non-empty `model` wins over the alias, and may itself be an alias. */
export function resolveModels(choice: ModelChoice, table: ModelTable): ResolvedModels {
  const field = choice.model ? 'model' : 'model_alias';
  const named = choice[field] ?? '';
  const chain = chainOf(named, field, table);
  if (chain === null) return { ok: false, error: unknownName(named, field, table) };
  const models = chain.map(parseModelName).filter((ref) => ref !== null);
  const reachable = reachableOf(models, table);
  return reachable.length > 0
    ? { ok: true, models: reachable }
    : { ok: false, error: outOfReach(named, field, models, table) };
}

/**
 * The reachable models. Models that no worker serves at present are used only when there is no other. Scripts answer
 * only when the choice holds nothing else: a script must not stand in for an absent model.
 */
function reachableOf(models: readonly ModelRef[], { providers }: ModelTable): readonly ModelRef[] {
  const of = ({ provider }: ModelRef): KnownProvider | undefined => providers.get(provider);
  const known = models.filter((ref) => of(ref) !== undefined);
  const served = orAll(known, (ref) => of(ref)?.served !== false);
  return orAll(served, (ref) => of(ref)?.type !== 'scripted');
}

/** The models that fit; all when none fits. */
function orAll(models: readonly ModelRef[], fits: (ref: ModelRef) => boolean): readonly ModelRef[] {
  const fitting = models.filter(fits);
  return fitting.length > 0 ? fitting : models;
}

/** null: the name is unknown. */
function chainOf(named: string, field: keyof ModelChoice, table: ModelTable): readonly string[] | null {
  const aliased = table.aliases.get(named);
  if (aliased) return aliased;
  return field === 'model' && parseModelName(named) ? [named] : null;
}

function unknownName(named: string, field: keyof ModelChoice, table: ModelTable): ErrorEnvelope {
  const aliases = [...table.aliases.keys()].slice(0, LISTED_NAMES);
  const what = field === 'model' ? notAModel(named) : 'not a known alias';
  return errorEnvelope('unknown_model', `"${named}" is ${what}; known aliases: ${aliases.join(', ')}`, {
    field,
    [field]: named,
    aliases,
  });
}

function notAModel(named: string): string {
  const model = MODEL_NAME.exec(named)?.groups?.['model'] ?? '';
  const isMisleading = LEAVES_ADDRESS.test(model);
  return isMisleading
    ? 'not a model name: it must not hold .. ? # \\ % or //, nor begin or end with a slash'
    : 'neither provider:model nor a known alias';
}

function outOfReach(
  named: string,
  field: keyof ModelChoice,
  models: readonly ModelRef[],
  table: ModelTable,
): ErrorEnvelope {
  const missing = [...new Set(models.map(({ provider }) => provider))];
  const remedies = missing.map(remedyFor);
  const subject = missing.length === 1 ? `the provider "${missing[0]}"` : `none of ${missing.join(', ')}`;
  const state = missing.length === 1 ? 'is not available' : 'is available';
  return errorEnvelope(
    'unknown_model',
    `no model for "${named}": ${subject} ${state}; ${remedies.join(', or ')}`,
    { field, [field]: named, missing_providers: missing, providers: [...table.providers.keys()] },
  );
}

function remedyFor(provider: string): string {
  const variables = BUILT_IN_PROVIDERS.get(provider);
  if (variables) return `set ${variables.join(' or ')} for the workers`;
  return `configure providers.${provider}`;
}
