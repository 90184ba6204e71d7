/** `adjutant payload`: the whole payload of a successful directive, also when its signal holds only the beginning.
 *  It must never leave out a part of it. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { unchanged, payloadText } from '../payload-text.ts';
import type { Terminal } from '../terminal.ts';

export function addPayload({ program, withClient }: CommandLine): void {
  program
    .command('payload <request> <directive>')
    .description('print the whole answer of a directive whose signal holds only the beginning')
    .action(async (request: string, directive: string) =>
      withClient(async (invocation) => payload(invocation, request, directive)),
    );
}

async function payload(
  { client, terminal, json }: Invocation,
  requestId: string,
  directiveId: string,
): Promise<ExitCode> {
  const whole = await client.payload(requestId, directiveId);
  if (json) terminal.out(JSON.stringify(whole));
  else printPayload(terminal, whole);
  return EXIT.done;
}

/** Text and JSON as lines; files and programs get the text unchanged. */
export function printPayload(terminal: Terminal, whole: unknown): void {
  terminal.out(terminal.liveOut ? payloadText(whole) : payloadText(whole, unchanged));
}
