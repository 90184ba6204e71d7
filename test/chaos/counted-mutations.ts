/** What keeps the counts of runs true.
 *  It must name the test that notices each. */
import { type Patch, patch } from './patch.ts';

const COUNTED_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'counted-runs': [patch('src/queue/sweep.ts', '    await lookAtCounted();\n', '')],
  'counted-piece': [patch('src/journal/run-activity-index.ts', '      cursor = next;\n', '')],
  'counted-live': [patch('src/queue/counted-runs.ts', 'if (heads[at]?.ended !== false) ', '')],
};

/** With the test that notices them. */
export const COUNTED_NOTICED = [COUNTED_MUTATIONS, 'test/integration/engine/counted-runs.test.ts'] as const;
