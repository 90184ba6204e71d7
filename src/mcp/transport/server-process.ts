/** A server's process in its own process group: started, watched, and ended with everything that it started.
 *  It must never leave a member of the group alive once `end` has returned. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import type { StdioTransportOptions } from '../server-options.ts';

/** How long the process may take to exit once its stdin is closed, and again after SIGTERM. Milliseconds. */
const EXIT_MS = 1_000;
/** How long something outside its group may hold the pipes open after its exit. Milliseconds. */
const PIPE_MS = 500;

export interface ServerProcess {
  readonly pid: number;
  readonly stdin: ChildProcessWithoutNullStreams['stdin'];
  readonly stdout: ChildProcessWithoutNullStreams['stdout'];
  readonly stderr: ChildProcessWithoutNullStreams['stderr'];
  /** Resolves with a readable reason once the process is gone and its pipes are closed. */
  readonly gone: Promise<string>;
  /** Closes stdin, then SIGTERM, then SIGKILL to the whole group. `hurry` skips the wait on stdin. */
  end(hurry: boolean): Promise<void>;
}

/** Rejects with the spawn error (ENOENT, EACCES, …) when the command cannot be started. */
export async function startServerProcess(options: StdioTransportOptions): Promise<ServerProcess> {
  const child = spawn(options.command, [...options.args], {
    // Its own group: wrappers such as npx leave grandchildren, and one signal must reach all of them.
    detached: true,
    env: { ...getDefaultEnvironment(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...options.user,
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(explained(error, options)));
  });
  return watch(child, child.pid ?? 0);
}

/** Node reports a missing folder, and arguments in the command, as a program that does not exist. */
function explained(error: NodeJS.ErrnoException, { command, cwd }: StdioTransportOptions): Error {
  const [program = '', ...others] = command.trim().split(/\s+/);
  if (error.code !== 'ENOENT') return error;
  if (cwd !== undefined && !existsSync(cwd)) error.message += `: the folder ${cwd} does not exist`;
  else if (others.length > 0)
    error.message += `: \`command\` is the program alone, so write ${program} there and the rest in \`args\``;
  return error;
}

function watch(child: ChildProcessWithoutNullStreams, pid: number): ServerProcess {
  // After the spawn, 'error' only reports that a signal could not be sent.
  child.on('error', () => {});
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      signalGroup(pid, 'SIGKILL');
      resolve(signal === null ? `exited with code ${code}` : `was killed by ${signal}`);
    });
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const gone = exited.then(async (how) => {
    if (!(await within(closed, PIPE_MS))) for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
    return how;
  });
  const { stdin, stdout, stderr } = child;
  return { pid, stdin, stdout, stderr, gone, end: (hurry) => end(child, pid, gone, hurry) };
}

async function end(
  child: ChildProcessWithoutNullStreams,
  pid: number,
  gone: Promise<unknown>,
  hurry: boolean,
): Promise<void> {
  child.stdin.end();
  if (!hurry && (await within(gone, EXIT_MS))) return;
  signalLiving(child, pid, 'SIGTERM');
  if (await within(gone, EXIT_MS)) return;
  signalLiving(child, pid, 'SIGKILL');
  await gone;
}

/** Once the leader has exited, its group is dead, and its id may belong to another process. */
function signalLiving(child: ChildProcessWithoutNullStreams, pid: number, signal: NodeJS.Signals): void {
  if (child.exitCode === null && child.signalCode === null) signalGroup(pid, signal);
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: the group is empty.
  }
}

async function within(event: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const inTime = await Promise.race([event.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}
