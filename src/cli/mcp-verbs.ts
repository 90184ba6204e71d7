/** The verbs about MCP: the service as a server for a host, and the logins of the service at servers.
 *  It must never do the work of a verb. */
import type { Command } from 'commander';
import { mcp, type McpOptions } from './commands/mcp.ts';
import { login, type LoginOptions, logout } from './commands/mcp-login.ts';
import type { ExitCode } from './failure.ts';
import type { WithClient } from './invocation.ts';
import { wholeNumber } from './option-values.ts';
import type { Terminal } from './terminal.ts';

export interface McpVerbsOptions {
  readonly terminal: Terminal;
  readonly interrupt: AbortSignal;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Finish = (code: ExitCode) => void;

const CONFIG = ['--config <file>', 'the configuration; default: adjutant.json here'] as const;

export function addMcpVerbs(
  program: Command,
  withClient: WithClient,
  options: McpVerbsOptions,
  finish: Finish,
): void {
  const verbs = program
    .command('mcp')
    .description(
      'an MCP server on stdin and stdout: the tools of the service, for a host that starts programs',
    )
    .option('--server <name>', 'only the tools of this server, under their own names')
    .option('--key-from <members...>', 'members of _meta that name a call of this host: claudecode/toolUseId')
    .action(async (given: McpOptions) =>
      withClient(async (invocation) => mcp(invocation, options.version, given)),
    );
  addLogin(verbs, program, options, finish);
  addLogout(verbs, program, options, finish);
}

function addLogin(verbs: Command, program: Command, options: McpVerbsOptions, finish: Finish): void {
  verbs
    .command('login <server>')
    .description(
      'log the service in at an MCP server that asks for OAuth: for all workers, until you log out',
    )
    .option(...CONFIG)
    .option(
      '--scope <scopes...>',
      'ask for these, beside those of the configuration and of the last login',
      [],
    )
    .option('--no-browser', 'only print the address')
    .option('--time-limit <seconds>', 'how long to wait for the browser', wholeNumber, 300)
    .action(async (server: string, given: Omit<LoginOptions, 'json'>) => {
      const { json } = program.opts<{ json: boolean }>();
      finish(await login(options, server, { ...given, json }));
    });
}

function addLogout(verbs: Command, program: Command, options: McpVerbsOptions, finish: Finish): void {
  verbs
    .command('logout <server>')
    .description('forget the login at an MCP server, for all workers')
    .option(...CONFIG)
    .action(async (server: string, given: { config?: string }) => {
      const { json } = program.opts<{ json: boolean }>();
      finish(await logout(options, server, { ...given, json }));
    });
}
