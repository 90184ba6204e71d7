/** What keeps the counts of runs true.
 *  It must name the test that notices each. */
import { type Patch, patch } from './patch.ts';

const COUNTED_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'counted-runs': [patch('counted-runs', '')],
  'counted-piece': [patch('counted-piece', '')],
  'counted-live': [patch('counted-live', 'activity?.note(requestId, null);')],
};

/** With the test that notices them. */
export const COUNTED_NOTICED = [COUNTED_MUTATIONS, 'test/integration/agents/counted-runs.test.ts'] as const;
