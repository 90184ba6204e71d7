/** The protections of announcements on a cluster, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

export const ANNOUNCER_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'announced-by-old-clock': [
    patch('announced-by-old-clock', 'if (known === null) return byItsClock(members, afterMs);'),
  ],
  'announced-by-late-answer': [patch('announced-by-late-answer', 'if (connection.isCluster)')],
};
