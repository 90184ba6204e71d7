// phase_change: another phase of the work begins, one of those that the agent declares.
// Must never be ignored silently: neither by the log nor, where there are phases, by the model.
import { ownMember } from '../../../contract/json/json-object.ts';
import { without } from '../run-state.ts';
import { addNote, type ControlHandler, ignoreControl } from './control-context.ts';
import { shownName, shownNames } from './shown-name.ts';

/** The anchor that shows the phase to the model. */
const PHASE_ANCHOR = 'phase';

export const phaseChange: ControlHandler<'phase_change'> = (context, { type, params: { phase } }) => {
  const names = Object.keys(context.phases);
  if (names.length === 0) return ignoreControl(context, type, 'no_phases');
  const text = ownMember(context.phases, phase);
  if (text === undefined) {
    const name = shownName(phase);
    const what = name === null ? 'the phase that a tool named' : `'${name}'`;
    const known = shownNames(names, ', ');
    addNote(context, type, `[SYSTEM] Phase change rejected: ${what} is not one of ${known}.`);
    return ignoreControl(context, type, 'unknown_phase');
  }
  const { callId, index, phase: previous } = context;
  const data = { call_id: callId, phase, previous, metadata: { index } };
  context.signals.push({ type: 'agent.phase_changed', data });
  context.phase = phase;
  const shown = `You are in the phase ${phase}.${text === '' ? '' : ` ${text}`}`;
  context.anchors = { ...without(context.anchors, PHASE_ANCHOR), [PHASE_ANCHOR]: shown };
};
