// Whether what is sent to a run is encrypted as the run is.
// Must never let text in clear into the log of a run whose messages are encrypted.
import { refusedAt } from '../../contract/json/field-error.ts';
import type { RunJournal } from '../../store/run/run-journal.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';

interface Sent {
  /** Path of the text in the body. */
  readonly path: string;
  readonly isEncrypted: boolean;
}

/** Throws `DirectiveRefused`, and `ServiceUnavailable` while Redis is away. */
export async function requireSealing(
  runs: Pick<RunJournal, 'isSealed'>,
  requestId: string,
  { path, isEncrypted }: Sent,
): Promise<void> {
  const isSealed = await whileAvailable(() => runs.isSealed(requestId));
  if (isSealed === null || isSealed === isEncrypted) return;
  const message = isEncrypted
    ? 'must be in clear: the run is not encrypted'
    : 'must be encrypted, as the run is: send it with a client that has its key; adjutant has --encrypt';
  throw refusedAt('invalid_body', [{ path, message }]);
}
