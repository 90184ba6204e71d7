// phase_change: ignored, since this strategy has no phases.
// Must never be ignored silently.
import { type ControlHandler, ignoreControl } from './control-context.ts';

export const phaseChange: ControlHandler<'phase_change'> = (context, { type }) => {
  ignoreControl(context, type, 'no_phases');
};
