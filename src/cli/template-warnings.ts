/** What a schedule names and the service does not know now: tools, and the agent of a run.
 *  It must never keep a schedule from being made: who serves the name may start later. */
import { ADJUTANT } from './command-name.ts';
import { closeNames } from '../bounds/close-names.ts';
import type { DirectiveClient } from '../contract/directive-client.ts';
import type { ScheduleView } from '../contract/schedule.ts';
import type { ToolListing } from '../contract/tool-listing.ts';
import { oneLine } from './terminal.ts';

interface TemplateWarning {
  readonly says: string;
  readonly fix: string;
}

/** A template may hold many directives. */
const MOST_WARNINGS = 5;

/** None where the key may not list them, or the service does not answer. */
export async function templateWarnings(
  client: Pick<DirectiveClient, 'tools' | 'agents'>,
  { directives = [], run }: ScheduleView['template'],
): Promise<TemplateWarning[]> {
  const calls = directives.flatMap(callOf);
  const agent = textOf(run?.['agent']);
  const [tools, agents] = await Promise.all([
    calls.length === 0 ? null : client.tools({ remembered: true }).catch(() => null),
    agent === undefined ? null : client.agents().catch(() => null),
  ]);
  const missing = tools === null ? [] : calls.filter((call) => !mayBeServed(call, tools));
  const names = [...new Set(missing.map(nameOf))].slice(0, MOST_WARNINGS);
  const known = (agents?.agents ?? []).map(({ name }) => name);
  return [
    ...names.map((name) => toolWarning(name, tools?.tools.map((tool) => tool.name) ?? [])),
    ...(agents === null || agent === undefined || known.includes(agent)
      ? []
      : [warning('agent', agent, closeNames(agent, known))]),
  ];
}

interface ToolCall {
  readonly name: string;
  readonly server: string | undefined;
}

function callOf(directive: Readonly<Record<string, unknown>>): ToolCall[] {
  const name = textOf(directive['tool_name']);
  if (directive['type'] !== 'tool_exec' || name === undefined) return [];
  return [{ name, server: textOf(directive['server']) }];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function nameOf({ name, server }: ToolCall): string {
  return server === undefined || name.startsWith(`${server}.`) ? name : `${server}.${name}`;
}

/** A server that has not listed its tools yet may have any. */
function mayBeServed(call: ToolCall, { tools, servers }: ToolListing): boolean {
  const name = nameOf(call);
  const listed = tools.some((tool) => [tool.name, tool.tool].includes(name));
  const silent = servers.filter(({ status, tools: count }) => status !== 'ready' && count === 0);
  return listed || silent.some((server) => name.startsWith(`${server.name}.`));
}

function toolWarning(name: string, known: readonly string[]): TemplateWarning {
  const [server = '', tool = ''] = name.split(/\.(.*)/s, 2);
  const beside = known.filter((each) => each.startsWith(`${server}.`));
  const near = closeNames(
    tool,
    beside.map((each) => each.slice(server.length + 1)),
  );
  return warning(
    'tool',
    name,
    near.length > 0 ? near.map((each) => `${server}.${each}`) : closeNames(name, known),
  );
}

function warning(kind: 'tool' | 'agent', name: string, close: readonly string[]): TemplateWarning {
  const question = close.length === 0 ? '' : `Did you mean ${oneLine(close.join(' or '), 200)}? `;
  return {
    says: `no ${kind} "${oneLine(name, 80)}" is known now: until there is one, each firing fails`,
    fix: `${question}\`${ADJUTANT} ${kind}s\` lists the ${kind}s.`,
  };
}
