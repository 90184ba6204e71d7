/** Hides this process's environment: Linux shows it to every process of the same user.
 *  It must never change a variable for this process itself. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Where the kernel keeps the initial environment of a process, in `/proc/self/stat` (proc(5), fields counted from 1). */
const ENV_START_FIELD = 50;
const ENV_END_FIELD = 51;
/** The fields after the command, which may hold spaces, begin with the third. */
const FIRST_FIELD_AFTER_COMMAND = 3;

/**
 * Empties `/proc/<pid>/environ` of this process. `process.env` stays as it is, also for child processes. false: not
 * possible on this system.
 */
export function hideEnvironment(): boolean {
  // Another thread has only a copy of the variables.
  if (process.platform !== 'linux' || !isMainThread) return false;
  try {
    const { start, bytes } = environmentBlock();
    // Set again, each variable is kept on the heap, and nothing reads the block any more.
    for (const [name, value] of Object.entries(process.env)) process.env[name] = value;
    const memory = openSync('/proc/self/mem', 'r+');
    writeSync(memory, Buffer.alloc(bytes), 0, bytes, start);
    closeSync(memory);
    return true;
  } catch {
    // A kernel or a sandbox does not allow it: docs/mcp-servers.md describes what to do.
    return false;
  }
}

function environmentBlock(): { start: number; bytes: number } {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - FIRST_FIELD_AFTER_COMMAND]);
  const start = field(ENV_START_FIELD);
  const bytes = field(ENV_END_FIELD) - start;
  if (!Number.isSafeInteger(start) || !(bytes > 0)) throw new Error('the kernel does not report its place');
  return { start, bytes };
}
