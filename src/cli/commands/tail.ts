/** `adjutant tail`: prints the signals of a request as they arrive, until it is closed.
 *  It must never skip or repeat one. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { createSignalLines } from '../following/signal-lines.ts';
import { wholeNumber } from '../options/option-values.ts';

interface TailOptions {
  readonly after?: number;
}

export function addTail({ program, withClient }: CommandLine): void {
  program
    .command('tail <request>')
    .description('print the signals of a request, until it is closed')
    .option('--after <sequence>', 'only later ones', wholeNumber)
    .action(async (request: string, given: TailOptions) =>
      withClient(async (invocation) => tail(invocation, request, given)),
    );
}

async function tail(
  { client, terminal, json, interrupt }: Invocation,
  requestId: string,
  { after = 0 }: TailOptions,
): Promise<ExitCode> {
  const lines = createSignalLines(terminal.out, terminal.paint);
  try {
    for await (const signal of client.signals(requestId, { after, signal: interrupt })) {
      if (json) terminal.out(JSON.stringify(signal));
      else lines.add(signal);
    }
  } finally {
    lines.end();
  }
  return interrupt.aborted ? EXIT.interrupted : EXIT.done;
}
