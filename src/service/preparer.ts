// Builds what routes and digests directives in a process, by the rules of its configuration.
// Must never leave out a rule.
import { budgetSettings } from '../config/budgets.ts';
import type { Config } from '../config/config.ts';
import type { Registry } from '../executors/registry.ts';
import { createPreparer, type Preparer, type PreparerOptions } from '../queue/prepare.ts';
import { flowOf } from './delivery-turns.ts';
import type { Store } from './store.ts';

export function preparerOn(
  { catalog, spans, endNotices }: Store,
  { executeImmediately }: Registry,
  config: Config,
  caller?: PreparerOptions['caller'],
): Preparer {
  const flow = flowOf(config);
  return createPreparer(catalog, executeImmediately, {
    spans,
    flow,
    cheaper: budgetSettings(config.budgets).rules.flatMap(({ cheaper }) => cheaper ?? []),
    endNotices,
    ...(caller ? { caller } : {}),
  });
}
