// The task of a call whose directive has ended without it: cancelled at its server, then forgotten here.
// Must never forget it before the server has answered: the sweeper has another worker ask again.
import type { AttemptParts, Claimed } from './claimed.ts';

/** Whether nothing is left to do. `task`: as the attempt wrote it down; null: there is none. */
export async function withdrawTask(
  { records, logger }: Pick<AttemptParts, 'records' | 'logger'>,
  { envelope: { directive }, lane, definition }: Pick<Claimed, 'envelope' | 'lane' | 'definition'>,
  task: string | null,
): Promise<boolean> {
  if (task === null) return true;
  const { request_id: requestId, id } = directive;
  try {
    if ((await definition.withdraw?.(directive, lane, task)) === false) return false;
    await records.journal.dropTask(requestId, id, task);
  } catch (error) {
    logger.debug({ request_id: requestId, id, lane, error: String(error) }, 'a task is not cancelled yet');
    return false;
  }
  logger.info(
    { request_id: requestId, id, lane },
    'the task of an ended directive is cancelled at its server',
  );
  return true;
}
