/** The entry of the command line: connects the program to this process's terminal, signals and exit code.
 *  It must never decide anything about a verb. */
import { enableCompileCache } from 'node:module';
import { listenForStop } from './keyboard.ts';

// Before the rest loads: a signal during loading would end the process half-way.
const interrupt = listenForStop();
// Halves the start-up time; only later imports are cached.
enableCompileCache();
const [{ runCli }, { createTerminal }, { createKeyboard }, { version }] = await Promise.all([
  import('./program.ts'),
  import('./terminal.ts'),
  import('./keyboard.ts'),
  import('../version.ts'),
]);

// `adjutant tail … | head` closes the pipe, a hang-up the terminal: the reader is gone.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    if (stream === process.stdout && !interrupt.aborted) process.kill(process.pid, 'SIGTERM');
  });

const exitCode = await runCli(process.argv.slice(2), {
  terminal: createTerminal(process.stdout, process.stderr),
  keyboard: createKeyboard(process.stdin, process.stderr, () => process.kill(process.pid, 'SIGINT')),
  interrupt,
  version,
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

/** Time for what ends by itself after a stop. */
const LEFT_BEHIND_MS = 500;

// A failed verb may leave something open, such as a user's module. What a stop leaves behind,
// because it did not answer in time, must not keep the process alive either.
if (exitCode !== 0) endWhenWritten();
else setTimeout(endWhenWritten, LEFT_BEHIND_MS).unref();
