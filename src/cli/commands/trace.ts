/** `adjutant trace`: draws what a request did and when, from the journal alone.
 *  It must never wait for the end of anything. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { traceFamily, tracesOf } from '../trace-family.ts';
import { traceLines } from '../trace-lines.ts';

export interface TraceOptions {
  /** The most directives of each request. Default: as the service gives. */
  readonly limit?: number;
}

const MOST_LINES = 2_000;

export async function trace(
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
