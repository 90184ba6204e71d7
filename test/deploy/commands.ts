// Programs of this machine, run to their end.
// Must never run a shell line, so that no path needs quoting.
import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  /** Both outputs, for a message. */
  readonly output: string;
}

const MOST_OUTPUT_BYTES = 64 * 1_024 * 1_024;

/** The first program of this name on the PATH; null: there is none. */
export function programPath(name: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

export function run(command: string, args: readonly string[], options: SpawnSyncOptions = {}): Ended {
  const ended = spawnSync(command, args, { ...options, encoding: 'utf8', maxBuffer: MOST_OUTPUT_BYTES });
  const output = [ended.stdout, ended.stderr, ended.error?.message].filter(Boolean).join('\n');
  return { code: ended.status, stdout: ended.stdout ?? '', output };
}

/** What it wrote to stdout. Throws what it wrote when it failed. */
export function must(command: string, args: readonly string[], options: SpawnSyncOptions = {}): string {
  const { code, stdout, output } = run(command, args, options);
  if (code !== 0)
    throw new Error(`${command} ${args.slice(0, 4).join(' ')} … ended with ${code}:\n${output}`);
  return stdout;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
