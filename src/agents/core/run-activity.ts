// The activity of a run between its turns, for counts of runs. Never used for a decision of the run itself.
import type { RunActivity } from '../../store/run/run-activity-index.ts';
import type { RunDocument } from '../turn/transition.ts';
import { stateOf } from './run-state.ts';

/** null: it has ended. An approval counts before what runs beside it: a person has to act. */
export function activityOf(document: RunDocument): RunActivity | null {
  const { ended, held, question } = stateOf(document);
  if (ended !== null && ended !== undefined) return null;
  if (Object.keys(held ?? {}).length > 0 || (question ?? null) !== null) return 'approval';
  return document.status === 'waiting' ? 'waiting' : 'running';
}
