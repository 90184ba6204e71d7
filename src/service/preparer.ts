// Builds what routes and digests directives in a process, by the rules of its configuration.
// Must never leave out a rule.
import { budgetSettings } from '../config/budgets.ts';
import type { Config } from '../config/config.ts';
import type { Registry } from '../worker/executors/registry.ts';
import { createPreparer, type Preparer, type PreparerOptions } from '../directives/prepare.ts';
import type { Store } from './store.ts';
import { flowSettings } from '../config/flow.ts';
import { webhookLane } from '../store/catalog/route.ts';
import type { FlowRule, FlowSettings } from '../contract/directive/flow.ts';

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

/** No rule of an operator has a dot in its name. */
const RULE_NAME = 'callers.host';
const ANYBODY = { tenant: null, type: null, tool: null, tag: null };

/** Those of the configuration, and where callers may give addresses: a turn for each tenant, and half of the places for one host of it. */
export function flowOf({ flow, webhooks: { callers_may_give_urls: callers } }: Config): FlowSettings {
  const settings = flowSettings(flow);
  if (callers === undefined) return settings;
  const lane = webhookLane(null);
  const rule: FlowRule = {
    name: RULE_NAME,
    match: { ...ANYBODY, lane },
    concurrency: { by: ['tenant', 'host'], limit: Math.ceil(callers.concurrency / 2) },
    rate: null,
    priority: null,
  };
  return { ...settings, lanes: [...settings.lanes, lane], rules: [...settings.rules, rule] };
}
