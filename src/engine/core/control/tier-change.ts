// tier_change: another model from the next call on, by its alias.
// Must never choose an alias that nothing can be resolved from: every later call would fail.
import { type ControlHandler, ignoreControl } from './control-context.ts';

export const tierChange: ControlHandler<'tier_change'> = (context, { type, params }) => {
  if (context.isModelAlias(params.tier)) context.modelAlias = params.tier;
  else ignoreControl(context, type, 'unknown_tier');
};
