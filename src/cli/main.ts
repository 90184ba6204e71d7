/** The entry of the command line: this process's terminal, signals and exit code around the program.
 *  It must never decide anything about a verb. */
import { readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { listenForStop } from './interruption.ts';

// Before the rest is loaded: a signal meanwhile would end the process half-way.
const interrupt = listenForStop();
// Halves the time to the first word; only what is imported after it is cached.
enableCompileCache();
const [{ runCli }, { createTerminal }, { createKeyboard }] = await Promise.all([
  import('./program.ts'),
  import('./terminal.ts'),
  import('./keyboard.ts'),
]);

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

// `adjutant tail … | head` closes the pipe: there is nobody left to write to.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.kill(process.pid, 'SIGTERM');
});

const exitCode = await runCli(process.argv.slice(2), {
  terminal: createTerminal(process.stdout, process.stderr),
  keyboard: createKeyboard(process.stdin, process.stderr, () => process.kill(process.pid, 'SIGINT')),
  interrupt,
  version: manifest.version,
  environment: process.env,
});
process.exitCode = exitCode;
function end(): void {
  // oxlint-disable-next-line unicorn/no-process-exit
  process.exit();
}

function endWhenWritten(): void {
  process.stdout.write('', () => process.stderr.write('', end));
}

/** For what ends by itself after a stop. */
const LEFT_BEHIND_MS = 500;

// What failed may have left something open, a user's module for one; what a stop left behind, because it did not answer in
// time, is no reason to go on either.
if (exitCode !== 0) endWhenWritten();
else setTimeout(endWhenWritten, LEFT_BEHIND_MS).unref();
