/** The verbs about a `directive/` folder, and their options.
 *  It must never do the work of a verb, nor need a service. */
import { Argument, type Command, Option } from 'commander';
import { bundle, updateDirective } from './commands/directive-folder.ts';
import { directiveServer } from './commands/directive-server.ts';
import type { ExitCode } from './failure.ts';
import { wholeNumber } from './option-values.ts';
import type { Terminal } from './terminal.ts';

export interface FolderVerbsOptions {
  readonly terminal: Terminal;
  readonly interrupt: AbortSignal;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface ServerOptions {
  readonly root: string;
  readonly names: 'exact' | 'portable';
  readonly log: boolean;
  readonly http?: number;
  readonly host: string;
  readonly allowHost: readonly string[];
}

type Finish = (code: ExitCode) => void;

const LOG_VARIABLE = 'ADJUTANT_DIRECTIVE_LOG';

export function addFolderVerbs(program: Command, options: FolderVerbsOptions, finish: Finish): void {
  addServer(program, options, finish);
  addUpdate(program, options, finish);
  addBundle(program, options, finish);
}

function addServer(program: Command, verbs: FolderVerbsOptions, finish: Finish): void {
  const { terminal, interrupt, version, environment } = verbs;
  program
    .command('directive-server')
    .description('serve a directive/ folder to agents: an MCP server with five tools, read-only')
    .option('--root <folder>', 'the folder that holds directive/; default: this folder', '.')
    .addOption(
      new Option('--names <style>', 'portable: tool names without / and ., for hosts that refuse them')
        .choices(['exact', 'portable'])
        .default('exact'),
    )
    .option('--log', `a line on stderr for each call, without content; also ${LOG_VARIABLE}=1`, false)
    .option(
      '--http <port>',
      'over Streamable HTTP instead of stdin and stdout; 0 = any free port',
      wholeNumber,
    )
    .option('--host <host>', 'with --http: where it listens; default: 127.0.0.1', '127.0.0.1')
    .option('--allow-host <names...>', 'with --http: more names under which clients reach it', [])
    .action(async (given: ServerOptions) => {
      const { root, names, http: port, host, allowHost: allowedHosts } = given;
      const log = given.log || isOn(environment[LOG_VARIABLE]);
      const http = port === undefined ? null : { port, host, allowedHosts };
      const options = { root, names, log, http, version, environment };
      finish(await directiveServer(terminal, interrupt, options));
    });
}

function addUpdate(program: Command, { terminal }: FolderVerbsOptions, finish: Finish): void {
  program
    .command('update')
    .description('renew the procedure and the templates in directive/; your context and specs stay')
    .option('--dry-run', 'only say what would change', false)
    .action(async ({ dryRun }: { dryRun: boolean }) =>
      finish(await updateDirective(terminal, process.cwd(), dryRun)),
    );
}

/** As `bundle.ts` of the server names them; a test compares. */
const TEMPLATES = ['spec_template.md', 'impact_template.md', 'tdr_template.md'] as const;

function addBundle(program: Command, { terminal }: FolderVerbsOptions, finish: Finish): void {
  program
    .command('bundle')
    .description('print a template with procedure and context, as the tools return it')
    .addArgument(new Argument('<template>').choices(TEMPLATES))
    .option('--root <folder>', 'the folder that holds directive/; default: this folder', '.')
    .action(async (template: (typeof TEMPLATES)[number], { root }: { root: string }) =>
      finish(await bundle(terminal, root, template)),
    );
}

function isOn(value: string | undefined): boolean {
  return /^(1|true|yes|on)$/i.test(value ?? '');
}
