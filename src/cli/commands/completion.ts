/** Completion scripts for shells, generated from the program itself: its verbs, options and their values.
 *  Names that only the service knows come from the hidden verb `complete`, which gives up after a second. */
import { Argument, type Command, Help, type Option } from 'commander';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { pause } from '../../platform/lifecycle.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof SHELLS)[number];

/** One verb, or a verb below another, as `dead redrive`. */
interface Verb {
  readonly path: string;
  readonly description: string;
  readonly options: readonly Option[];
  /** Whether it takes a file name. */
  readonly files: boolean;
  /** Names of the service that its first operand may be; null: none. */
  readonly live: Live | null;
  /** Names of the verbs below it. */
  readonly below: readonly string[];
}

/** Reads the names of one kind. */
const LIVE = {
  tools: async (client: DirectiveClient) => (await client.tools()).tools.map(({ name }) => name),
  servers: async (client: DirectiveClient) => (await client.tools()).servers.map(({ name }) => name),
  agents: async (client: DirectiveClient) => (await client.agents()).agents.map(({ name }) => name),
  lanes: async (client: DirectiveClient) => (await client.lanes()).lanes.map(({ name }) => name),
  schedules: async (client: DirectiveClient) =>
    (await client.schedules.list({})).schedules.map(({ id }) => id),
  requests: async (client: DirectiveClient) =>
    (await client.requests({ limit: MOST_REQUESTS })).requests.map(({ request_id: id }) => id),
} as const;

type Live = keyof typeof LIVE;

/** The newest ones. */
const MOST_REQUESTS = 50;
const PATIENCE_MS = 1_000;

/** Kind by the name of an operand or of an option. */
const KINDS: ReadonlyMap<string, Live> = new Map([
  ['tool', 'tools'],
  ['--tool', 'tools'],
  ['server', 'servers'],
  ['--server', 'servers'],
  ['--agent', 'agents'],
  ['--lane', 'lanes'],
  ['request', 'requests'],
]);

export function addCompletion({ program, local, withClient }: CommandLine): void {
  program
    .command('complete', { hidden: true })
    .description('print names of the service for the completion of a shell')
    .addArgument(new Argument('<kind>').choices(Object.keys(LIVE)))
    .action(async (kind: Live) => withClient(async (invocation) => complete(invocation, kind)));
  program
    .command('completion')
    .description(
      'print a completion script for an installed adjutant, as for: source <(adjutant completion bash)',
    )
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action(async (shell: Shell) =>
      local(async ({ terminal }) => {
        terminal.out(completionScript(program, shell).trimEnd());
        return EXIT.done;
      }),
    );
}

/** Prints nothing where the service does not answer in time: a key press must not wait. */
async function complete({ client, terminal }: Invocation, kind: Live): Promise<ExitCode> {
  const names = LIVE[kind](client).catch(() => null);
  const answered = new AbortController();
  const found = await Promise.race([names, pause(PATIENCE_MS, answered.signal).then(() => null)]);
  answered.abort();
  for (const name of found ?? []) terminal.out(name);
  return found === null ? EXIT.failed : EXIT.done;
}

function completionScript(program: Command, shell: Shell): string {
  const verbs = verbsOf(program, '');
  if (shell === 'fish') return fishScript(program.name(), verbs);
  const script = bashScript(program.name(), verbs);
  return shell === 'bash' ? script : `autoload -U +X bashcompinit && bashcompinit\n${script}`;
}

/** The program itself first, under the empty path. Its options hold for every verb. */
function verbsOf(command: Command, path: string): Verb[] {
  const shown = new Help().visibleCommands(command).filter((each) => command.commands.includes(each));
  const below = shown.map((each) => [each.name(), each] as const);
  const verb = {
    path,
    description: command.description(),
    options: command.options,
    files: command.registeredArguments.some((argument) => argument.name() === 'file'),
    live: liveOperand(command, path),
    below: below.map(([name]) => name),
  };
  const under = (name: string): string => (path === '' ? name : `${path} ${name}`);
  return [verb, ...below.flatMap(([name, each]) => verbsOf(each, under(name)))];
}

function liveOperand({ registeredArguments: [first] }: Command, path: string): Live | null {
  if (first === undefined) return null;
  if (first.name() === 'id' && path.startsWith('schedule ') && path !== 'schedule create') return 'schedules';
  return KINDS.get(first.name()) ?? null;
}

