/** Whether a run goes on: what is said of one that no engine works on.
 *  It must never say so of a run that has ended. */
import type { DirectiveClient } from '../contract/directive-client.ts';
import { type RunView, TERMINAL_RUN_STATUSES } from '../contract/run.ts';
import type { Wait } from '../contract/waiting.ts';

/** Why nobody takes a turn of the run; null: an engine works, or the run has ended. */
export async function engineAbsence(
  run: RunView | undefined,
  client: Pick<DirectiveClient, 'lanes'>,
): Promise<Wait | null> {
  if (run === undefined || TERMINAL_RUN_STATUSES.has(run.status)) return null;
  const { lanes } = await client.lanes();
  const waits = lanes.find(({ name }) => name === 'run')?.waits;
  return waits?.reason === 'no_worker' ? waits : null;
}
