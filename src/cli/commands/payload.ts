/** `adjutant payload`: the whole payload of a directive that succeeded, also where its signal holds its beginning only.
 *  It must never leave out a part of it. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { asSaid, payloadText } from '../payload-text.ts';
import type { Terminal } from '../terminal.ts';

export async function payload(
  { client, terminal, json }: Invocation,
  requestId: string,
  directiveId: string,
): Promise<ExitCode> {
  const whole = await client.payload(requestId, directiveId);
  if (json) terminal.out(JSON.stringify(whole));
  else tellPayload(terminal, whole);
  return EXIT.done;
}

/** Text and JSON as lines; a file or a program is given the text as it is. */
export function tellPayload(terminal: Terminal, whole: unknown): void {
  terminal.out(terminal.liveOut ? payloadText(whole) : payloadText(whole, asSaid));
}
