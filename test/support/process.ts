/** Child processes of a test: started under the pinned node, read line by line, killed for real.
 *  It must never leave a child behind: the caller must call `stop` or `kill9`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { type Family, familyOf } from './process-family.ts';

export interface SpawnOptions {
  readonly cwd?: string;
  /** Added to the environment of the test; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly pid: number;
  /** Lines of stdout and stderr in the order of their arrival. */
  readonly lines: readonly string[];
  /** Settles when the process has ended; never rejects. */
  readonly exited: Promise<ChildExit>;
  /** The first line that matches, past or future; rejects when the process ends without one or the time is over. */
  waitForLine(pattern: RegExp, timeoutMs?: number): Promise<string>;
  /** The next line, whatever it is; rejects likewise. */
  nextLine(timeoutMs?: number): Promise<string>;
  write(text: string): void;
  kill9(): Promise<ChildExit>;
  /** SIGTERM, and SIGKILL after `graceMs`, 60,000 by default. Tolerates a process that has ended. */
  stop(graceMs?: number): Promise<ChildExit>;
}

/** Nine processes that start at once on a busy machine are slow; a test has a minute. */
const LONGEST_LINE_MS = 90_000;

type LineListener = (line: string) => void;

/** Children that a broken test left behind end with its process, and what they started ends with them. */
const living = new Map<ChildProcess, Family>();
process.once('exit', () => {
  for (const [child, family] of living) {
    family.end();
    // Where the system does not say what is below a process.
    child.kill('SIGKILL');
  }
});

/** Of a process that the caller has just started. */
export function endWithTests(child: ChildProcess): void {
  if (child.pid === undefined) return;
  living.set(child, familyOf(child.pid));
  child.once('close', () => living.delete(child));
}

/** A child process: `args` go to the node that runs the tests. */
export function spawnNode(args: readonly string[], options: SpawnOptions = {}): Child {
  return spawnProcess(process.execPath, args, options);
}

export function spawnProcess(command: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const child = spawn(command, args, {
    cwd: options.cwd ?? process.cwd(),
    env: { ...process.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  endWithTests(child);
  const lines: string[] = [];
  const listeners = new Set<LineListener>();
  readLines(child, lines, listeners);
  const exited = exitOf(child);
  const kill = (signal: NodeJS.Signals): void => void (child.exitCode === null && child.kill(signal));

  return {
    pid: child.pid ?? 0,
    lines,
    exited,
    waitForLine: async (pattern, timeoutMs = LONGEST_LINE_MS) =>
      waitForLine(lines, listeners, exited, pattern, timeoutMs),
    nextLine: async (timeoutMs = LONGEST_LINE_MS) => waitForLine([], listeners, exited, /^/, timeoutMs),
    write: (text) => void child.stdin.write(text),
    kill9: async () => {
      kill('SIGKILL');
      return exited;
    },
    stop: async (graceMs = 60_000) => {
      kill('SIGTERM');
      const timer = setTimeout(() => kill('SIGKILL'), graceMs);
      const exit = await exited;
      clearTimeout(timer);
      return exit;
    },
  };
}

const LOWEST_PORT = 12_000;
const PORTS = 20_000;

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    // Below those that the system gives to connections, which might take it before whoever asked.
    const port = LOWEST_PORT + Math.floor(Math.random() * PORTS);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

function readLines(child: ChildProcess, lines: string[], listeners: Set<LineListener>): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const listener of listeners) listener(line);
    });
  }
}

async function exitOf(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    child.once('error', () => resolve({ code: null, signal: null }));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

async function waitForLine(
  lines: readonly string[],
  listeners: Set<LineListener>,
  exited: Promise<ChildExit>,
  pattern: RegExp,
  timeoutMs: number,
): Promise<string> {
  const seen = lines.find((line) => pattern.test(line));
  if (seen !== undefined) return seen;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const fail = (why: string): void =>
    reject(new Error(`No line matching ${String(pattern)}: ${why}.\n${lines.slice(-40).join('\n')}`));
  const listener: LineListener = (line) => void (pattern.test(line) && resolve(line));
  listeners.add(listener);
  const timer = setTimeout(() => fail(`none within ${timeoutMs} ms`), timeoutMs);
  void exited.then((exit) => fail(`the process ended (${String(exit.code ?? exit.signal)})`));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    listeners.delete(listener);
  }
}
