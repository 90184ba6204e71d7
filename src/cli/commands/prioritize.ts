/** `adjutant prioritize`: another priority for a directive that waits.
 *  It must never say that it goes first: it has a head start. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { Invocation } from '../invocation.ts';

export async function prioritize(
  { client, terminal, json }: Invocation,
  requestId: string,
  directiveId: string,
  priority: number,
): Promise<ExitCode> {
  const changed = await client.prioritize(requestId, directiveId, priority);
  terminal.out(json ? JSON.stringify(changed) : `${changed.id}  waits with priority ${changed.priority}`);
  return EXIT.done;
}
