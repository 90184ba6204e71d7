/** `adjutant cancel`: cancels a directive, or all of a request, and prints the effect.
 *  It must never call a directive cancelled that may still be executed. */
import type { CancelledDirective } from '../../contract/directive/cancellation.ts';
import { engineAbsence } from '../following/run-lines.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { ownMember } from '../../contract/json/json-object.ts';

interface CancelOptions {
  readonly reason?: string;
}

const MEANING: Readonly<Record<CancelledDirective['status'], string>> = {
  cancelled: 'cancelled',
  requested: 'its attempt is being aborted',
  ended: 'had ended before',
};

export function addCancel({ program, withClient }: CommandLine): void {
  program
    .command('cancel <request> [directive]')
    .description('cancel one directive, or all of a request')
    .option('--reason <text>', 'shown in the terminal signal')
    .action(async (request: string, directive: string | undefined, given: CancelOptions) =>
      withClient(async (invocation) => cancel(invocation, request, directive, given)),
    );
}

async function cancel(
  { client, terminal, json }: Invocation,
  requestId: string,
  directiveId: string | undefined,
  options: CancelOptions,
): Promise<ExitCode> {
  const cancellation = await client.cancel(requestId, directiveId, options);
  const rows = cancellation.directives.map(({ id, status }) => [id, ownMember(MEANING, status) ?? status]);
  const run = json || directiveId !== undefined ? [] : await runRows(client, requestId);
  if (json) terminal.out(JSON.stringify(cancellation));
  else terminal.rows([...rows, ...run]);
  return EXIT.done;
}

/** Rows of a run, which its engine ends. Empty for a key that may cancel and not read. */
async function runRows(client: DirectiveClient, requestId: string): Promise<string[][]> {
  try {
    const run = (await client.request(requestId))?.run;
    if (run === undefined) return [];
    if (run.cancel_requested !== true) return [['run', run.status]];
    const absence = await engineAbsence(run, client);
    return [
      ['run', absence === null ? 'requested; its engine ends it' : 'requested; it ends when an engine works'],
    ];
  } catch (error) {
    if (error instanceof DirectiveRefused) return [];
    throw error;
  }
}
