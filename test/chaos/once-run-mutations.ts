/** How the protections of runs under a key are removed.
 *  It must never hold a patch that no longer fits the sources. */
import { type Patch, patch, SCRIPTS } from './patch.ts';

/** Protections of runs under a key. */
export const ONCE_RUN_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'once-run-held': [patch(`${SCRIPTS}/once-release.lua`, 'if is_open(part, before) then', 'if false then')],
  'once-run-to-end': [patch(`${SCRIPTS}/once-release.lua`, ' or (id == RUN and is_to_end(STATE))', '')],
  'once-run-chain': [patch(`${SCRIPTS}/run-start-once.lua`, 'if not open.behind then', 'if true then')],
  'once-run-begun': [
    patch(`${SCRIPTS}/run-start-once.lua`, 'open.is_new and open.begins_at > now', 'open.is_new'),
  ],
  'once-run-latest': [
    patch(
      `${SCRIPTS}/run-start-once.lua`,
      'math.max(now, math.min(own_at, latest))',
      'math.max(now, own_at)',
    ),
  ],
  'once-run-cancelled': [patch('src/queue/sweep-runs.ts', '!ended && isReplaced && !isCancelled', 'false')],
  'once-run-ids': [
    patch(
      'src/engine/stored-text.ts',
      '{ ...(spec as StoredSpec), ...own }',
      '{ ...own, ...(spec as StoredSpec) }',
    ),
  ],
};
