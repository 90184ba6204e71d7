/** The model that a caller names: an alias, `provider:model`, or a provider's own name. Decides who answers.
 *  It must never guess between two providers. */
import { type ModelTable, parseModelName } from '../../contract/model/model-name.ts';
import { missingProvider, OF_SCRIPTED, speaks, type WireFamily } from '../../contract/model/model-wire.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';

export type NamedModel = { readonly model: string } | { readonly model_alias: string };

/** Throws `DirectiveRefused`: `not_found`, where no provider answers, or several might. */
export function namedModel(name: string, family: WireFamily, { aliases, providers }: ModelTable): NamedModel {
  if (aliases.has(name)) return { model_alias: name };
  const ref = parseModelName(name);
  const named = ref === null ? undefined : providers.get(ref.provider);
  if (ref !== null && named !== undefined) {
    if (speaks(named.type, family)) return { model: name };
    throw refused(
      `${otherForm(ref.provider, named.type, family)}: ${named.type === 'scripted' ? OF_SCRIPTED : USE_DIRECTIVES}`,
    );
  }
  const speaking = [...providers].filter(([, { type }]) => speaks(type, family));
  const served = speaking.filter(([, provider]) => provider.served !== false);
  const among = served.length > 0 ? served : speaking;
  const [first, ...others] = among;
  if (first === undefined)
    throw refused(
      `no provider is configured that answers in the form of ${family}: ${missingProvider(family, providers)}`,
    );
  const own = others.length === 0 ? first : theOne(among, family);
  if (own !== null) return { model: `${own[0]}:${name}` };
  const names = among.map(([provider]) => `${provider}:${name}`).slice(0, 10);
  throw refused(
    `several providers may have the model "${name.slice(0, 128)}": name one of ${names.join(', ')}`,
  );
}

const USE_DIRECTIVES =
  'call its models with llm_stream or llm_generate, or name a model of another provider (docs/model-endpoint.md)';

/** Requests pass as they are: Bedrock and Vertex have forms of their own, and a script has none. */
function otherForm(provider: string, type: string, family: WireFamily): string {
  return `the provider "${provider}" (${type}) does not answer in the form of ${family}`;
}

/** The provider with the family's own name, or the only one of its type; null: there is none. */
function theOne<P extends readonly [string, { readonly type: string }]>(
  among: readonly P[],
  family: WireFamily,
): P | null {
  const named = among.find(([name]) => name === family);
  const [only, ...others] = among.filter(([, { type }]) => type === family);
  return named ?? (others.length === 0 ? (only ?? null) : null);
}

function refused(detail: string): DirectiveRefused {
  return new DirectiveRefused(problem('not_found', { detail }));
}

/** Names that a caller of the family can use: aliases first, then `provider:model` of their chains and of `configured`. */
export function listedModels(
  family: WireFamily,
  { aliases, providers }: ModelTable,
  configured: ReadonlyMap<string, readonly string[]>,
): { readonly id: string; readonly provider: string }[] {
  const typeOf = (name: string): string | null => {
    const ref = parseModelName(name);
    const provider = ref === null ? undefined : providers.get(ref.provider);
    return provider !== undefined && speaks(provider.type, family) ? (ref?.provider ?? null) : null;
  };
  const ofAliases = [...aliases].flatMap(([id, chain]) => {
    const provider = chain.map(typeOf).find((found) => found !== null);
    return provider === undefined ? [] : [{ id, provider }];
  });
  const names = [
    ...[...aliases.values()].flat(),
    ...[...configured].flatMap(([provider, models]) => models.map((model) => `${provider}:${model}`)),
  ];
  const ofProviders = [...new Set(names)].flatMap((id) => {
    const provider = typeOf(id);
    return provider === null ? [] : [{ id, provider }];
  });
  return [...ofAliases, ...ofProviders];
}

/** The list in the form of the family's API. */
export function modelList(
  family: WireFamily,
  models: readonly { readonly id: string; readonly provider: string }[],
): object {
  switch (family) {
    case 'openai': {
      const data = models.map(({ id, provider }) => ({
        id,
        object: 'model',
        created: 0,
        owned_by: provider,
      }));
      return { object: 'list', data };
    }
    case 'anthropic': {
      const created_at = '1970-01-01T00:00:00Z';
      const data = models.map(({ id }) => ({ type: 'model', id, display_name: id, created_at }));
      return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
    }
    case 'google':
      return { models: models.map(({ id }) => ({ name: `models/${id}`, displayName: id })) };
  }
}
