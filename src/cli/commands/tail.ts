/** `adjutant tail`: the signals of a request as they arrive, until it is closed.
 *  It must never skip or repeat one. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { signalLine } from '../signal-line.ts';

export interface TailOptions {
  readonly after?: number;
}

export async function tail(
  { client, terminal, json, interrupt }: Invocation,
  requestId: string,
  { after = 0 }: TailOptions,
): Promise<ExitCode> {
  for await (const signal of client.signals(requestId, { after, signal: interrupt })) {
    terminal.out(json ? JSON.stringify(signal) : signalLine(signal, terminal.paint));
  }
  return interrupt.aborted ? EXIT.interrupted : EXIT.done;
}
