/** Converts the options of `adjutant schedule create` and `update` into a schedule: its instants and its content.
 *  It must never check what the service checks. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { closeNames } from '../../platform/bounds/close-names.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { ReplacedSchedule, ScheduleView, SubmittedSchedule } from '../../contract/schedule/schedule.ts';
import type { ToolListing } from '../../contract/tool/tool-listing.ts';
import { ADJUTANT } from '../command-name.ts';
import { usage } from '../failure.ts';
import { objectArgument } from './option-values.ts';
import { oneLine } from '../terminal.ts';

export interface ScheduleOptions {
  readonly cron?: string;
  readonly zone?: string;
  /** Milliseconds, as `jitter` and `catchUp`. */
  readonly every?: number;
  readonly jitter?: number;
  readonly starts?: string;
  readonly ends?: string;
  readonly overlap?: string;
  readonly catchUp?: number;
  readonly tool?: string;
  readonly arguments?: string;
  readonly agent?: string;
  readonly query?: string;
  readonly file?: string;
}

/** Absent: not given. */
export function timingIn({ cron, zone, every, jitter, ...given }: ScheduleOptions): object {
  const { starts, ends, overlap, catchUp } = given;
  return withoutAbsent({
    cron,
    time_zone: zone,
    every_ms: every,
    jitter_ms: jitter,
    catch_up_ms: catchUp,
    starts_at: starts,
    ends_at: ends,
    overlap,
  });
}

function withoutAbsent(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

type GivenTemplate = Pick<SubmittedSchedule, 'directives' | 'run'>;

/** One of a tool, an agent (or only its query, as `ask` takes it), and a file. */
export async function templateIn({
  tool,
  agent,
  query,
  file,
  ...given
}: ScheduleOptions): Promise<GivenTemplate> {
  const named = [tool, agent ?? query, file].filter((each) => each !== undefined);
  if (named.length !== 1) throw usage('What it submits is not clear.', HOW);
  if (tool !== undefined) {
    const args = given.arguments === undefined ? {} : { arguments: objectArgument(given.arguments) };
    return { directives: [{ type: 'tool_exec', tool_name: tool, ...args }] };
  }
  if (file === undefined)
    return { run: { agent: agent ?? 'default', ...(query === undefined ? {} : { query }) } };
  return fileTemplate(file);
}

const HOW =
  'Give one of --tool <name>, --query <text> (with --agent <name>, or for the agent default), and --file <file> with {"directives": [...]} or {"run": {...}}.';

async function fileTemplate(file: string): Promise<GivenTemplate> {
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch(
    (error: unknown) => {
      throw usage(
        `${file} cannot be read: ${(error as Error).message}`,
        'Name a readable file, or - for stdin.',
      );
    },
  );
  const value = objectArgument(content, `The contents of ${file}`, HOW);
  if ('directives' in value || 'run' in value) return value;
  return { directives: [value] };
}

/** The content as it is, with what is given in its place. */
export async function changedContent(
  shown: ScheduleView,
  options: ScheduleOptions,
): Promise<ReplacedSchedule> {
  if (Object.keys(options).length === 0)
    throw usage('Nothing is to change.', "Give what changes, as --cron '30 2 * * *' or --overlap allow.");
  const { cron, every, starts, ends } = options;
  if (cron !== undefined && every !== undefined)
    throw usage('When it fires is not clear.', 'Give one of --cron and --every.');
  const timing = withoutAbsent({
    ...timingOf(shown),
    ...(every === undefined ? {} : { cron: undefined, time_zone: undefined }),
    ...(cron === undefined ? {} : { every_ms: undefined }),
    ...timingIn(options),
    ...(starts === ALWAYS ? { starts_at: undefined } : {}),
    ...(ends === ALWAYS ? { ends_at: undefined } : {}),
  });
  // The service names what is wrong with it.
  const content = { ...timing, ...(await changedTemplate(shown, options)) };
  return { version: shown.version, ...content } as ReplacedSchedule;
}

/** Value of `--starts` and `--ends` that removes the bound. */
const ALWAYS = 'none';

function timingOf(shown: ScheduleView): object {
  const { cron, time_zone, every_ms, jitter_ms, starts_at, ends_at, overlap, catch_up_ms } = shown;
  const timing = { cron, time_zone, every_ms, jitter_ms, starts_at, ends_at, overlap, catch_up_ms };
  return Object.fromEntries(Object.entries(timing).filter(([, value]) => value !== null));
}

/** `--tool` or `--arguments` alone is of the tool that it calls, `--query` or `--agent` alone of the run that it starts. */
async function changedTemplate(
  { template }: Pick<ScheduleView, 'template'>,
  options: ScheduleOptions,
): Promise<GivenTemplate> {
  const { tool, agent, file, arguments: args, query } = options;
  const others = [tool, file, query].filter((each) => each !== undefined);
  if (agent !== undefined && others.length === 0 && template.run !== undefined)
    return { run: { ...template.run, agent } };
  const call = onlyCallOf(template);
  const isOfCall = [agent, file, query].every((each) => each === undefined);
  if (call !== null && isOfCall && (tool !== undefined || args !== undefined))
    return { directives: [{ ...call, ...toolOf(tool), ...argumentsOf(args) }] };
  if ([tool, agent, file].some((each) => each !== undefined)) return templateIn(options);
  if (args !== undefined)
    throw usage('--arguments are those of a tool.', 'Give --tool, too, or all of it with --file.');
  if (query === undefined) return template as GivenTemplate;
  if (template.run === undefined)
    throw usage('--query is what a run is asked.', 'Give --agent, too, or all of it with --file.');
  const { messages: _, ...run } = template.run;
  return { run: { ...run, query } };
}

/** null: it calls no tool, or not only that. */
function onlyCallOf({ directives = [] }: ScheduleView['template']) {
  const [directive] = directives;
  return directives.length === 1 && directive?.['type'] === 'tool_exec' ? directive : null;
}

function toolOf(tool: string | undefined): { tool_name?: string } {
  return tool === undefined ? {} : { tool_name: tool };
}

function argumentsOf(args: string | undefined): { arguments?: object } {
  return args === undefined ? {} : { arguments: objectArgument(args) };
}

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
