/** `adjutant mcp`: the tools of the service for an MCP host that starts programs, on stdin and stdout.
 *  It must never print to stdout: the host reads there. */
import { randomBytes } from 'node:crypto';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { sharedSeal } from '../options/seal-file.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { addLogins } from './mcp-login.ts';

interface McpOptions {
  /** Only this server's tools, under their own names. */
  readonly server?: string;
  /** Members of `_meta` in which the host names a call. */
  readonly keyFrom?: readonly string[];
}

const MAX_LINE_CHARACTERS = 2_000;

export function addMcp(line: CommandLine): void {
  const verbs = line.program
    .command('mcp')
    .description(
      'an MCP server on stdin and stdout: the tools of the service, for a host that starts programs',
    )
    .option('--server <name>', 'only the tools of this server, under their own names')
    .option('--key-from <members...>', 'members of _meta that name a call of this host: claudecode/toolUseId')
    .action(async (given: McpOptions) =>
      line.withClient(async (invocation) => mcp(invocation, line.version, given)),
    );
  addLogins(verbs, line);
}

/** Resolves when the host has closed the input, or on an interrupt. Calls that have not ended go on. */
async function mcp(
  { client, terminal, interrupt }: Invocation,
  version: string,
  { server, keyFrom: keysFrom = [] }: McpOptions,
): Promise<ExitCode> {
  const { serveToolsStdio } = await import('../../http/mcp/stdio.ts');
  if (process.stdin.isTTY)
    terminal.err('This speaks MCP on stdin and stdout; an MCP host starts it. Ctrl-C ends it.');
  const scope = server === undefined ? { kind: 'all' as const } : { kind: 'server' as const, server };
  const onError = ({ message }: Error): void => terminal.err(oneLine(message, MAX_LINE_CHARACTERS));
  const streams = { input: process.stdin, output: process.stdout };
  const key = await sealOrOwn(terminal);
  const sealingKey = async (): Promise<string> => key;
  await serveToolsStdio({ client, version, onError, scope, keysFrom, sealingKey }, streams, interrupt);
  return EXIT.done;
}

/** Without one that is shared, what this process seals is good until it ends. */
async function sealOrOwn(terminal: Terminal): Promise<string> {
  const shared = await sharedSeal(process.cwd()).catch(({ message }: Error) => {
    terminal.err(`Held calls and tasks end with this process: ${message}.`);
    return null;
  });
  return shared ?? randomBytes(32).toString('hex');
}
