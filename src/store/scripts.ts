// Loads the journal's Lua scripts by name and runs them.
// Must never hold a decision of its own: what a script means is written in its file.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { onMovedClock } from '../platform/redis/clock.ts';
import { sharedPart } from '../platform/redis/script-bundle.ts';

export type ScriptName =
  | 'accept'
  | 'access-change'
  | 'access-spend'
  | 'answer'
  | 'append'
  | 'archive-done'
  | 'ask'
  | 'budget-read'
  | 'budget-reserve'
  | 'budget-settle'
  | 'cancel'
  | 'change-done'
  | 'change-note'
  | 'change-take'
  | 'claim'
  | 'conversation-enter'
  | 'conversation-leave'
  | 'dead-add'
  | 'dead-expire'
  | 'descend'
  | 'extend'
  | 'finish'
  | 'foreign-again'
  | 'foreign-asked'
  | 'foreign-call'
  | 'foreign-close'
  | 'foreign-forget'
  | 'foreign-given'
  | 'foreign-step'
  | 'foreign-step-end'
  | 'foreign-turn'
  | 'gate-change'
  | 'gate-enter'
  | 'gate-extend'
  | 'gate-hold'
  | 'gate-leave'
  | 'gate-list'
  | 'gate-look'
  | 'gate-pump'
  | 'index-add'
  | 'index-forget'
  | 'index-put-off'
  | 'index-take'
  | 'job-add'
  | 'job-done'
  | 'job-end'
  | 'job-fail'
  | 'job-take'
  | 'lane-enter'
  | 'lane-leave'
  | 'lane-forget'
  | 'lane-idle'
  | 'lane-note'
  | 'lane-remove'
  | 'later-add'
  | 'later-drop'
  | 'later-park'
  | 'later-take'
  | 'limit-block'
  | 'limit-reserve'
  | 'limit-record'
  | 'limits-announce'
  | 'limits-read'
  | 'list-build-ask'
  | 'list-build-cleared'
  | 'list-build-step'
  | 'list-build-take'
  | 'log-read'
  | 'login-remove'
  | 'login-unlock'
  | 'login-write'
  | 'once-release'
  | 'payload-put'
  | 'policy-due'
  | 'policy-note'
  | 'policy-request'
  | 'policy-reserve'
  | 'policy-settle'
  | 'offer-return'
  | 'offers-withdraw'
  | 'prioritize'
  | 'release'
  | 'remote-end'
  | 'remote-hold'
  | 'remote-park'
  | 'remote-take'
  | 'remote-withdraw'
  | 'retry'
  | 'run-commit'
  | 'run-send'
  | 'run-read'
  | 'run-resume'
  | 'run-start'
  | 'run-steer'
  | 'runtime-put'
  | 'runtime-remove'
  | 'sampling-reserve'
  | 'sampling-settle'
  | 'schedule-change'
  | 'schedule-put'
  | 'schedule-remove'
  | 'schedule-take'
  | 'score'
  | 'search-drop'
  | 'search-clear'
  | 'search-mend'
  | 'search-mend-bytes'
  | 'search-read'
  | 'search-scan'
  | 'search-trim'
  | 'search-write'
  | 'start'
  | 'stats-add'
  | 'tenant-enter'
  | 'tenant-leave'
  | 'task-drop'
  | 'task-keep'
  | 'wait-note'
  | 'worker-beat'
  | 'worker-drain'
  | 'worker-list';

export type ScriptReply = (string | number)[];

/** A reply of names and values in turns, read by name; what is absent is '', 0 and false. */
export function namedIn(reply: ScriptReply) {
  const values = new Map<string, string | number>();
  for (let at = 0; at < reply.length; at += 2) values.set(String(reply[at]), reply[at + 1] ?? '');
  return {
    text: (name: string): string => String(values.get(name) ?? ''),
    number: (name: string): number => Number(values.get(name) ?? 0),
    flag: (name: string): boolean => Number(values.get(name) ?? 0) === 1,
    /** A reply in the reply; null: there is none. */
    list: (name: string): ScriptReply | null =>
      (values.get(name) as unknown as ScriptReply | undefined) ?? null,
  };
}

