/** `adjutant control`: serves the control tools on stdin and stdout, without Redis or configuration.
 *  It must never print to stdout: the client reads there. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

export interface ControlOptions {
  /** Each a name, or `name=description`. Default: any name is accepted. */
  readonly tiers?: readonly string[];
  readonly agents?: readonly string[];
}

/** Resolves when the client has closed the input, or when `stop` aborts. */
export async function control(
  terminal: Terminal,
  stop: AbortSignal,
  { version, tiers = [], agents = [] }: ControlOptions & { readonly version: string },
): Promise<ExitCode> {
  const { serveControlStdio } = await import('../../control-server/stdio.ts');
  if (process.stdin.isTTY)
    terminal.err('This speaks MCP on stdin and stdout; an MCP client starts it. Ctrl-C ends it.');
  const known = { tiers: tiers.map(named), agents: agents.map(named) };
  const streams = { input: process.stdin, output: process.stdout };
  await serveControlStdio({ version, ...known }, streams, stop);
  return EXIT.done;
}

function named(text: string): { name: string; description?: string } {
  const [name = '', ...rest] = text.split('=');
  return rest.length === 0 ? { name } : { name, description: rest.join('=') };
}
