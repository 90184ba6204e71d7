/** The protections of appends that share a call, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch, SCRIPTS } from './patch.ts';

const CALLS = 'src/journal/append-calls.ts';

export const APPEND_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'append-fence': [
    patch(
      `${SCRIPTS}/append.lua`,
      "if record[1] ~= 'running' or record[2] ~= fence then",
      "if record[1] ~= 'running' then",
    ),
  ],
  'append-repeat': [patch(`${SCRIPTS}/append.lua`, 'if record[4] == last_id then', 'if false then')],
  'append-apart': [
    patch(
      `${SCRIPTS}/append.lua`,
      'local ran, verdict = pcall(append, ',
      'local ran, verdict = true, append(',
    ),
  ],
  'append-counted': [patch(`${SCRIPTS}/append.lua`, "(record[5] or '0') + bytes)", "(record[5] or '0'))")],
  'append-soon': [
    patch(CALLS, 'schedule(areMany() && together && !soon);', 'schedule(areMany() && together);'),
  ],
  'append-end': [patch(CALLS, 'if (hold === undefined) return;', 'if (hold) return;')],
  'append-bound': [patch(CALLS, 'if (isFull) send();', '')],
};
