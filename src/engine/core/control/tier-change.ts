// tier_change: uses another model from the next call on, by its alias.
// Must never choose an unknown alias: every later call would fail.
import { type ControlHandler, ignoreControl } from './control-context.ts';

export const tierChange: ControlHandler<'tier_change'> = (context, { type, params }) => {
  const { tier, reason } = params;
  if (!context.isModelAlias(tier)) return ignoreControl(context, type, 'unknown_tier');
  const { callId, index, modelAlias: previous } = context;
  const data = { call_id: callId, tier, previous, reason, metadata: { index } };
  context.signals.push({ type: 'agent.tier_changed', data });
  context.modelAlias = tier;
};
