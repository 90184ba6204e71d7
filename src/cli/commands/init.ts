/** `adjutant init`: writes a first configuration, and the files of a template. Never overwrites a file. */
import { existsSync, readFileSync, statSync } from 'node:fs';
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
  const existing = files.filter(([path]) => existsSync(join(folder, path)));
  const kept = new Set(existing.filter(([path, content]) => isFile(join(folder, path), content)));
  const others = existing.filter((file) => !kept.has(file)).map(([path]) => path);
  if (others.length > 0)
    throw new CliFailure({
      what: `Nothing is written: other files are here already under ${others.join(', ')}.`,
      how: 'Rename or edit them, or run init in another folder.',
    });
  for (const file of files) {
    const [path, content] = file;
    if (!kept.has(file)) await write(join(folder, path), content);
    terminal.out(`${kept.has(file) ? 'kept' : 'wrote'} ${path}`);
  }
  for (const line of nextLines(folder, template)) terminal.err(line);
  return EXIT.done;
}

/** Whether the file of an earlier `init` has this content still. */
function isFile(path: string, content: string): boolean {
  return statSync(path).isFile() && readFileSync(path, 'utf8') === content;
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

function nextLines(folder: string, template: Template | null): string[] {
  const imported = template === null ? [] : template === 'client' ? ['adjutant'] : ['adjutant', 'zod'];
  const missing = imported.filter((name) => !existsSync(join(folder, 'node_modules', name)));
  const install = missing.length === 0 ? '' : `npm install ${missing.join(' ')} && `;
  return [
    `next: ${install}${ADJUTANT} up, then in a second terminal`,
    ...COMMANDS[template ?? 'none'].map((line) => `  ${line}`),
  ];
}

const ASK = `${ADJUTANT} ask "What is 17*23, and which files are in the examples folder?"`;

/** A Node before 22.18 got this flag from scripts/adjutant.mjs, and needs it for other programs, too. */
const TYPES_FLAG = '--experimental-strip-types';
const RUN_CLIENT = `node ${process.execArgv.includes(TYPES_FLAG) ? `${TYPES_FLAG} ` : ''}client.mts`;

const COMMANDS: Readonly<Record<Template | 'none', readonly string[]>> = {
  none: [`${ADJUTANT} call everything.get-sum a=2 b=3`, ASK],
  tools: [`${ADJUTANT} call shop.find_order order=1001`, `${ADJUTANT} call shop.refund order=1001`],
  agent: [`${ADJUTANT} ask --agent clerk "Please refund order 1001"`],
  client: [RUN_CLIENT, ASK],
};
