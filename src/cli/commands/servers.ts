/** `adjutant servers …`: adds, removes, tests and lists servers at runtime, and prints what the program of a server has
 *  written to stderr. It must never print a control character that a server wrote. */
import type { Command } from 'commander';
import type { RuntimeServer, ServerTest } from '../../contract/tool/runtime-server.ts';
import { addDefinitionVerbs, CHANGE_HEAD, changeRow, definitionIn } from '../definitions.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { counted } from '../following/run-lines.ts';
import { instantText } from '../table.ts';
import { oneLine } from '../terminal.ts';

export function addServers({ program, withClient }: CommandLine): void {
  const servers = program.command('servers').description('the MCP servers of the service');
  addChanges(servers, withClient);
  servers
    .command('logs <name>')
    .description('print the newest lines that the program of a server has written to stderr')
    .action(async (name: string) => withClient(async (invocation) => logs(invocation, name)));
}

type WithClient = CommandLine['withClient'];

function addChanges(servers: Command, withClient: WithClient): void {
  addDefinitionVerbs<RuntimeServer>(servers, withClient, {
    noun: 'a server',
    plural: 'servers',
    section: 'mcpServers',
    removal: 'calls in flight end as they would',
    put: async (client, name, { definition, ...version }, options) =>
      client.servers.put(name, { server: definition, ...version }, options),
    remove: async (client, name, query, options) => client.servers.remove(name, query, options),
    list: async (client, options) => (await client.servers.list(options)).servers,
    head: HEAD,
    row,
  });
  servers
    .command('test <target>')
    .description('connect once and list the tools: a server that was added, or a file with a definition')
    .action(async (target: string) => withClient(async (invocation) => testServer(invocation, target)));
}

const HEAD = ['NAME', 'VERSION', 'STATUS', 'TOOLS', ...CHANGE_HEAD];

function row(server: RuntimeServer): string[] {
  const { name, version, status, tools, error } = server;
  return [name, version, status ?? '-', String(tools), ...changeRow(server, error)];
}

const SERVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

async function testServer({ client, terminal, json }: Invocation, target: string): Promise<ExitCode> {
  const tested = SERVER_NAME.test(target)
    ? await client.servers.test(target)
    : await client.servers.test('test', {
        server: await definitionIn(target, { noun: 'a server', section: 'mcpServers', name: null }),
      });
  if (json) terminal.out(JSON.stringify(tested));
  else printTest(terminal, tested);
  return tested.ok ? EXIT.done : EXIT.failed;
}

function printTest(
  terminal: Invocation['terminal'],
  { ok, error, tools, faults, ...test }: ServerTest,
): void {
  if (!ok) return terminal.err(`${terminal.paintErr('red', 'failed')} ${oneLine(error ?? '', 2_000)}`);
  terminal.out(`connected in ${test.connect_ms} ms, ${counted(tools.length + test.more, 'tool')}`);
  const described = tools.map(({ name, effect, description }) => [
    oneLine(name, 120),
    effect,
    oneLine(description, 100),
  ]);
  terminal.rows([['TOOL', 'REPEAT', 'DESCRIPTION'], ...described]);
  for (const { tool, message } of faults) terminal.err(oneLine(`${tool} ${message}`, 500));
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
