/** The Node that the project pins, and how to run a program under it in place of this process.
 *  It must pass on signals and the exit code unchanged. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { ancestors, endWith, watchArgument } from './parent-watch.mjs';
import { Unprepared } from './unprepared.mjs';

/** The oldest Node that runs the code, as in `engines` of package.json. */
const LEAST = [22, 15];

/** The same signal within this time is a repeat. */
const REPEAT_MS = 1_000;

/** The pinned Node of a clone; this Node when it is new enough. */
export function nodePath(root) {
  const pinned = join(root, 'node_modules', '.bin', 'node');
  if (existsSync(pinned)) return pinned;
  if (isNewEnough(process.versions.node)) return process.execPath;
  const inClone = existsSync(join(root, 'package-lock.json'));
  const otherWay = inClone ? ', or let npm run install scripts so that the pinned one gets installed' : '';
  throw new Unprepared(
    `Node ${process.versions.node} is too old: install Node ${LEAST.join('.')} or newer (https://nodejs.org)${otherWay}.`,
  );
}

function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]);
}

/** In a clone, `adjutant/…` in users' modules means the sources: nothing is built. */
export const FROM_SOURCES = '--conditions=adjutant-source';

/** The environment in which the project's own commands, and the folders of `extra` files, come first on the PATH. */
export function environmentOf(root, extra = []) {
  const folders = [join(root, 'node_modules', '.bin'), process.env.PATH ?? '', ...extra.map(dirname)];
  return { ...process.env, PATH: [...new Set(folders.join(delimiter).split(delimiter))].join(delimiter) };
}

/** Runs `node` with these arguments: same terminal, same signals, same exit code and, where Node can, the same process. */
export function become(node, args, { cwd = process.cwd(), env }) {
  if (typeof process.execve === 'function') replaceBy(node, args, { cwd, env });
  else {
    hideEnvironment();
    waitFor(spawn(node, [watchArgument([process.pid], 'SIGKILL'), ...args], { stdio: 'inherit', cwd, env }));
  }
}

/**
 * Empties `/proc/<pid>/environ` of this process, which lives as long as the program: every process of the same user, and
 * so each tool server, may read it. The program does the same for itself in src/cli/start-fault.ts, which Node 20
 * cannot load.
 */
function hideEnvironment() {
  if (process.platform !== 'linux') return;
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1).split(' ');
    // `env_start` and `env_end` of proc(5), where the state is the third field.
    const [start, end] = [Number(fields[50 - 3]), Number(fields[51 - 3])];
    if (!(end > start && Number.isSafeInteger(start))) return;
    // Set again, each variable is kept on the heap, and nothing reads the block any more.
    for (const [name, value] of Object.entries(process.env)) process.env[name] = value;
    const memory = openSync('/proc/self/mem', 'r+');
    writeSync(memory, Buffer.alloc(end - start), 0, end - start, start);
    closeSync(memory);
  } catch {
    // A kernel or a sandbox does not allow it: docs/mcp-servers.md describes what to do.
  }
}

/** Node's warning about a new interface is never printed: this process ends before. */
function replaceBy(node, args, { cwd, env }) {
  const starters = npmAbove();
  const watch = starters === null ? [] : [watchArgument(starters, 'SIGTERM')];
  process.chdir(cwd);
  process.execve(node, [node, ...watch, ...args], env);
}

function waitFor(child) {
  const starters = npmAbove();
  if (starters !== null) endWith(starters, 'SIGTERM');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, passingOn(signal, child));
  child.once('error', (error) => {
    process.stderr.write(`adjutant: ${child.spawnfile} did not start: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => endAs(code, signal));
}

/**
 * The processes between npm and this one, when npm started it in the foreground; else null. npm passes on signals, but
 * not SIGKILL, and under `npx` to a shell that passes on none.
 */
function npmAbove() {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = process.env;
  if (event === 'npx' && /^'?adjutant\b/.test(script)) return ancestors();
  // The shell of the scripts in package.json has become this process.
  return script.startsWith('exec node scripts/run.mjs') ? [process.ppid] : null;
}

/** A signal to a whole group arrives twice, from its sender and from npm: the child gets it once. */
function passingOn(signal, child) {
  let passedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (reachesBoth(signal) || performance.now() - passedAt < REPEAT_MS) return;
    passedAt = performance.now();
    child.kill(signal);
  };
}

/** Ctrl-C in a terminal goes to the whole foreground group: passing it on would interrupt the child twice. */
function reachesBoth(signal) {
  return signal === 'SIGINT' && process.stdin.isTTY === true;
}

function endAs(code, signal) {
  if (signal === null) {
    process.exitCode = code ?? 1;
    return;
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
