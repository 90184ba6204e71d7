/** `adjutant init --directive`, `update`, `bundle`: makes, renews and shows a directive/ folder.
 *  It must never need a service or a configuration. */
import { ADJUTANT } from '../command-name.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import type { Terminal } from '../terminal.ts';
import { Argument } from 'commander';
import type { CommandLine } from '../invocation.ts';

type Starter = typeof import('../../servers/directive/starter.ts');
type FileChange = Awaited<ReturnType<Starter['writeStarter']>>[number];
type Template = Parameters<typeof import('../../servers/directive/bundle.ts').bundleOf>[1];

/** A command of the upstream project, which tools repeat to the letter; here it does not exist. */
const UPSTREAM_FIX = / Run 'directive init' to create it\.$/;

export function addFolder({ program, local }: CommandLine): void {
  program
    .command('update')
    .description('renew the procedure and the templates in directive/; your context and specs stay')
    .option('--dry-run', 'only say what would change', false)
    .action(async ({ dryRun }: { dryRun: boolean }) =>
      local(async ({ terminal }) => updateDirective(terminal, process.cwd(), dryRun)),
    );
  program
    .command('bundle')
    .description('print a template with procedure and context, as the tools return it')
    .addArgument(new Argument('<template>').choices(TEMPLATES))
    .option('--root <folder>', 'the folder that holds directive/; default: this folder', '.')
    .action(async (template: (typeof TEMPLATES)[number], { root }: { root: string }) =>
      local(async ({ terminal }) => bundle(terminal, root, template)),
    );
}

/** As `bundle.ts` of the server names them; a test compares. */
const TEMPLATES = ['spec_template.md', 'impact_template.md', 'tdr_template.md'] as const;

export async function initDirective(terminal: Terminal, place: string): Promise<ExitCode> {
  const { writeStarter } = await import('../../servers/directive/starter.ts');
  const changes = await writing(place, async () => writeStarter(place));
  printChanges(terminal, changes);
  const written = changes.filter(({ change }) => change !== 'kept').length;
  terminal.out(`Initialized directive/ (copied ${written}, skipped ${changes.length - written})`);
  terminal.err('next: write down the facts of this repository in directive/reference/agent_context.md');
  terminal.err('and add the tools to an agent, as in its mcpServers:');
  terminal.err(
    '  "directive": { "command": "npx", "args": ["adjutant", "directive-server", "--root", "."] }',
  );
  return EXIT.done;
}

async function updateDirective(terminal: Terminal, place: string, dryRun: boolean): Promise<ExitCode> {
  const { renewStarter } = await import('../../servers/directive/starter.ts');
  const changes = await writing(place, async () => renewStarter(place, !dryRun));
  if (changes === null) {
    throw new CliFailure({
      what: 'There is no directive/ folder here.',
      how: `Run \`${ADJUTANT} init --directive\`, which creates it.`,
    });
  }
  printChanges(terminal, changes);
  const written = changes.filter(({ change }) => change !== 'kept').length;
  const verb = dryRun ? 'Would update' : 'Updated';
  terminal.out(`${verb} directive/ (copied ${written}, left ${changes.length - written} unchanged)`);
  return EXIT.done;
}

async function bundle(terminal: Terminal, place: string, template: Template): Promise<ExitCode> {
  const [{ bundleOf }, { createDirectiveFolder }] = await Promise.all([
    import('../../servers/directive/bundle.ts'),
    import('../../servers/directive/directive-folder.ts'),
  ]);
  const built = await bundleOf(createDirectiveFolder(place), template);
  if (built.ok) {
    terminal.out(JSON.stringify(built.value, null, 2));
    return EXIT.done;
  }
  const { message, data } = built.refusal;
  const available = data?.availableTemplates;
  if (available !== undefined) terminal.err(['Available templates:', ...available].join('\n - '));
  const said = message.replace(UPSTREAM_FIX, '');
  const what = data?.details === undefined ? said : `${said}: ${data.details}.`;
  throw new CliFailure({ what, how: data?.suggestion ?? 'Check the files in directive/reference.' });
}

function printChanges(terminal: Terminal, changes: readonly FileChange[]): void {
  for (const { change, path } of changes) terminal.out(`${change} ${path}`);
}

async function writing<Value>(place: string, write: () => Promise<Value>): Promise<Value> {
  try {
    return await write();
  } catch (error) {
    const { LinkedFolderError } = await import('../../servers/directive/starter.ts');
    if (error instanceof LinkedFolderError) throw linkedFolder(error.path);
    throw new CliFailure({
      what: `${place} cannot be written: ${(error as Error).message}`,
      how: 'Run it in a folder that you may write to.',
    });
  }
}

function linkedFolder(path: string): CliFailure {
  return new CliFailure({
    what: `${path} is a link, which may lead out of this project: nothing was written.`,
    how: `Replace ${path} by a folder, and run the command again.`,
  });
}
