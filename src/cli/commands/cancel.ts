/** `adjutant cancel`: cancels a directive, or all of a request, and prints the effect.
 *  It must never call a directive cancelled that may still be executed. */
import type { CancelledDirective } from '../../contract/cancellation.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { table } from '../table.ts';
import { ownMember } from '../../contract/own-member.ts';

export interface CancelOptions {
  readonly reason?: string;
}

const MEANING: Readonly<Record<CancelledDirective['status'], string>> = {
  cancelled: 'cancelled',
  requested: 'its attempt is being aborted',
  ended: 'had ended before',
};

export async function cancel(
  { client, terminal, json }: Invocation,
  requestId: string,
  directiveId: string | undefined,
  options: CancelOptions,
): Promise<ExitCode> {
  const cancellation = await client.cancel(requestId, directiveId, options);
  const rows = cancellation.directives.map(({ id, status }) => [id, ownMember(MEANING, status) ?? status]);
  const lines = json ? [JSON.stringify(cancellation)] : table(rows);
  for (const line of lines) terminal.out(line);
  return EXIT.done;
}
