// tier_change: uses another model from the next call on, by its alias.
// Must never choose an unknown alias: every later call would fail. The model learns that nothing has changed.
import { addNote, type ControlHandler, ignoreControl } from './control-context.ts';

export const tierChange: ControlHandler<'tier_change'> = (context, { type, params }) => {
  const { tier, reason } = params;
  if (!context.isModelAlias(tier)) {
    addNote(context, `Handoff rejected: '${tier.slice(0, 100)}' is not a tier. Nothing has changed.`);
    return ignoreControl(context, type, 'unknown_tier');
  }
  const { callId, index, modelAlias: previous } = context;
  const data = { call_id: callId, tier, previous, reason, metadata: { index } };
  context.signals.push({ type: 'agent.tier_changed', data });
  context.modelAlias = tier;
};
