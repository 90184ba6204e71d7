/** `adjutant servers logs`: what the program of an MCP server has written to stderr.
 *  It must never print a control character that a server wrote. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { instantText } from '../table.ts';
import { oneLine } from '../terminal.ts';

export function addServers({ program, withClient }: CommandLine): void {
  program
    .command('servers')
    .description('the MCP servers of the service')
    .command('logs <name>')
    .description('print the newest lines that the program of a server has written to stderr')
    .action(async (name: string) => withClient(async (invocation) => logs(invocation, name)));
}

async function logs({ client, terminal, json }: Invocation, name: string): Promise<ExitCode> {
  const { lines } = await client.serverOutput(name);
  for (const line of lines) {
    const { at, worker, text, suppressed = 0 } = line;
    if (!json && suppressed > 0) terminal.err(terminal.paintErr('dim', `${suppressed} lines left out`));
    terminal.out(
      json ? JSON.stringify(line) : `${instantText(at)}  ${worker.split('.')[0]}  ${oneLine(text, 2_000)}`,
    );
  }
  if (!json && lines.length === 0) terminal.err('The server has written nothing to stderr in the last day.');
  return EXIT.done;
}
