/** `adjutant servers …`: adds, removes, tests and lists servers at runtime, and prints what the program of a server has
 *  written to stderr. It must never print a control character that a server wrote. */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { isObject } from '../../contract/json/json-object.ts';
import type { RuntimeServer, ServerTest } from '../../contract/tool/runtime-server.ts';
import { examples } from '../examples.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
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

const VERSION = 'the version that is replaced, as `servers list` shows it; default: the present one';

function addChanges(servers: Command, withClient: WithClient): void {
  const add = servers
    .command('add <name> <file>')
    .description('add or replace a server of your tenant while the service runs (admin)')
    .option('--version <number>', VERSION);
  examples(add, ['servers add crm crm.json']);
  add.action(async (name: string, file: string, { version }: { version?: string }) =>
    withClient(async ({ client, terminal, json }) => {
      const server = await definitionIn(file, name);
      const present = version ?? (await presentVersion(client.servers, name));
      const added = await client.servers.put(name, { server, ...(present && { version: present }) });
      if (json) terminal.out(JSON.stringify(added));
      else terminal.rows([HEAD, row(added)]);
      return EXIT.done;
    }),
  );
  servers
    .command('remove <name>')
    .description('remove a server that was added at runtime; calls in flight end as they would (admin)')
    .option('--version <number>', 'refuse to remove another version; default: any')
    .action(async (name: string, { version }: { version?: string }) =>
      withClient(async ({ client, terminal, json }) => {
        const removed = await client.servers.remove(name, version === undefined ? {} : { version });
        terminal.out(json ? JSON.stringify(removed) : `${removed.name} is removed`);
        return EXIT.done;
      }),
    );
  servers
    .command('test <target>')
    .description('connect once and list the tools: a server that was added, or a file with a definition')
    .action(async (target: string) => withClient(async (invocation) => testServer(invocation, target)));
  servers
    .command('list')
    .description('show the servers that your tenant has added at runtime (admin)')
    .action(async () =>
      withClient(async ({ client, terminal, json }) => {
        const { servers: listed } = await client.servers.list();
        if (json) for (const server of listed) terminal.out(JSON.stringify(server));
        else terminal.rows([HEAD, ...listed.map(row)]);
        return EXIT.done;
      }),
    );
}

const HEAD = ['NAME', 'VERSION', 'STATUS', 'TOOLS', 'CHANGED (UTC)', 'BY', 'FAULT'];

function row({ name, version, status, tools, error, fault, ...server }: RuntimeServer): string[] {
  const changed = [instantText(server.changed_at), oneLine(server.changed_by ?? '-', 40)];
  const why = oneLine(fault ?? error ?? '-', 200);
  return [name, version, status ?? '-', String(tools), ...changed, why];
}

/** undefined: there is no such server yet. */
async function presentVersion(
  servers: Invocation['client']['servers'],
  name: string,
): Promise<string | undefined> {
  const { servers: listed } = await servers.list();
  return listed.find((server) => server.name === name)?.version;
}

/** A definition alone, or a file as other hosts have it, with the server among its `mcpServers`. Throws a usage error. */
async function definitionIn(file: string, name: string | null): Promise<Record<string, unknown>> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw usage(`${file} cannot be read.`, 'Name a file with the JSON of one server.');
  });
  const value = parsed(text);
  const servers = isObject(value) ? value['mcpServers'] : undefined;
  const found = isObject(servers) && name !== null && Object.hasOwn(servers, name) ? servers[name] : value;
  if (isObject(found) && servers === undefined) return found;
  if (isObject(found) && found !== value) return found;
  throw usage(`${file} holds no definition of a server.`, 'Write {"url": "https://…"} into it.');
}

/** undefined: no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const SERVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

async function testServer({ client, terminal, json }: Invocation, target: string): Promise<ExitCode> {
  const tested = SERVER_NAME.test(target)
    ? await client.servers.test(target)
    : await client.servers.test('test', { server: await definitionIn(target, null) });
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
