/** Starts a process of the service under test, kills it, and starts it again.
 *  It must never hide what the process has written: a service that fails says why. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command, Report } from './service-child.ts';

export type Start = Omit<Extract<Command, { kind: 'start' }>, 'kind' | 'movedMs'>;

export interface ServiceProcess {
  /** Address of its API; null without one. */
  readonly url: string | null;
  readonly pid: number;
  /** The newest lines that it has written, at most 1,000. */
  readonly lines: readonly string[];
  moveClock(movedMs: number): void;
  /** As `kill -9`. Resolves when it has ended. */
  kill(): Promise<void>;
  /** As at a deployment: it lets its work come to an end. */
  stop(): Promise<void>;
}

const MOST_LINES = 1_000;
const STOP_MS = 10_000;
const IS_SOURCE = import.meta.url.endsWith('.ts');
const CHILD = fileURLToPath(new URL(`./service-child.${IS_SOURCE ? 'ts' : 'js'}`, import.meta.url));
/** In a clone the modules of a user import the sources. */
const OF_SOURCES = IS_SOURCE ? ['--conditions=adjutant-source'] : [];

/** Rejects with what the service says when it cannot start. */
export async function startServiceProcess(start: Start, movedMs: number): Promise<ServiceProcess> {
  // Without what the test runner has given this process: the service is as in production.
  const child = fork(CHILD, [], { execArgv: OF_SOURCES, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data) => keepLines(lines, String(data)));
  const ended = once(child, 'exit');
  ended.catch(() => {});
  send(child, { kind: 'start', ...start, movedMs });
  const url = await untilWorks(child, ended, lines);
  return {
    url,
    pid: child.pid ?? 0,
    lines,
    moveClock: (ms) => send(child, { kind: 'clock', movedMs: ms }),
    kill: async () => end(child, ended, 'SIGKILL'),
    stop: async () => {
      send(child, { kind: 'stop' });
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(late);
    },
  };
}

async function untilWorks(child: ChildProcess, ended: Promise<unknown>, lines: readonly string[]) {
  const reported = once(child, 'message').then(([report]) => report as Report);
  const gone = ended.then((): Report => ({ kind: 'failed', why: 'its process has ended' }));
  const report = await Promise.race([reported, gone]);
  if (report.kind === 'works') return report.url;
  await end(child, ended, 'SIGKILL');
  throw new Error(['The service under test cannot start:', report.why, ...lines.slice(-20)].join('\n'));
}

async function end(child: ChildProcess, ended: Promise<unknown>, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await ended;
}

function send(child: ChildProcess, command: Command): void {
  if (child.connected) child.send(command, () => {});
}

function keepLines(lines: string[], text: string): void {
  lines.push(...text.split('\n').filter((line) => line !== ''));
  lines.splice(0, lines.length - MOST_LINES);
}
