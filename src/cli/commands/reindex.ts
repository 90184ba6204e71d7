/** `adjutant reindex`: has the list of requests built anew, and shows how far it is.
 *  It must never end with success before every request is in the list. */
import { pause } from '../../platform/lifecycle.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';

const LOOK_EVERY_MS = 500;

export function addReindex({ program, withClient }: CommandLine): void {
  program
    .command('reindex')
    .description('build the list of requests anew; until it is done the list is incomplete')
    .action(async () => withClient(reindex));
}

/** The service goes on when this is interrupted. */
async function reindex({ client, terminal, json, interrupt }: Invocation): Promise<ExitCode> {
  let found = 0;
  let cursor: string | undefined;
  do {
    const step = await client.reindex({ cursor });
    found += step.noted;
    cursor = step.next ?? undefined;
    terminal.status(`${found} requests found`);
    if (cursor !== undefined) await pause(LOOK_EVERY_MS, interrupt);
  } while (cursor !== undefined && !interrupt.aborted);
  terminal.status('');
  if (interrupt.aborted) return EXIT.interrupted;
  const { total } = (await client.requests({ limit: 1 })).counts;
  terminal.out(json ? JSON.stringify({ found, total }) : `${found} requests found, ${total} listed`);
  return EXIT.done;
}
