// Builds what routes and digests directives in a process, by the rules of its configuration.
// Must never leave out a rule.
import { budgetSettings } from '../config/budgets.ts';
import type { Config } from '../config/config.ts';
import type { Registry } from '../worker/executors/registry.ts';
import { createPreparer, type Preparer, type PreparerOptions } from '../directives/prepare.ts';
import { flowOf } from './delivery-turns.ts';
import type { Store } from './store.ts';

/** Between tenants every lane is fair, unless the configuration names those that are. */
const EVERY_LANE = '*';

export function preparerOn(
  { catalog, spans, endNotices, tenants }: Store,
  { executeImmediately }: Registry,
  config: Config,
  caller?: PreparerOptions['caller'],
): Preparer {
  const flow = flowOf(config);
  const fair = config.flow.lanes === undefined ? { ...flow, lanes: [EVERY_LANE] } : flow;
  const areSeveral = config.tenants.size > 0 ? () => true : tenants.areSeveral;
  return createPreparer(catalog, executeImmediately, {
    spans,
    flow: (tenant) => {
      tenants.see(tenant);
      return areSeveral() ? fair : flow;
    },
    cheaper: budgetSettings(config.budgets).rules.flatMap(({ cheaper }) => cheaper ?? []),
    endNotices,
    ...(caller ? { caller } : {}),
  });
}
