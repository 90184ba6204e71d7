/** The command line: verbs, their options, and where each goes.
 *  It must never do the work of a verb. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { createHttpClient } from '../client/http-client.ts';
import { call, type CallOptions } from './commands/call.ts';
import { cancel, type CancelOptions } from './commands/cancel.ts';
import { type DeadOptions, listDead, redriveDead } from './commands/dead.ts';
import { doctor } from './commands/doctor.ts';
import { get } from './commands/get.ts';
import { init } from './commands/init.ts';
import { lanes, tools } from './commands/listings.ts';
import { serve, type ServeOptions } from './commands/serve.ts';
import { submit, type SubmitOptions } from './commands/submit.ts';
import { tail, type TailOptions } from './commands/tail.ts';
import { report } from './explanation.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import type { Invocation } from './invocation.ts';
import type { Terminal } from './terminal.ts';

const DEFAULT_URL = 'http://127.0.0.1:7420';

export interface ProgramOptions {
  readonly terminal: Terminal;
  /** Aborted by an interrupt from the keyboard, or when the process is told to stop. */
  readonly interrupt: AbortSignal;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface GlobalOptions {
  readonly url: string;
  readonly json: boolean;
}

/** Runs one command line, prints what there is to say, and answers with the exit code. */
export async function runCli(args: readonly string[], options: ProgramOptions): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = createProgram(options, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    // What an interrupt broke off is not worth a word, unless the verb has one.
    if (options.interrupt.aborted && !(error instanceof CliFailure)) return EXIT.interrupted;
    return report(error, options.terminal);
  }
}

function createProgram(options: ProgramOptions, finish: (code: ExitCode) => void): Command {
  const { terminal, version, environment } = options;
  const program = new Command('adjutant')
    .description('Durable directives for AI agents.')
    .version(version)
    .option('--url <url>', 'the service (or ADJUTANT_URL)', urlOf, environment['ADJUTANT_URL'] || DEFAULT_URL)
    .option('--json', 'results as JSON, one value a line', false)
    .exitOverride()
    .showHelpAfterError('(adjutant --help lists the verbs and options)')
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    });
  addRoles(program, options, finish);
  addClientVerbs(program, options, finish);
  addSetupVerbs(program, options, finish);
  return program;
}

function addRoles(
  program: Command,
  { terminal, interrupt }: ProgramOptions,
  finish: (code: ExitCode) => void,
): void {
  const role = (
    name: string,
    description: string,
    fixed: Pick<ServeOptions, 'roles' | 'mayStartRedis'>,
  ): void => {
    const command = program.command(name).description(description);
    command.option('--config <file>', 'the configuration; default: adjutant.json here');
    if (fixed.roles.api === true) {
      command.option('--port <port>', 'default: ADJUTANT_PORT or 7420; 0 takes a free one', wholeNumber);
      command.option('--host <host>', 'default: ADJUTANT_HOST or 127.0.0.1');
    }
    command.action(async (given: Partial<ServeOptions>) =>
      finish(await serve(terminal, interrupt, { ...given, ...fixed })),
    );
  };
  role('up', 'run everything in one process; brings its own Redis when REDIS_URL is not set', {
    roles: { api: true, worker: true },
    mayStartRedis: true,
  });
  role('api', 'run the HTTP API alone', { roles: { api: true }, mayStartRedis: false });
  role('worker', 'run a worker alone', { roles: { worker: true }, mayStartRedis: false });
}

