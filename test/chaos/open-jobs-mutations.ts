/** The protections of the jobs that are added for what is open, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

export const OPEN_JOBS_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'first-job-of-ended': [
    patch('job-of-ended', "if add_job(id, name, data, options, timestamp, false, where == 'first') then"),
  ],
  'first-job-looked-at': [patch('first-job-looked-at', '')],
  'open-job-looked-at': [patch('open-job-looked-at', '')],
  'job-of-left-task': [patch('job-of-left-task', 'await (enqueueFirst)(lane, data);')],
};
