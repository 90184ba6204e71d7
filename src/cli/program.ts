/** The command line: its verbs, their options, and the code that each runs.
 *  It must never do the work of a verb. */
import { Argument, Command, CommanderError, Help } from 'commander';
import { createAccessClient, createArchiveClient, createHttpClient } from '../client/http-client.ts';
import type { PayloadCodec } from '../contract/encrypted.ts';
import { aesCodec } from '../encryption/aes-codec.ts';
import { decryptingClient, encryptingClient } from '../encryption/encrypted-client.ts';
import { readKeyText } from '../encryption/key-text.ts';
import { ADJUTANT } from './command-name.ts';
import { control, type ControlOptions } from './commands/control.ts';
import { initDirective } from './commands/directive-folder.ts';
import { doctor } from './commands/doctor.ts';
import { init } from './commands/init.ts';
import { serve, type ServeOptions } from './commands/serve.ts';
import { completionScript, type Shell, SHELLS } from './completion.ts';
import { addFolderVerbs } from './directive-folder-verbs.ts';
import { addDirectiveVerbs, type WithArchive } from './directive-verbs.ts';
import { report } from './explanation.ts';
import { CliFailure, EXIT, type ExitCode, usage } from './failure.ts';
import type { WithClient } from './invocation.ts';
import type { Keyboard } from './keyboard.ts';
import { addRequestVerbs } from './request-verbs.ts';
import { addKeyVerbs, type WithKeys } from './key-verbs.ts';
import { addMcpVerbs } from './mcp-verbs.ts';
import { addModelVerbs } from './model-verbs.ts';
import { urlOf, wholeNumber } from './option-values.ts';
import { useProxies } from './proxies.ts';
import { createReachLines } from './reach-lines.ts';
import { localServiceUrl } from '../redis/private-redis.ts';
import { addScheduleVerbs } from './schedule-verbs.ts';
import type { Terminal } from './terminal.ts';

const DEFAULT_URL = 'http://127.0.0.1:7420';

export interface ProgramOptions {
  readonly terminal: Terminal;
  /** null: there is no person to ask. */
  readonly keyboard: Keyboard | null;
  /** Aborts on an interrupt from the keyboard, or when the process must stop. */
  readonly interrupt: AbortSignal;
  readonly version: string;
  readonly environment: Environment;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface GlobalOptions {
  readonly url: string;
  readonly json: boolean;
}

/** Read only by the verbs that ask the service. Throws a usage error. */
async function globalOptions(program: Command, environment: Environment): Promise<GlobalOptions> {
  const { url, json } = program.opts<{ url?: string; json: boolean }>();
  return { url: url ?? (await serviceUrl(environment)), json };
}

/** As the environment says, else of the service that runs in this folder, else the usual one. */
async function serviceUrl({
  ADJUTANT_URL: url = '',
  ADJUTANT_PORT: port = '',
}: Environment): Promise<string> {
  if (url !== '') return fromEnvironment(url);
  if (/^[1-9]\d{0,4}$/.test(port)) return `http://127.0.0.1:${port}`;
  return (await localServiceUrl(process.cwd())) ?? DEFAULT_URL;
}

function fromEnvironment(url: string): string {
  try {
    return urlOf(url);
  } catch {
    throw usage(`ADJUTANT_URL "${url}" is not a URL.`, 'Write it as in http://127.0.0.1:7420.');
  }
}

/** Runs one command line, prints its output, and returns the exit code. */
export async function runCli(args: readonly string[], options: ProgramOptions): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = createProgram(options, (code) => {
    exitCode = code;
  });
  try {
    await useProxies(options.environment);
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    const json = args.includes('--json');
    if (error instanceof CommanderError) return usageFault(error, options.terminal, json);
    // An interrupted command prints nothing, unless the verb has a message.
    if (options.interrupt.aborted && !(error instanceof CliFailure)) return EXIT.interrupted;
    return report(error, options.terminal, json);
  }
}

/** commander has printed the fault for a person; a program also gets it as JSON. */
function usageFault(error: CommanderError, terminal: Terminal, json: boolean): ExitCode {
  if (error.exitCode === 0) return EXIT.done;
  const how = `\`${ADJUTANT} --help\` lists the verbs and options.`;
  if (json) report(usage(error.message, how), terminal, true);
  return EXIT.usage;
}

function createProgram(options: ProgramOptions, finish: (code: ExitCode) => void): Command {
  const { terminal, version } = options;
  const program = new Command('adjutant')
    .description('Durable directives for AI agents.')
    .version(version)
    .option(
      '--url <url>',
      `default: ADJUTANT_URL, the service started in this folder, or ${DEFAULT_URL}`,
      urlOf,
    )
    .option('--json', 'results as JSON, one value per line', false)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, commandUsage: usageLine })
    .showHelpAfterError(`(${ADJUTANT} --help lists the verbs and options)`)
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    });
  addRoles(program, options, finish);
  const withClient = clientOf(program, options, finish);
  addDirectiveVerbs(program, withClient, archiveOf(program, options, finish));
  addRequestVerbs(program, withClient);
  addModelVerbs(program, withClient);
  addScheduleVerbs(program, withClient);
  addKeyVerbs(program, keysOf(program, options, finish));
  addSetupVerbs(program, options, finish);
  addFolderVerbs(program, options, finish);
  addMcpVerbs(program, withClient, options, finish);
  addControl(program, options, finish);
  addCompletion(program, terminal);
  return program;
}

