// phase_change: this strategy has no phases.
// Must never be silent about it.
import { type ControlHandler, ignoreControl } from './control-context.ts';

export const phaseChange: ControlHandler<'phase_change'> = (context, { type }) => {
  ignoreControl(context, type, 'no_phases');
};