function flagsOf({ long, short }: Option): string[] {
  return [long, short].filter((flag) => flag !== undefined && flag !== null);
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** Whether a value is a file name: its placeholder in the help is `<file>`. */
function isFile({ flags }: Option): boolean {
  return flags.includes('<file>');
}

/** The first words that are not options are the verb; then comes what may follow it. */
function bashScript(name: string, verbs: readonly Verb[]): string {
  const [program] = verbs;
  const everywhere = program?.options ?? [];
  const valued = [...new Set(verbs.flatMap(({ options }) => options.filter(takesValue).flatMap(flagsOf)))];
  const groups = verbs.filter(({ path, below }) => path !== '' && below.length > 0).map(({ path }) => path);
  const words = verbs.map(({ path, options, below, files, live }) => {
    const all = [...below, ...[...options, ...(path === '' ? [] : everywhere)].flatMap(flagsOf), '--help'];
    const more = `${files ? ' files=1' : ''}${live === null ? '' : ` live=${live}`}`;
    return `    ${quoted(path)}) words=${quoted(all.join(' '))}${more} ;;`;
  });
  return `# Completion of ${name}: generated by \`${name} completion\`.
_${name}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" verb="" words="" files="" live="" over="" operands=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${valued.join('|')}) ((i++)) ;;
      -*) ;;
      *)
        if [ -n "$over" ]; then ((operands++)); continue; fi
        if [ -z "$verb" ]; then verb="\${COMP_WORDS[i]}"; else verb="$verb \${COMP_WORDS[i]}"; fi
        case "$verb" in ${groups.map(quoted).join('|')}) ;; *) over=1 ;; esac
        ;;
    esac
  done
  COMPREPLY=()
  case "$prev" in
${bashValues(verbs)}
  esac
  case "$verb" in
${words.join('\n')}
  esac
  if [[ "$cur" != -* && -n "$files" ]]; then
    COMPREPLY=($(compgen -f -- "$cur"))
  elif [[ "$cur" != -* && -n "$live" && $operands -eq 0 ]]; then
    COMPREPLY=($(compgen -W "$(${liveNames('$live')})" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o filenames -F _${name} ${name}
`;
}

/** Command of a bash script that prints the names of a kind, by the program as it was typed. */
function liveNames(kind: string): string {
  return `"\${COMP_WORDS[0]}" complete ${kind} 2>/dev/null`;
}

/** Completions after an option: its choices, names of the service, files, or nothing. */
function bashValues(verbs: readonly Verb[]): string {
  const options = new Map(
    verbs.flatMap(({ options: all }) => all.filter(takesValue)).map((option) => [option.flags, option]),
  );
  return [...options.values()]
    .map((option) => {
      const reply = option.argChoices
        ? `COMPREPLY=($(compgen -W ${quoted(option.argChoices.join(' '))} -- "$cur"))`
        : kindOf(option) !== null
          ? `COMPREPLY=($(compgen -W "$(${liveNames(kindOf(option) ?? '')})" -- "$cur"))`
          : isFile(option)
            ? 'COMPREPLY=($(compgen -f -- "$cur"))'
            : ':';
      return `    ${flagsOf(option).join('|')}) ${reply}; return ;;`;
    })
    .join('\n');
}

function kindOf({ long }: Option): Live | null {
  return KINDS.get(long ?? '') ?? null;
}

function fishScript(name: string, verbs: readonly Verb[]): string {
  const lines = verbs.flatMap((verb) => fishVerb(name, verb, verbs));
  return `# Completion of ${name}: generated by \`${name} completion fish\`.\n${lines.join('\n')}\n`;
}

function fishVerb(name: string, { path, options, below, live }: Verb, verbs: readonly Verb[]): string[] {
  const words = path.split(' ').filter((word) => word !== '');
  const here = words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
  const open = `not __fish_seen_subcommand_from ${below.join(' ')}`;
  const where = here === '' ? '__fish_use_subcommand' : `${here}; and ${open}`;
  const next = below.map((word) => {
    const described = verbs.find((each) => each.path === [...words, word].join(' '))?.description ?? '';
    return `complete -c ${name} -f -n ${quoted(where)} -a ${word} -d ${quoted(described)}`;
  });
  const flags = options.map((option) => fishOption(name, here, option));
  const names =
    live === null ? [] : [`complete -c ${name} -f -n ${quoted(here)} -a ${fishNames(name, live)}`];
  return [...next, ...names, ...flags];
}

function fishNames(name: string, kind: Live): string {
  return quoted(`(${name} complete ${kind} 2>/dev/null)`);
}

function fishOption(name: string, where: string, option: Option): string {
  const condition = where === '' ? '' : ` -n ${quoted(where)}`;
  const long = option.long ? ` -l ${option.long.replace(/^--/, '')}` : '';
  const kind = kindOf(option);
  const value = option.argChoices
    ? ` -x -a ${quoted(option.argChoices.join(' '))}`
    : kind !== null
      ? ` -x -a ${fishNames(name, kind)}`
      : isFile(option)
        ? ' -r -F'
        : takesValue(option)
          ? ' -x'
          : '';
  return `complete -c ${name}${condition}${long}${value} -d ${quoted(option.description)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