function addControl(
  program: Command,
  { terminal, interrupt, version }: ProgramOptions,
  finish: (code: ExitCode) => void,
): void {
  program
    .command('control')
    .description('serve the control tools over MCP: to-do list, handoff, delegation, completion of a run')
    .option('--tiers <names...>', 'model aliases that a handoff may name, as name or name=description')
    .option('--agents <names...>', 'agents that may be delegated to, as name or name=description')
    .action(async (given: ControlOptions) =>
      finish(await control(terminal, interrupt, { ...given, version })),
    );
}

/** `program.name()` is what a shell completes, so it stays. */
function usageLine(command: Command): string {
  return new Help().commandUsage(command).replace(/^adjutant/, ADJUTANT);
}

function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description(
      'print a completion script for an installed adjutant, as for: source <(adjutant completion bash)',
    )
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell) => terminal.out(completionScript(program, shell).trimEnd()));
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
      command.option('--port <port>', 'default: ADJUTANT_PORT or 7420; 0 = any free port', wholeNumber);
      command.option('--host <host>', 'default: ADJUTANT_HOST or 127.0.0.1');
      command.option('--insecure', 'listen beyond this machine though nobody needs a key');
    } else {
      command.option(
        '--metrics-port <port>',
        'serve /metrics, /healthz and /readyz there; default: ADJUTANT_METRICS_PORT or none',
        wholeNumber,
      );
    }
    if (name === 'up')
      command.option('--traces', 'print the tree of each request when it has ended, a few of them a second');
    if (name === 'worker')
      command.option('--lanes <names...>', 'only these, as in tool.* or llm.openai; default: every lane');
    command.action(async (given: Partial<ServeOptions>) =>
      finish(await serve(terminal, interrupt, { ...given, ...fixed })),
    );
  };
  role('up', 'run everything in one process; starts its own Redis when REDIS_URL is not set', {
    roles: { api: true, engine: true, worker: true },
    mayStartRedis: true,
  });
  role('api', 'run the HTTP API alone', { roles: { api: true }, mayStartRedis: false });
  role('engine', 'run an engine alone: it takes the turns of runs', {
    roles: { engine: true },
    mayStartRedis: false,
  });
  role('worker', 'run a worker alone', { roles: { worker: true }, mayStartRedis: false });
}

function clientOf(
  program: Command,
  { terminal, keyboard, interrupt, environment }: ProgramOptions,
  finish: (code: ExitCode) => void,
): WithClient {
  return async (verb) => {
    const { url, json } = await globalOptions(program, environment);
    const codec = codecOf(environment);
    const plain = createHttpClient({
      baseUrl: url,
      ...keyOf(environment),
      ...(json ? {} : { onReach: createReachLines(terminal) }),
    });
    const client = codec === null ? plain : decryptingClient(plain, codec);
    const encrypting = codec && encryptingClient(plain, codec);
    try {
      finish(await verb({ client, encrypting, json, terminal, keyboard, interrupt }));
    } finally {
      await client.close();
    }
  };
}

/** null: nothing is decrypted. Throws a usage error that does not show the keys. */
function codecOf({ ADJUTANT_ENCRYPTION_KEYS: text = '' }: Environment): PayloadCodec | null {
  if (text === '') return null;
  const read = readKeyText(text);
  if (!read.ok)
    throw usage(`ADJUTANT_ENCRYPTION_KEYS ${read.message}.`, 'Correct the variable, or unset it.');
  return aesCodec(read.keys);
}

/** The key that verbs send. Throws a usage error that does not show it. */
function keyOf({ ADJUTANT_API_KEY: apiKey = '' }: Environment): { apiKey?: string } {
  if (apiKey === '') return {};
  if (/^[\x21-\x7E]+$/.test(apiKey)) return { apiKey };
  throw usage('ADJUTANT_API_KEY holds a character that no key has.', 'Copy the key again, without spaces.');
}

function keysOf(
  program: Command,
  { terminal, environment }: ProgramOptions,
  finish: (code: ExitCode) => void,
): WithKeys {
  return async (verb) => {
    const { url, json } = await globalOptions(program, environment);
    const keys = createAccessClient({ baseUrl: url, ...keyOf(environment) });
    finish(await verb({ keys, json, terminal }));
  };
}

function archiveOf(
  program: Command,
  { terminal, environment }: ProgramOptions,
  finish: (code: ExitCode) => void,
): WithArchive {
  return async (verb) => {
    const { url, json } = await globalOptions(program, environment);
    const archive = createArchiveClient({ baseUrl: url, ...keyOf(environment) });
    finish(await verb({ archive, json, terminal }));
  };
}

function addSetupVerbs(
  program: Command,
  { terminal, interrupt, environment }: ProgramOptions,
  finish: (code: ExitCode) => void,
): void {
  program
    .command('doctor')
    .description('check Redis, the MCP servers and the service; for each fault, how to fix it')
    .option('--config <file>', 'the configuration; default: adjutant.json here')
    .action(async (given: { config?: string }) =>
      finish(
        await doctor(terminal, interrupt, {
          ...given,
          ...(await globalOptions(program, environment)),
          ...keyOf(environment),
        }),
      ),
    );
  program
    .command('init')
    .description('write a first adjutant.json')
    .option(
      '--directive',
      'instead create a directive/ folder: procedure, context and templates for agents',
      false,
    )
    .action(async ({ directive }: { directive: boolean }) =>
      finish(await (directive ? initDirective : init)(terminal, process.cwd())),
    );
}
