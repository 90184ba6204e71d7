/** The protections of announcements on a cluster, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

export const ANNOUNCER_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'announced-by-old-clock': [patch('src/journal/announcer.ts', ' || sinceMs > FRESH_MS', '')],
  'announced-by-late-answer': [
    patch('src/journal/announcer.ts', ' && readAt - askedAt <= LONGEST_ANSWER_MS', ''),
  ],
};
