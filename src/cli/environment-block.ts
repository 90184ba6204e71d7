/** The environment as other processes see it: Linux shows to every process of the same user what this one was started with.
 *  It must never change a variable for this process itself. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Where the kernel keeps the first environment of a process, in `/proc/self/stat` (proc(5), fields counted from 1). */
const ENV_START_FIELD = 50;
const ENV_END_FIELD = 51;
/** The fields after the command, which may hold spaces, begin with the third. */
const FIRST_FIELD_AFTER_COMMAND = 3;

/**
 * From now on `/proc/<pid>/environ` of this process is empty. `process.env` stays as it is, and so does what is started
 * with it. false: not on this system.
 */
export function hideEnvironment(): boolean {
  // Another thread has a copy of the variables only.
  if (process.platform !== 'linux' || !isMainThread) return false;
  try {
    const { start, bytes } = environmentBlock();
    // Set anew, each variable is kept on the heap, and nobody reads the block any more.
    for (const [name, value] of Object.entries(process.env)) process.env[name] = value;
    const memory = openSync('/proc/self/mem', 'r+');
    writeSync(memory, Buffer.alloc(bytes), 0, bytes, start);
    closeSync(memory);
    return true;
  } catch {
    // A kernel or a sandbox without it: docs/mcp-servers.md says what to do.
    return false;
  }
}

function environmentBlock(): { start: number; bytes: number } {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - FIRST_FIELD_AFTER_COMMAND]);
  const start = field(ENV_START_FIELD);
  const bytes = field(ENV_END_FIELD) - start;
  if (!Number.isSafeInteger(start) || !(bytes > 0)) throw new Error('the kernel does not say where it is');
  return { start, bytes };
}
