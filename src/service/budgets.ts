// Joins the budgets of the configuration with its models: which models an alias has, and what their calls are listed under.
// Must never know what is spent.
import { budgetSettings } from '../config/budgets.ts';
import type { Config } from '../config/config.ts';
import {
  DEFAULT_ALIASES,
  type ModelTable,
  parseModelName,
  resolveModels,
} from '../contract/model/model-name.ts';
import type { BudgetOptions } from '../worker/executors/llm-budget.ts';
import { createModelBudgets } from '../store/limits/model-budgets.ts';
import type { Store } from './store.ts';

export function budgetsOn(
  { connection, keys }: Pick<Store, 'connection' | 'keys'>,
  config: Config,
  { providers, aliases: configured }: ModelTable,
  onError: (error: Error) => void,
): Omit<BudgetOptions, 'providers'> {
  const aliases = new Map([...DEFAULT_ALIASES, ...configured]);
  const labels = labelsOf(config, aliases);
  return {
    budgets: createModelBudgets({
      connection,
      keys,
      settings: budgetSettings(config.budgets),
      isOf: (model, alias) => aliases.get(alias)?.includes(model) === true,
      labelOf: (model) => labels.get(model) ?? `${parseModelName(model)?.provider ?? ''}:*`,
      onError,
    }),
    modelsOf(name) {
      const resolved = resolveModels({ model: name }, { providers, aliases });
      return resolved.ok ? resolved.models.map((ref) => ref.name) : [];
    },
  };
}

/** Alias of a model: the one whose first choice it is, else one that it is in, else its name where it has settings of its own. */
function labelsOf(
  { providers, models }: Config,
  aliases: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, string> {
  const named = [...providers].flatMap(([provider, own]) =>
    [...own.models.keys()].map((model) => [`${provider}:${model}`, `${provider}:${model}`] as const),
  );
  const chains = [...models, ...aliases].toReversed();
  const among = chains.flatMap(([alias, chain]) => chain.map((model) => [model, alias] as const));
  const first = chains.flatMap(([alias, [model]]) => (model === undefined ? [] : [[model, alias] as const]));
  return new Map([...named, ...among, ...first]);
}
