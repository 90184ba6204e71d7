/** A command of the CLI in the process of the test: its output and exit code, without the cost of a process.
 *  It must not stand for what only a process has (stdin, signals, folder, environment): that is test/support/cli.ts. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { runCli } from '../../src/cli/program.ts';
import { createTerminal } from '../../src/cli/terminal.ts';
import { type Env, type Run, type Watched, watchOutput } from './cli.ts';

/** `url`: as ADJUTANT_URL names it. `more`: of the environment. */
export function startCommand(args: readonly string[], url: string, more: Env = {}): Watched {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const closed = Promise.all([once(stdout, 'end'), once(stderr, 'end')]);
  const code = runCli(args, {
    terminal: createTerminal(stdout, stderr),
    keyboard: null,
    interrupt: new AbortController().signal,
    version: 'of the test',
    environment: { ADJUTANT_URL: url, ...more },
  }).finally(() => {
    stdout.end();
    stderr.end();
  });
  return watchOutput(
    { stdout, stderr },
    closed.then(async () => code),
  );
}

export async function runCommand(args: readonly string[], url: string, more: Env = {}): Promise<Run> {
  return startCommand(args, url, more).ended;
}
