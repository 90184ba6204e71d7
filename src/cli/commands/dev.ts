/** `adjutant dev`: runs `up` in a child process, and starts it again when the configuration or a module has changed.
 *  Accepted work survives each restart, as it survives any other. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { isObject } from '../../contract/json/json-object.ts';
import { pause } from '../../platform/lifecycle.ts';
import { openBrowser } from '../browser.ts';
import { examples } from '../examples.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine } from '../invocation.ts';
import { wholeNumber } from '../options/option-values.ts';
import { hideEnvironment } from '../start-fault.ts';
import type { Terminal } from '../terminal.ts';

interface DevOptions {
  readonly config?: string;
  readonly port?: number;
  readonly host?: string;
  readonly traces?: boolean;
  readonly web?: boolean;
}

type ConfigFile = ReturnType<typeof import('../../config/file.ts').readConfigFile>;

/** Time between two checks of the files. */
const CHECK_EVERY_MS = 300;

export function addDev({ program, local }: CommandLine): void {
  const verb = program
    .command('dev')
    .description(
      'run everything as `up` does, and restart when the configuration, an agent or a module changes',
    )
    .option('--config <file>', 'the configuration; default: adjutant.json here')
    .option('--port <port>', 'default: ADJUTANT_PORT or 7420; 0 = any free port', wholeNumber)
    .option('--host <host>', 'default: ADJUTANT_HOST or 127.0.0.1')
    .option('--traces', 'print the tree of each request when it has ended')
    .option('--web', 'open the console in a browser')
    .action(async (given: DevOptions) =>
      local(async ({ terminal, interrupt, environment }) => {
        const file = resolve(given.config ?? (environment['ADJUTANT_CONFIG'] || 'adjutant.json'));
        return dev(terminal, interrupt, file, given);
      }),
    );
  examples(verb, ['dev', 'dev --web --traces']);
}

async function dev(
  terminal: Terminal,
  stop: AbortSignal,
  file: string,
  options: DevOptions,
): Promise<ExitCode> {
  // This process lives as long as its child, and every process of the user may read its first environment.
  hideEnvironment();
  const { readConfigFile } = await import('../../config/file.ts');
  const stateNow = (): State => stateOf(file, readConfigFile(file));
  let state = stateNow();
  for (let starts = 0; !stop.aborted; starts += 1) {
    const child = startUp(terminal, options, starts === 0 && options.web === true);
    const exit = once(child, 'exit');
    let isWanted = true;
    void exit.then(() => {
      if (isWanted && !stop.aborted) terminal.err(terminal.paintErr('yellow', WAITS));
    });
    const changed = await nextChange(stateNow, state, stop);
    isWanted = false;
    if (changed !== null) {
      state = changed.state;
      terminal.err(terminal.paintErr('cyan', `${changed.names.join(', ')} changed: restarting`));
    }
    child.kill('SIGTERM');
    await exit;
  }
  return EXIT.done;
}

const WAITS = 'The service has stopped; the next change of a file starts it again.';

const PARENT_WATCH = 'scripts/parent-watch.mjs';

/** The module that stops the child when this process is killed. */
function parentWatch(): string {
  const url = new URL(`../../../${PARENT_WATCH}`, import.meta.url);
  url.search = new URLSearchParams({ expected: JSON.stringify([process.pid]), signal: 'SIGTERM' }).toString();
  return url.href;
}

/** The program as it was started, with the verb `up`. */
function startUp(terminal: Terminal, { config, port, host, traces }: DevOptions, web: boolean): ChildProcess {
  const args = [
    ...(config === undefined ? [] : ['--config', config]),
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...(host === undefined ? [] : ['--host', host]),
    ...(traces === true ? ['--traces'] : []),
  ];
  const flags = process.execArgv.filter((flag) => !flag.includes(PARENT_WATCH));
  const program = [...flags, `--import=${parentWatch()}`, process.argv[1] ?? '', 'up', ...args];
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] });
  createInterface({ input: child.stdout }).on('line', (line) => {
    terminal.out(line);
    const url = /^adjutant listens on (\S+)$/.exec(line)?.[1];
    if (web && url !== undefined) openBrowser(`${url}/console`);
  });
  return child;
}

