/** `adjutant init`: a first adjutant.json.
 *  It must never overwrite a file. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

const FILE = 'adjutant.json';

const SAMPLE = {
  mcpServers: {
    everything: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything', 'stdio'] },
    filesystem: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] },
  },
};

export async function init(terminal: Terminal, folder: string): Promise<ExitCode> {
  try {
    await writeFile(join(folder, FILE), `${JSON.stringify(SAMPLE, null, 2)}\n`, { flag: 'wx' });
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException, folder);
  }
  terminal.out(`wrote ${FILE}`);
  terminal.err('next: adjutant up, then adjutant call everything.get-sum \'{"a": 2, "b": 3}\'');
  return EXIT.done;
}

function explained(error: NodeJS.ErrnoException, folder: string): CliFailure {
  if (error.code === 'EEXIST') {
    return new CliFailure({
      what: `${FILE} is here already, and is left as it is.`,
      how: 'Edit it, or run init in another folder.',
    });
  }
  return new CliFailure({
    what: `${folder} cannot be written: ${error.message}`,
    how: 'Run init in a folder of yours.',
  });
}
