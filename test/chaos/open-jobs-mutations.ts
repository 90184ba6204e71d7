/** The protections of the jobs that are added for what is open, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch, SCRIPTS } from './patch.ts';

export const OPEN_JOBS_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'first-job-of-ended': [
    patch(`${SCRIPTS}/job-add.lua`, 'if not is_of_ended(data) and add_job', 'if add_job'),
  ],
  'first-job-looked-at': [patch('src/queue/open-jobs.ts', '    await removeEnded(lane, [data]);\n', '')],
  'open-job-looked-at': [
    patch('src/queue/open-jobs.ts', 'if (scriptedBase(lane) === null) await removeEnded(lane, jobs);', ''),
  ],
  'job-of-left-task': [patch('src/queue/lanes.ts', 'evenEnded ? addFirst : enqueueFirst', 'enqueueFirst')],
};