function addClientVerbs(program: Command, options: ProgramOptions, finish: (code: ExitCode) => void): void {
  const withClient = async (verb: (invocation: Invocation) => Promise<ExitCode>): Promise<void> => {
    const { url, json } = program.opts<GlobalOptions>();
    const client = createHttpClient({ baseUrl: url });
    try {
      finish(await verb({ client, json, terminal: options.terminal, interrupt: options.interrupt }));
    } finally {
      await client.close();
    }
  };
  callCommand(program).action(async (tool: string, json: string | undefined, given: CallOptions) =>
    withClient(async (invocation) => call(invocation, tool, json, given)),
  );
  program
    .command('submit <file>')
    .description('submit directives from a file, or - for stdin: JSON, or one directive a line')
    .option('--idempotency-key <key>', 'names the submission; repeated, it is the same one')
    .action(async (file: string, given: SubmitOptions) =>
      withClient(async (invocation) => submit(invocation, file, given)),
    );
  program
    .command('tail <request>')
    .description('the signals of a request, until it is closed')
    .option('--after <sequence>', 'only later ones', wholeNumber)
    .action(async (request: string, given: TailOptions) =>
      withClient(async (invocation) => tail(invocation, request, given)),
    );
  program
    .command('get <request> [directive]')
    .description('what became of a request, or of one directive')
    .action(async (request: string, directive?: string) =>
      withClient(async (invocation) => get(invocation, request, directive)),
    );
  program
    .command('cancel <request> [directive]')
    .description('cancel one directive, or all of a request')
    .option('--reason <text>', 'told in the terminal signal')
    .action(async (request: string, directive: string | undefined, given: CancelOptions) =>
      withClient(async (invocation) => cancel(invocation, request, directive, given)),
    );
  addDeadVerbs(program, withClient);
  program
    .command('tools')
    .description('the tools of every MCP server')
    .action(async () => withClient(tools));
  program
    .command('lanes')
    .description('the lanes and how busy they are')
    .action(async () => withClient(lanes));
}

type WithClient = (verb: (invocation: Invocation) => Promise<ExitCode>) => Promise<void>;

function addDeadVerbs(program: Command, withClient: WithClient): void {
  const dead = program.command('dead').description('directives that ended in an error');
  filtered(dead.command('list', { isDefault: true }).description('show them, oldest first')).action(
    async (given: DeadOptions) => withClient(async (invocation) => listDead(invocation, given)),
  );
  filtered(
    dead
      .command('redrive [names...]')
      .description('make new directives: of <request>/<directive> names, or of all that match')
      .option('--all', 'every dead letter'),
  ).action(async (names: string[], given: DeadOptions) =>
    withClient(async (invocation) => redriveDead(invocation, names, given)),
  );
}

function filtered(command: Command): Command {
  return command
    .option('--lane <lane>', 'only of this lane')
    .option('--error-type <type>', 'only with this type of error')
    .option('--limit <count>', 'at most so many', wholeNumber);
}

function callCommand(program: Command): Command {
  return program
    .command('call <tool> [json]')
    .description('call a tool (server.tool) with a JSON object, and print what it says')
    .option('--timeout-ms <ms>', 'limit of one attempt; default: 30000, or what the lane says', wholeNumber)
    .option('--deadline-ms <ms>', 'limit of everything; default: 900000', wholeNumber)
    .option('--max-retries <n>', 'attempts after a failed first one; default: 0', wholeNumber)
    .option('--retry-backoff-ms <ms>', 'wait before a retry; default: 0', wholeNumber)
    .addOption(
      new Option('--backoff <kind>', 'how the wait grows; default: fixed').choices(['fixed', 'exponential']),
    )
    .addOption(
      new Option(
        '--effect <effect>',
        'whether it may be repeated when its worker dies; default: what the tool says',
      ).choices(['read', 'idempotent', 'once']),
    )
    .option('--server <name>', 'the MCP server, when the tool name has none')
    .option('--request <id>', 'the request it belongs to; default: a new one')
    .option('--id <id>', 'its id; default: a new one');
}

function addSetupVerbs(
  program: Command,
  { terminal, interrupt }: ProgramOptions,
  finish: (code: ExitCode) => void,
): void {
  program
    .command('doctor')
    .description('check Redis, the MCP servers and the service; for each fault, how to fix it')
    .option('--config <file>', 'the configuration; default: adjutant.json here')
    .action(async (given: { config?: string }) =>
      finish(await doctor(terminal, interrupt, { ...given, ...program.opts<GlobalOptions>() })),
    );
  program
    .command('init')
    .description('write a first adjutant.json')
    .action(async () => finish(await init(terminal, process.cwd())));
}

function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function urlOf(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('It must be a URL, as in http://127.0.0.1:7420.');
}
