// The task of a call whose directive has ended without it: cancelled at its server, then forgotten here.
// Must never forget it before the server has answered: the sweeper has another worker ask again.
import { requestField } from '../../contract/access/tenant.ts';
import type { AttemptParts, Claimed } from './claimed.ts';

/** Whether nothing is left to do. `task`: as the attempt wrote it down; null: there is none. */
export async function withdrawTask(
  { records, logger, logins }: Pick<AttemptParts, 'records' | 'logger' | 'logins'>,
  { envelope, lane, definition }: Pick<Claimed, 'envelope' | 'lane' | 'definition'>,
  task: string | null,
): Promise<boolean> {
  if (task === null) return true;
  const { directive } = envelope;
  const { request_id: requestId, id } = directive;
  const about = { ...requestField(requestId), id, lane };
  try {
    const came =
      (await definition.withdraw?.(directive, lane, task, logins?.accountOf(envelope) ?? undefined)) ??
      NOTHING_TO_STOP;
    if (came.kind === 'away') {
      logger.debug({ ...about, reason: came.reason }, 'a task is not cancelled yet');
      return false;
    }
    await records.journal.dropTask(requestId, id, task);
    logWithdrawn(logger, about, came.kind === 'moot' ? came.reason : null);
    return true;
  } catch (error) {
    logger.debug({ ...about, reason: String(error) }, 'a task is not cancelled yet');
    return false;
  }
}

const NOTHING_TO_STOP = { kind: 'moot', reason: 'calls of its type have no tasks' } as const;

/** `reason`: why it was not cancelled; null: it was. */
function logWithdrawn(
  logger: AttemptParts['logger'],
  about: Record<string, unknown>,
  reason: string | null,
): void {
  if (reason === null) logger.info(about, 'the task of an ended directive is cancelled at its server');
  else logger.info({ ...about, reason }, 'the task of an ended directive needs no cancellation');
}
