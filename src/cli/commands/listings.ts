/** `adjutant tools`, `agents` and `lanes`: lists tools, agents, and the load of the lanes.
 *  It must never change anything but the agents of a tenant. */
import { ADJUTANT } from '../command-name.ts';
import { closeNames } from '../../platform/bounds/close-names.ts';
import type { ListedAgent } from '../../contract/run/agent-listing.ts';
import type { ListedLane } from '../../contract/request/lane-listing.ts';
import type { ListedServer, ListedTool, ToolListing } from '../../contract/tool/tool-listing.ts';
import type { RuntimeAgent } from '../../contract/run/runtime-agent.ts';
import { addDefinitionVerbs, CHANGE_HEAD, changeRow } from '../definitions.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { whyText } from '../following/signal-gist.ts';
import { loginLine } from './mcp-login.ts';
import { oneLine, type Terminal } from '../terminal.ts';

export function addListings({ program, withClient }: CommandLine): void {
  program
    .command('tools [server]')
    .description('list the tools of every MCP server, or of one')
    .action(async (server?: string) => withClient(async (invocation) => tools(invocation, server)));
  const agentsVerb = program
    .command('agents')
    .description('list the agents that runs can use, add and remove those of your tenant')
    .action(async () => withClient(agents));
  addDefinitionVerbs<RuntimeAgent>(agentsVerb, withClient, {
    noun: 'an agent',
    plural: 'agents',
    section: 'agents',
    removal: 'runs that have begun continue',
    put: async (client, name, { definition, ...version }, options) =>
      client.runtimeAgents.put(name, { agent: definition, ...version }, options),
    remove: async (client, name, query, options) => client.runtimeAgents.remove(name, query, options),
    list: async (client, options) => (await client.runtimeAgents.list(options)).agents,
    head: ['NAME', 'VERSION', ...CHANGE_HEAD],
    row: (agent) => [agent.name, agent.version, ...changeRow(agent)],
  });
  program
    .command('lanes')
    .description('list the lanes and how busy they are')
    .action(async () => withClient(lanes));
}

/** `server`: only its tools. Throws `CliFailure` when there is no such server. */
async function tools({ client, terminal, json }: Invocation, server: string | undefined): Promise<ExitCode> {
  const listing = ofServer(await client.tools(), server);
  if (json) for (const tool of listing.tools) terminal.out(JSON.stringify(tool));
  else if (listing.tools.length > 0)
    terminal.rows([
      ['TOOL', 'REPEAT', 'DESCRIPTION'],
      ...listing.tools.map((tool) => toolRow(tool, terminal)),
    ]);
  for (const server of listing.servers) printServer(server, terminal);
  if (listing.servers.length === 0) {
    terminal.err('No worker has reported an MCP server yet.');
    terminal.err(`${terminal.paintErr('cyan', 'fix')} ${SERVERS_COME}`);
  }
  return EXIT.done;
}

/** Prints the state of a server on stderr, where it has something to report. */
function printServer(server: ListedServer, terminal: Terminal): void {
  const { name, status, login, sampling } = server;
  const { paintErr } = terminal;
  if (status !== 'ready') terminal.err(serverLine(server, terminal));
  if (login !== undefined) terminal.err(`${paintErr('dim', `${name} is logged in`)} ${loginLine(login)}`);
  if (sampling !== undefined)
    terminal.err(`${paintErr('dim', `tools of ${name} may ask the model`)} ${oneLine(sampling, 256)}`);
  for (const line of faultLines(server, terminal)) terminal.err(line);
}

function ofServer(listing: ToolListing, server: string | undefined): ToolListing {
  if (server === undefined) return listing;
  const servers = listing.servers.filter(({ name }) => name === server);
  if (servers.length > 0)
    return { ...listing, servers, tools: listing.tools.filter((tool) => tool.server === server) };
  const known = listing.servers.map(({ name }) => name);
  throw new CliFailure({
    what: `No worker has reported an MCP server "${oneLine(server, 80)}".`,
    how: known.length === 0 ? START_A_WORKER : serversText(server, known),
  });
}

const SERVERS_COME = `A worker that reads a configuration with mcpServers reports them: \`${ADJUTANT} worker\`, or \`${ADJUTANT} up\`. \`${ADJUTANT} workers\` lists the processes.`;

const START_A_WORKER = `Start a worker: \`${ADJUTANT} worker\`, or \`${ADJUTANT} up\`.`;

function serversText(asked: string, known: readonly string[]): string {
  const close = closeNames(asked, known);
  const question = close.length === 0 ? '' : `Did you mean ${close.join(' or ')}? `;
  return `${question}There are ${known.join(', ')}.`;
}

function toolRow({ name, effect, description = '' }: ListedTool, terminal: Terminal): string[] {
  return [terminal.paint('bold', name), effect, terminal.paint('dim', oneLine(description, 80))];
}

function serverLine({ name, status, error }: ListedServer, terminal: Terminal): string {
  return `${terminal.paintErr('yellow', `${name} is ${status}`)}${error === undefined ? '' : `: ${oneLine(error)}`}`;
}

function faultLines({ name, faults = [] }: ListedServer, terminal: Terminal): string[] {
  return faults.map(
    ({ tool, message }) =>
      `${terminal.paintErr('yellow', oneLine(`${name}.${tool}`, 80))} ${oneLine(message, 300)}`,
  );
}

async function agents({ client, terminal, json }: Invocation): Promise<ExitCode> {
  const listing = await client.agents();
  if (json) for (const agent of listing.agents) terminal.out(JSON.stringify(agent));
  else if (listing.agents.length > 0)
    terminal.rows([
      ['AGENT', 'MODEL', 'TOOLS', 'DESCRIPTION'],
      ...listing.agents.map((agent) => agentRow(agent, terminal)),
    ]);
  if (listing.agents.length === 0) terminal.err('No engine has reported an agent yet.');
  return EXIT.done;
}

function agentRow({ name, model, tools, description }: ListedAgent, { paint }: Terminal): string[] {
  return [paint('bold', name), model, tools.join(' '), paint('dim', oneLine(description, 80))];
}

async function lanes({ client, terminal, json }: Invocation): Promise<ExitCode> {
  const listing = await client.lanes();
  if (json) {
    for (const lane of listing.lanes) terminal.out(JSON.stringify(lane));
    return EXIT.done;
  }
  const head = ['LANE', 'WAITING', 'ACTIVE', 'DELAYED', 'WORKERS', 'CONCURRENCY', 'STATE'];
  const rows = listing.lanes.map((lane) => [
    lane.name,
    ...[lane.waiting + (lane.gated ?? 0), lane.active, lane.delayed, lane.workers].map(String),
    String(lane.concurrency ?? '-'),
    [stateOf(lane), ...gatedText(lane), ...laterText(lane)].join(', '),
  ]);
  terminal.rows([head, ...rows]);
  return EXIT.done;
}

function gatedText({ gated }: ListedLane): string[] {
  return gated === undefined
    ? []
    : [gated === 1 ? '1 of them for its turn or a limit' : `${gated} of them for their turn or a limit`];
}

function laterText({ later }: ListedLane): string[] {
  return later === undefined ? [] : [later === 1 ? '1 begins later' : `${later} begin later`];
}

function stateOf({ paused, blocked_until, waits }: ListedLane): string {
  if (waits !== undefined) return whyText(waits);
  if (blocked_until !== null) return `server unreachable, next try at ${blocked_until.slice(11, 19)} UTC`;
  return paused ? 'paused' : 'open';
}
