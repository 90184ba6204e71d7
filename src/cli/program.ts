/** The command line: its global options, the context of its verbs, and the exit code. */
import { Command, CommanderError, Help } from 'commander';
import {
  createAccessClient,
  createArchiveClient,
  createHttpClient,
  createRunClient,
} from '../client/http-client.ts';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { PayloadCodec } from '../contract/encrypted/encrypted.ts';
import { aesCodec } from '../platform/encryption/aes-codec.ts';
import { decryptingClient, encryptingClient } from '../platform/encryption/encrypted-client.ts';
import { readKeyText } from '../platform/encryption/key-text.ts';
import { localServiceUrl } from '../platform/redis/private-redis.ts';
import { ADJUTANT } from './command-name.ts';
import { examples } from './examples.ts';
import { report } from './explanation.ts';
import { CliFailure, EXIT, type ExitCode, usage } from './failure.ts';
import type { CommandLine } from './invocation.ts';
import type { Keyboard } from './keyboard.ts';
import { urlOf } from './options/option-values.ts';
import { useProxies } from './proxies.ts';
import type { Terminal } from './terminal.ts';
import { VERBS } from './verbs.ts';

const DEFAULT_URL = 'http://127.0.0.1:7420';

interface ProgramOptions {
  readonly terminal: Terminal;
  /** null: there is no person to ask. */
  readonly keyboard: Keyboard | null;
  /** Aborts on an interrupt from the keyboard, or when the process must stop. */
  readonly interrupt: AbortSignal;
  readonly version: string;
  readonly environment: Environment;
}

type Environment = Readonly<Record<string, string | undefined>>;

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
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    });
  const line = commandLine(program, options, finish);
  for (const { group, verbs } of VERBS) {
    program.commandsGroup(group);
    for (const add of verbs) add(line);
  }
  const help = new Command('help').argument('[verb]').description('show the help of a verb');
  program.addHelpCommand(help.helpGroup('Set up and run:'));
  examples(program, [
    'up',
    'call everything.get-sum a=2 b=3',
    `ask 'What is in this folder?'`,
    'requests --status failed --since 2h',
  ]);
  program.addHelpText(
    'after',
    `\nAll times are UTC. \`${ADJUTANT} <verb> --help\` has options and examples.`,
  );
  showOwnHelpAfterError(program, ADJUTANT);
  return program;
}

/** After a wrong line, the help of the verb that was meant is named. */
function showOwnHelpAfterError(command: Command, path: string): void {
  command.showHelpAfterError(
    `(${path} --help lists the ${command.commands.length > 0 ? 'verbs and ' : ''}options)`,
  );
  for (const below of command.commands) showOwnHelpAfterError(below, `${path} ${below.name()}`);
}

function commandLine(
  program: Command,
  { terminal, keyboard, interrupt, version, environment }: ProgramOptions,
  finish: (code: ExitCode) => void,
): CommandLine {
  const given = (): { url?: string; json: boolean } => program.opts();
  const service = async (): Promise<{ url: string; apiKey?: string }> => ({
    url: given().url ?? (await serviceUrl(environment)),
    ...keyOf(environment),
  });
  const place = async (): Promise<{ baseUrl: string; apiKey?: string }> => {
    const { url, ...key } = await service();
    return { baseUrl: url, ...key };
  };
  return {
    program,
    version,
    local: async (verb) =>
      finish(await verb({ terminal, interrupt, json: given().json, version, environment, service })),
    withClient: async (verb) => {
      const { json } = given();
      const onReach = json ? {} : { onReach: createReachLines(terminal) };
      const at = await place();
      const clients = clientsOf(createHttpClient({ ...at, ...onReach }), environment);
      const archive = createArchiveClient(at);
      const foreignRuns = createRunClient(at);
      try {
        const { baseUrl } = at;
        const services = { ...clients, baseUrl, archive, foreignRuns };
        finish(await verb({ ...services, json, terminal, keyboard, interrupt }));
      } finally {
        await clients.client.close();
      }
    },
    withKeys: async (verb) =>
      finish(await verb({ keys: createAccessClient(await place()), json: given().json, terminal })),
  };
}

function clientsOf(
  plain: DirectiveClient,
  environment: Environment,
): { client: DirectiveClient; encrypting: DirectiveClient | null } {
  const codec = codecOf(environment);
  if (codec === null) return { client: plain, encrypting: null };
  return { client: decryptingClient(plain, codec), encrypting: encryptingClient(plain, codec) };
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

/** `program.name()` is what a shell completes, so it stays. */
function usageLine(command: Command): string {
  return new Help().commandUsage(command).replace(/^adjutant/, ADJUTANT);
}

/** Called with each failed attempt to reach the service, and null after a success. */
export function createReachLines(terminal: Terminal): (failure: Error | null) => void {
  let awaySinceMs: number | null = null;
  return (failure) => {
    if (failure === null && awaySinceMs !== null) {
      const seconds = ((performance.now() - awaySinceMs) / 1_000).toFixed(1);
      terminal.err(terminal.paintErr('dim', `the service answers again after ${seconds} s`));
      awaySinceMs = null;
    }
    if (failure === null || awaySinceMs !== null) return;
    awaySinceMs = performance.now();
    const reason = failure.message.replace(/\.$/, '');
    const line = `${reason}; what was accepted is kept, and this command tries again until the service answers`;
    terminal.err(terminal.paintErr('yellow', line));
  };
}
