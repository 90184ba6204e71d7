/** `adjutant up` in a folder of its own for the tests of a file, and the commands that use it.
 *  It must never be left running: it ends with the last test, and has to exit with 0. */
import { rm } from 'node:fs/promises';
import { expect } from 'vitest';
import { cliFolder, type Run, type Running, startCli, type StartOptions } from './cli.ts';
import { runCommand } from './command.ts';
import { shared } from './shared.ts';

export const URL_OF_A_SERVICE = /http:\/\/127\.0\.0\.1:\d+/;

interface CliService extends AsyncDisposable {
  readonly home: string;
  readonly url: string;
}

async function startService(configuration: object): Promise<CliService> {
  const home = await cliFolder({ 'adjutant.json': configuration });
  const up = startCli(['up', '--port', '0'], { cwd: home });
  const url = await up.said(URL_OF_A_SERVICE);
  return {
    home,
    url,
    async [Symbol.asyncDispose](): Promise<void> {
      up.child.kill('SIGTERM');
      expect((await up.ended).code).toBe(0);
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** `configure` is called before the first test. Commands run in the folder of the service, unless told otherwise. */
export function useCliService(configure: () => Promise<object>) {
  const service = shared(async () => startService(await configure()));

  /** In a process of its own. */
  function start(args: readonly string[], options: Partial<StartOptions> = {}): Running {
    const env = { ADJUTANT_URL: service.url, ...options.env };
    return startCli(args, { cwd: service.home, ...options, env });
  }

  return {
    service,
    start,
    run: async (args: readonly string[], options?: Partial<StartOptions>): Promise<Run> =>
      start(args, options).ended,
    /** In the process of the test. */
    cli: async (...args: string[]): Promise<Run> => runCommand(args, service.url),
  };
}
