/** `adjutant trace`: draws what a request did and when, from the journal alone.
 *  It must never wait for the end of anything. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { traceFamily, tracesOf } from '../trace/trace-family.ts';
import { traceLines } from '../trace/trace-lines.ts';
import { wholeNumber } from '../options/option-values.ts';

interface TraceOptions {
  /** The most directives of each request. Default: as the service gives. */
  readonly limit?: number;
}

const MOST_LINES = 2_000;

export function addTrace({ program, withClient }: CommandLine): void {
  program
    .command('trace <request>')
    .description('draw the course of a request: attempts, waits, turns, children')
    .option('--limit <count>', 'at most this many directives of each request, up to 1000', wholeNumber)
    .action(async (request: string, given: TraceOptions) =>
      withClient(async (invocation) => trace(invocation, request, given)),
    );
}

async function trace(
  { client, terminal, json }: Invocation,
  requestId: string,
  { limit }: TraceOptions,
): Promise<ExitCode> {
  const family = await traceFamily(client, requestId, { directives: limit });
  const lines = json
    ? tracesOf(family).map((each) => JSON.stringify(each))
    : traceLines(family, { paint: terminal.paint, mostLines: MOST_LINES });
  for (const line of lines) terminal.out(line);
  return EXIT.done;
}
