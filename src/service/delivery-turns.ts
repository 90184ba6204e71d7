// Rules of flow that the service sets itself: deliveries to addresses of callers take turns.
// Must never let one silent address hold all places, nor one tenant those of the others.
import type { Config } from '../config/config.ts';
import { flowSettings } from '../config/flow.ts';
import { webhookLane } from '../store/catalog/route.ts';
import type { FlowRule, FlowSettings } from '../contract/directive/flow.ts';

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