/** File → its time and size. */
type State = ReadonlyMap<string, string>;

/** The files that differ from `before` as soon as there are some; null when `stop` aborts. */
async function nextChange(
  stateNow: () => State,
  before: State,
  stop: AbortSignal,
): Promise<{ readonly names: readonly string[]; readonly state: State } | null> {
  while (!stop.aborted) {
    await pause(CHECK_EVERY_MS, stop);
    const state = stateNow();
    const all = [...new Set([...before.keys(), ...state.keys()])];
    const differs = all.filter((path) => before.get(path) !== state.get(path));
    // A configuration that cannot be read names no files: they did not change.
    const edited = differs.filter((path) => before.has(path) && state.has(path));
    const names = edited.length > 0 ? edited : differs;
    // An editor writes several times: the state must have settled.
    if (names.length > 0 && (await isSettled(stateNow, state, stop)))
      return { names: names.map((path) => relative(process.cwd(), path)), state };
  }
  return null;
}

async function isSettled(stateNow: () => State, state: State, stop: AbortSignal): Promise<boolean> {
  await pause(CHECK_EVERY_MS, stop);
  const now = stateNow();
  return now.size === state.size && [...state].every(([path, mark]) => now.get(path) === mark);
}

function stateOf(file: string, config: ConfigFile): State {
  return new Map(watchedFiles(file, config).map((path) => [path, markOf(path)]));
}

function markOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? 'absent' : `${found.mtimeMs} ${found.size}`;
}

const SCRIPT = /\.[cm]?[jt]s$/;
/** Bounds the check of a folder that holds more than modules. */
const MOST_FILES = 2_000;

/** The configuration, the files that it names, and the scripts beside its modules, which they may import. */
function watchedFiles(file: string, read: ConfigFile): string[] {
  const folder = dirname(file);
  const named = (read.ok ? filesIn(read.value) : []).map((path) => resolve(folder, path));
  const folders = new Set(named.filter((path) => SCRIPT.test(path)).map(dirname));
  const beside = [...folders].flatMap((each) => scriptsIn(each, each !== folder));
  const servers = (read.ok ? serverScripts(read.value) : []).map((path) => resolve(folder, path));
  return [...new Set([file, ...named, ...servers, ...beside])].slice(0, MOST_FILES);
}

function scriptsIn(folder: string, recursive: boolean): string[] {
  try {
    const paths = readdirSync(folder, { recursive, encoding: 'utf8' });
    return paths
      .filter((path) => SCRIPT.test(path) && !path.includes('node_modules'))
      .map((path) => join(folder, path));
  } catch {
    return [];
  }
}

/** Modules of agents, strategies, directive types and tools, and scripts of scripted providers. */
function filesIn(config: unknown): string[] {
  const { agents, strategies, directives, mcpServers, providers } = Object(config) as Record<string, unknown>;
  const modules = membersOf(mcpServers).map((server) => memberOf(server, 'module'));
  const scripts = membersOf(providers).map((provider) => memberOf(provider, 'file'));
  return [
    ...membersOf(agents),
    ...membersOf(strategies),
    ...membersOf(directives),
    ...modules,
    ...scripts,
  ].filter((path) => typeof path === 'string');
}

/** Scripts in the arguments of MCP servers; those of packages do not change. */
function serverScripts(config: unknown): string[] {
  const args = membersOf(memberOf(config, 'mcpServers')).flatMap((server) =>
    membersOf(memberOf(server, 'args')),
  );
  return args.filter(
    (path): path is string => typeof path === 'string' && SCRIPT.test(path) && !path.includes('node_modules'),
  );
}

function membersOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}
