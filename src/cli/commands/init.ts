/** `adjutant init`: writes a first configuration, and the files of a template. Never overwrites a file. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { ADJUTANT } from '../command-name.ts';
import { examples } from '../examples.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine } from '../invocation.ts';
import { filesOf, type Template, TEMPLATES } from '../templates.ts';
import type { Terminal } from '../terminal.ts';
import { initDirective } from './directive-folder.ts';

interface InitOptions {
  readonly template?: Template;
  readonly directive: boolean;
}

export function addInit({ program, local }: CommandLine): void {
  const verb = program
    .command('init')
    .description('write a first adjutant.json that answers without a key')
    .addOption(
      new Option('--template <name>', 'add a module of tools, an agent with approval, or a client').choices(
        TEMPLATES,
      ),
    )
    .option(
      '--directive',
      'instead create a directive/ folder: procedure, context and templates for agents',
      false,
    )
    .action(async ({ template, directive }: InitOptions) =>
      local(async ({ terminal }) =>
        directive ? initDirective(terminal, process.cwd()) : init(terminal, process.cwd(), template ?? null),
      ),
    );
  examples(verb, ['init', 'init --template agent']);
}

async function init(terminal: Terminal, folder: string, template: Template | null): Promise<ExitCode> {
  const files = Object.entries(filesOf(template, schemaPlace(folder)));
  const existing = files.map(([path]) => path).filter((path) => existsSync(join(folder, path)));
  if (existing.length > 0)
    throw new CliFailure({
      what: `${existing.join(', ')} already exists here; nothing is written.`,
      how: 'Edit it, or run init in another folder.',
    });
  for (const [path, content] of files) {
    await write(join(folder, path), content);
    terminal.out(`wrote ${path}`);
  }
  for (const line of nextLines(template)) terminal.err(line);
  return EXIT.done;
}

async function write(path: string, content: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content, { flag: 'wx' });
  } catch (error) {
    throw new CliFailure({
      what: `${path} cannot be written: ${(error as Error).message}`,
      how: 'Run init in a folder that you may write to.',
    });
  }
}

const LOCAL_SCHEMA = './node_modules/adjutant/schemas/configuration.json';

/** The schema of the package that is installed in the folder, else that of this program. */
function schemaPlace(folder: string): string {
  if (existsSync(join(folder, LOCAL_SCHEMA))) return LOCAL_SCHEMA;
  const own = new URL('../../../schemas/configuration.json', import.meta.url);
  return existsSync(fileURLToPath(own)) ? own.href : LOCAL_SCHEMA;
}

function nextLines(template: Template | null): string[] {
  const install = template === null ? '' : 'npm install adjutant zod && ';
  return [
    `next: ${install}${ADJUTANT} dev, then in a second terminal`,
    ...COMMANDS[template ?? 'none'].map((line) => `  ${line}`),
  ];
}

const ASK = `${ADJUTANT} ask "What is 17*23, and which files are in the examples folder?"`;

const COMMANDS: Readonly<Record<Template | 'none', readonly string[]>> = {
  none: [`${ADJUTANT} call everything.get-sum a=2 b=3`, ASK],
  tools: [`${ADJUTANT} call shop.find_order order=1001`, `${ADJUTANT} call shop.refund order=1001`],
  agent: [`${ADJUTANT} ask --agent clerk "Please refund order 1001"`],
  client: ['node client.mts', ASK],
};
