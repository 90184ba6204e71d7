/** `adjutant init`: writes a first adjutant.json.
 *  It must never overwrite a file. */
import { ADJUTANT } from '../command-name.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import type { Terminal } from '../terminal.ts';
import { initDirective } from './directive-folder.ts';
import type { CommandLine } from '../invocation.ts';

const FILE = 'adjutant.json';

/** Providers with a key in the environment need no entry; these two need no key. */
const SAMPLE = {
  mcpServers: {
    everything: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything', 'stdio'] },
    filesystem: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] },
  },
  providers: {
    ollama: { type: 'openai-compatible', base_url: 'http://127.0.0.1:11434/v1' },
    demo: { type: 'scripted' },
  },
  models: { demo: 'demo:script' },
  agents: {
    default: {
      description: 'Answers questions with the tools of both servers',
      model_alias: 'fast',
      tools: ['everything.*', 'filesystem.*'],
      policies: { approvals: { 'filesystem.write_file': 'ask' } },
    },
  },
};

export function addInit({ program, local }: CommandLine): void {
  program
    .command('init')
    .description('write a first adjutant.json')
    .option(
      '--directive',
      'instead create a directive/ folder: procedure, context and templates for agents',
      false,
    )
    .action(async ({ directive }: { directive: boolean }) =>
      local(async ({ terminal }) => (directive ? initDirective : init)(terminal, process.cwd())),
    );
}

async function init(terminal: Terminal, folder: string): Promise<ExitCode> {
  try {
    await writeFile(join(folder, FILE), `${JSON.stringify(SAMPLE, null, 2)}\n`, { flag: 'wx' });
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException, folder);
  }
  terminal.out(`wrote ${FILE}`);
  terminal.err(`next: ${ADJUTANT} up, then`);
  terminal.err(`  ${ADJUTANT} call everything.get-sum '{"a": 2, "b": 3}'`);
  terminal.err(
    `  ${ADJUTANT} ask "What is in this folder?"    with ANTHROPIC_API_KEY set; --alias names another model`,
  );
  return EXIT.done;
}

function explained(error: NodeJS.ErrnoException, folder: string): CliFailure {
  if (error.code === 'EEXIST') {
    return new CliFailure({
      what: `${FILE} already exists here, and is not changed.`,
      how: 'Edit it, or run init in another folder.',
    });
  }
  return new CliFailure({
    what: `${folder} cannot be written: ${error.message}`,
    how: 'Run init in a folder that you may write to.',
  });
}
