// tier_change: uses another model from the next call on, by its alias.
// Must never choose an unknown alias: every later call would fail. The model learns that nothing has changed.
import { addNote, type ControlHandler, ignoreControl } from './control-context.ts';
import { shownName } from './shown-name.ts';

export const tierChange: ControlHandler<'tier_change'> = (context, { type, params }) => {
  const { tier, reason, task_state } = params;
  if (!context.isModelAlias(tier)) {
    const name = shownName(tier);
    const what = name === null ? 'a tool named no tier' : `'${name}' is not a tier`;
    addNote(context, type, `[SYSTEM] Handoff rejected: ${what}. Nothing has changed.`);
    return ignoreControl(context, type, 'unknown_tier');
  }
  const { callId, index, modelAlias: previous } = context;
  const stated = task_state === undefined ? {} : { task_state };
  const data = { call_id: callId, tier, previous, reason, ...stated, metadata: { index } };
  context.signals.push({ type: 'agent.tier_changed', data });
  context.modelAlias = tier;
};