/** Runs a script on keys of one slot: those of one request, of one provider's limits, or a single one. Rejects only when Redis does not answer or refuses. */
export type RunScript = (
  name: ScriptName,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<ScriptReply>;

/** The streams that scripts write beside the logs, one for each tenant. */
export interface SignalStreams {
  /** Name of the stream of the default tenant; as `signals` of `KeySpace`. */
  readonly key: string;
  /** Entries above it are trimmed. */
  readonly maxEntries: number;
}

/** Folder below which each script lies beside its caller. */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const INCLUDE = /^-- @include (\S+)\n/gm;

/** The text with what it includes in place of its first `@include`; what that includes itself comes before it. */
function source(file: string): string {
  const text = read(file);
  const included = new Map<string, string>();
  include(text, included);
  const [head = '', ...rest] = text.replaceAll(INCLUDE, '\0').split('\0');
  return head + [...included].map(([name, part]) => sharedPart(name, part)).join('') + rest.join('');
}

function include(text: string, into: Map<string, string>): void {
  for (const [, name = ''] of text.matchAll(INCLUDE)) {
    if (into.has(name)) continue;
    const part = read(name);
    include(part, into);
    into.set(name, part.replaceAll(INCLUDE, ''));
  }
}

let places: ReadonlyMap<string, string> | undefined;

/** The path of each file of Lua by its name. */
function luaFiles(): ReadonlyMap<string, string> {
  places ??= new Map(
    globSync('{store,queue,features}/**/*.lua', { cwd: ROOT }).map((path) => [
      basename(path),
      join(ROOT, path),
    ]),
  );
  return places;
}

function read(file: string): string {
  const path = luaFiles().get(file);
  if (path === undefined) throw new Error(`no Lua file named ${file}`);
  return readFileSync(path, 'utf8');
}

function loadAll(): Map<string, string> {
  const files = [...luaFiles().keys()].filter((file) => !file.startsWith('include-'));
  const names = files.map((file) => file.slice(0, -'.lua'.length));
  return new Map(names.map((name) => [name, sourceOf(name)]));
}

function sourceOf(name: string): string {
  return onMovedClock(source(`${name}.lua`));
}

const STREAM_PLACE = '-- @signals-stream\n';

/** The scripts that append to a log, with what writes the stream too. */
function streamSources({ key, maxEntries }: SignalStreams): Iterable<readonly [string, string]> {
  const part = read('include-stream.lua').replace('@stream', key).replace('@max_entries', String(maxEntries));
  return [...scriptSources()].map(([name, lua]) => [name, lua.replace(STREAM_PLACE, () => part)] as const);
}

let loaded: Map<string, string> | undefined;

/** The script's text with its includes, by file name without extension. */
export function scriptSources(): ReadonlyMap<string, string> {
  loaded ??= loadAll();
  return loaded;
}

type DefinedCommand = (...args: (string | number | Buffer)[]) => Promise<ScriptReply>;

const prepared = new WeakMap<RedisConnection, RunScript>();

/**
 * Defines the scripts on a connection (EVALSHA, with EVAL after a restart) and returns how to run them. Once for a connection:
 * each time costs a digest of 750 KB, and each text is sent again.
 * `streams`: as the first call for a connection says. Default: there are none.
 */
export function prepareScripts(connection: RedisConnection, streams?: SignalStreams): RunScript {
  const sources = () => (streams === undefined ? scriptSources() : streamSources(streams));
  const run = prepared.get(connection) ?? defineScripts(connection, sources());
  prepared.set(connection, run);
  return run;
}

/** For who runs no others: only these are read and defined. */
export function prepareSome(connection: RedisConnection, names: readonly ScriptName[]): RunScript {
  return defineScripts(
    connection,
    names.map((name) => [name, sourceOf(name)] as const),
  );
}

function defineScripts(connection: RedisConnection, sources: Iterable<readonly [string, string]>): RunScript {
  const commands = new Map<string, DefinedCommand>();
  for (const [name, lua] of sources) {
    const command = `adjutant:${name}`;
    connection.defineCommand(command, { lua });
    const run = (connection as unknown as Record<string, DefinedCommand>)[command];
    if (run) commands.set(name, run.bind(connection));
  }
  return (name, keys, args) => {
    const run = commands.get(name);
    if (!run) return Promise.reject(new Error(`no journal script named ${name}`));
    return run(keys.length, ...keys, ...args);
  };
}
