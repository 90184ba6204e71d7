/** `adjutant prioritize`: another priority for a directive that waits.
 *  It must never say that it goes first: it has a head start. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { priority } from '../options/submission-options.ts';

export function addPrioritize({ program, withClient }: CommandLine): void {
  program
    .command('prioritize <request> <directive>')
    .argument('<0-9>', 'its new priority', priority)
    .description('change the priority of a waiting directive')
    .action(async (request: string, directive: string, level: number) =>
      withClient(async (invocation) => prioritize(invocation, request, directive, level)),
    );
}

async function prioritize(
  { client, terminal, json }: Invocation,
  requestId: string,
  directiveId: string,
  level: number,
): Promise<ExitCode> {
  const changed = await client.prioritize(requestId, directiveId, level);
  terminal.out(json ? JSON.stringify(changed) : `${changed.id}  waits with priority ${changed.priority}`);
  return EXIT.done;
}
