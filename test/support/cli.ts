/** The command line as a process: started as by a person, with its output, its exit code and its folder.
 *  It must not import the program: processes only. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { endWithTests } from './process.ts';
import { PROGRAM } from './program.ts';

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Watched {
  readonly ended: Promise<Run>;
  /** Resolves when either output contains it; rejects when the program ends without. */
  said(pattern: RegExp): Promise<string>;
}

export interface Running extends Watched {
  readonly child: ChildProcessWithoutNullStreams;
}

export type Env = Readonly<Record<string, string>>;

export interface StartOptions {
  readonly cwd: string;
  readonly env?: Env;
  readonly stdin?: string;
}

/** No colours, service, Redis or key of the environment reach the program. */
function environment(more: Env): NodeJS.ProcessEnv {
  const { FORCE_COLOR: _, REDIS_URL: __, ADJUTANT_URL: ___, ...rest } = process.env;
  const own = Object.entries(rest).filter(([name]) => !name.endsWith('_API_KEY'));
  return { ...Object.fromEntries(own), ...more };
}

export function startCli(args: readonly string[], { cwd, env = {}, stdin = '' }: StartOptions): Running {
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd, env: environment(env) });
  endWithTests(child);
  child.stdin.end(stdin);
  const closed = once(child, 'close').then(([code]) => code as number | null);
  return { child, ...watchOutput(child, closed) };
}

/** `closed`: the exit code, when both outputs have ended. */
export function watchOutput(
  { stdout, stderr }: { readonly stdout: Readable; readonly stderr: Readable },
  closed: Promise<number | null>,
): Watched {
  const texts = { out: '', err: '' };
  const listeners = new Set<() => void>();
  const hear = (side: keyof typeof texts) => (text: string) => {
    texts[side] += text;
    for (const listener of listeners) listener();
  };
  stdout.setEncoding('utf8').on('data', hear('out'));
  stderr.setEncoding('utf8').on('data', hear('err'));
  const ended = closed.then((code) => ({ code, stdout: texts.out, stderr: texts.err }));
  const said = async (pattern: RegExp): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const look = (): void => {
      const found = pattern.exec(texts.out + texts.err);
      if (found !== null) resolve(found[0]);
    };
    listeners.add(look);
    look();
    const late = setTimeout(
      () => reject(new Error(`After 100 s still without ${String(pattern)}:\n${texts.out}${texts.err}`)),
      100_000,
    );
    void promise.finally(() => clearTimeout(late)).catch(() => {});
    void ended.then(() =>
      reject(new Error(`It ended without ${String(pattern)}:\n${texts.out}${texts.err}`)),
    );
    return promise;
  };
  return { ended, said };
}

/** A new folder with these JSON files; the caller removes it. */
export async function cliFolder(files: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'adjutant-cli-'));
  for (const [name, value] of Object.entries(files)) await writeFile(join(path, name), JSON.stringify(value));
  return path;
}
