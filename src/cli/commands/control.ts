/** `adjutant control`: serves the control tools on stdin and stdout, without Redis or configuration.
 *  It must never print to stdout: the client reads there. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, LocalInvocation } from '../invocation.ts';

export interface ControlOptions {
  /** Each a name, or `name=description`. Default: any name is accepted. */
  readonly tiers?: readonly string[];
  readonly agents?: readonly string[];
}

export function addControl({ program, local }: CommandLine): void {
  program
    .command('control')
    .description('serve the control tools over MCP: to-do list, handoff, delegation, completion of a run')
    .option('--tiers <names...>', 'model aliases that a handoff may name, as name or name=description')
    .option('--agents <names...>', 'agents that may be delegated to, as name or name=description')
    .action(async (given: ControlOptions) => local(async (place) => control(place, given)));
}

/** Resolves when the client has closed the input, or on an interrupt. */
async function control(
  { terminal, interrupt, version }: LocalInvocation,
  { tiers = [], agents = [] }: ControlOptions,
): Promise<ExitCode> {
  const { serveControlStdio } = await import('../../servers/control/stdio.ts');
  if (process.stdin.isTTY)
    terminal.err('This speaks MCP on stdin and stdout; an MCP client starts it. Ctrl-C ends it.');
  const known = { tiers: tiers.map(named), agents: agents.map(named) };
  const streams = { input: process.stdin, output: process.stdout };
  await serveControlStdio({ version, ...known }, streams, interrupt);
  return EXIT.done;
}

function named(text: string): { name: string; description?: string } {
  const [name = '', ...rest] = text.split('=');
  return rest.length === 0 ? { name } : { name, description: rest.join('=') };
}
