/** Whether the request that a URL names is a run of the agent whose page is open.
 *  It must never let a person talk to a run of another agent. */
import type { RequestView } from '../../../src/contract/request/request-view.ts';

/** `unknown`: the request is not read yet. */
export type WhoseRun = 'unknown' | 'ours' | 'other';

export function whoseRun(view: Pick<RequestView, 'run'> | undefined | null, agent: string): WhoseRun {
  if (view === undefined || view === null) return 'unknown';
  return view.run?.agent === agent ? 'ours' : 'other';
}
