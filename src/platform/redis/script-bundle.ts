// Sends the scripts that a process calls in one turn of the event loop as one call, but for the first where none is under way: each alone
// costs a command more on the way, in the client, in Redis and in its append-only file, than what it does.
// Must never change what a script does or answers, nor the order of the scripts of a connection, while Redis knows them.
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { replyError } from './error.ts';

/**
 * Those of each directive and turn, of the journal and of BullMQ: small answers, and no walk through what others left.
 * Those that let something in share no call with the others: once a call has written, Redis refuses none of it for want of memory.
 */
const ADMITTING: ReadonlySet<string> = new Set([
  'adjutant:accept',
  'adjutant:index-add',
  'adjutant:job-add',
  'adjutant:run-send',
  'adjutant:run-start',
  'addStandardJob',
]);
const GOING_ON: ReadonlySet<string> = new Set([
  'adjutant:claim',
  'adjutant:finish',
  'adjutant:job-done',
  'adjutant:job-end',
  'adjutant:job-take',
  'adjutant:retry',
  'adjutant:run-commit',
  'adjutant:start',
  'moveToActive',
  'moveToFinished',
]);

export const BUNDLED_SCRIPTS: ReadonlySet<string> = new Set([...ADMITTING, ...GOING_ON]);

/** Most calls of one bundle: Redis does nothing else meanwhile. */
const MOST_CALLS = 24;
/** Bytes, or characters of up to three bytes. */
const MOST_BYTES = 128 * 1_024;
/** Most arguments of one call; Lua unpacks no more than 8,000 values. */
const MOST_ARGUMENTS = 500;

const FRAME = new URL('./script-bundle.lua', import.meta.url);
const SHARED_PART = /^-- @shared \S+\n[^]*?^-- @end\n/gm;

type Argument = string | number | Buffer;
type Command = (...args: unknown[]) => Promise<unknown>;
type Definition = Parameters<Redis['defineCommand']>[1];

interface Call {
  readonly script: string;
  readonly admits: boolean;
  readonly keys: readonly Argument[];
  readonly args: readonly Argument[];
  /** Bytes of keys and arguments. */
  readonly bytes: number;
  readonly alone: () => Promise<unknown>;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** `{1, reply}` or `{0, error}` of each call. */
type BundleReply = readonly (readonly [number, unknown])[];

/** From here on, the bundled ones among the scripts that are defined on the connection share calls. Not for a cluster: its keys are apart. */
export function bundleScripts(connection: Redis): void {
  const commands = connection as unknown as Record<string, Command>;
  const define = connection.defineCommand.bind(connection);
  const quit = connection.quit.bind(connection);
  const [admitting, goingOn] = [createBundle('admitting'), createBundle('going-on')];
  let waiting: Call[] = [];
  /** Calls without an answer, and those that were answered in this turn. */
  let underWay = 0;

  function createBundle(kind: string) {
    const sources = new Map<string, string>();
    let bundle: { readonly size: number; readonly run: Command } | undefined;
    /** Another one when a script has been defined since. */
    function current(): Command {
      if (bundle?.size === sources.size) return bundle.run;
      const name = `adjutant:bundle-${kind}-of-${sources.size}`;
      define(name, { lua: bundleSource(sources) });
      bundle = { size: sources.size, run: (commands[name] as Command).bind(connection) };
      return bundle.run;
    }
    return { sources, current };
  }

  function flush(): void {
    const calls = waiting;
    waiting = [];
    for (const part of parts(calls)) void follow(part);
  }

  async function follow(part: readonly Call[]): Promise<void> {
    underWay += 1;
    await send(part, part[0]?.admits ? admitting.current : goingOn.current);
    setImmediate(() => (underWay -= 1));
  }

  /**
   * Where none is under way it goes at once: what follows its answer does not wait for the others of the turn, so that calls of tools that
   * began together do not go on in step for good. What follows an answer in its turn goes with the others, as each does in a busy process.
   */
  function wait(call: Call): void {
    waiting.push(call);
    if (underWay === 0) flush();
    else if (waiting.length === 1) setImmediate(flush);
  }

  function defineBundled(name: string, definition: Definition): void {
    define(name, definition);
    const defined = commands[name] as Command;
    const known = [name, name.split(':')[0] ?? ''].find((each) => BUNDLED_SCRIPTS.has(each));
    const admits = known !== undefined && ADMITTING.has(known);
    if (known !== undefined) (admits ? admitting : goingOn).sources.set(name, definition.lua);
    // A pipeline has the same function, and goes as a whole when it is executed.
    commands[name] = function call(this: unknown, ...given: unknown[]) {
      if (this !== connection) return defined.apply(this, given);
      const alone = (): Promise<unknown> => defined.apply(connection, given.slice());
      const args = known === undefined ? null : argumentsOf(given, definition.numberOfKeys);
      if (known === undefined || args === null) {
        flush();
        return alone();
      }
      return new Promise((resolve, reject) => {
        wait({ script: name, admits, ...args, alone, resolve, reject });
      });
    };
  }

  connection.defineCommand = defineBundled;
  connection.quit = ((...args: Parameters<Redis['quit']>) => {
    flush();
    return quit(...args);
  }) as Redis['quit'];
}

/** A part of a script that others have too. A bundle has it once, and runs it before it knows which script of it comes first. */
export function sharedPart(name: string, lua: string): string {
  return `-- @shared ${name}\n${lua}-- @end\n`;
}

/** One script that holds those of `sources`, and once what they share. */
function bundleSource(sources: ReadonlyMap<string, string>): string {
  const shared = new Set([...sources.values()].flatMap((lua) => lua.match(SHARED_PART) ?? []));
  const functions = [...sources].map(
    ([name, lua]) =>
      `SCRIPTS[${JSON.stringify(name)}] = function(KEYS, ARGV)\n${lua.replaceAll(SHARED_PART, '')}\nend`,
  );
  const parts = [...shared, ...functions].join('\n');
  return readFileSync(FRAME, 'utf8').replace('-- @scripts', () => parts);
}

/** Keys and arguments as the client sends them; null: they go alone. */
function argumentsOf(given: readonly unknown[], numberOfKeys: number | undefined) {
  const flat: Argument[] = [];
  if (!flatten(given, flat, 2)) return null;
  const first = numberOfKeys === undefined ? 1 : 0;
  const keys = flat.slice(first, first + (numberOfKeys ?? Number(flat[0])));
  const args = flat.slice(first + keys.length);
  const bytes = bytesOf(keys) + bytesOf(args);
  if (keys.length + args.length > MOST_ARGUMENTS || bytes > MOST_BYTES / 4) return null;
  return { keys, args, bytes };
}

/** false: one of them is nothing that the client would send as it is. */
function flatten(values: readonly unknown[], into: Argument[], levels: number): boolean {
  for (const value of values) {
    // As the client sends what is absent.
    const sent = value ?? '';
    if (isArgument(sent)) into.push(sent);
    else if (levels === 0 || !Array.isArray(sent) || !flatten(sent, into, levels - 1)) return false;
  }
  return true;
}

function isArgument(value: unknown): value is Argument {
  return typeof value === 'string' || typeof value === 'number' || Buffer.isBuffer(value);
}

function bytesOf(args: readonly Argument[]): number {
  let bytes = 0;
  for (const value of args) bytes += typeof value === 'number' ? 8 : value.length;
  return bytes;
}

/** In their order. */
function* parts(calls: readonly Call[]): Generator<Call[]> {
  let part: Call[] = [];
  let bytes = 0;
  for (const call of calls) {
    const [first = call] = part;
    const isFull = part.length === MOST_CALLS || bytes + call.bytes > MOST_BYTES;
    if (part.length > 0 && (isFull || first.admits !== call.admits)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(call);
    bytes += call.bytes;
  }
  if (part.length > 0) yield part;
}

async function send(calls: readonly Call[], bundle: () => Command): Promise<void> {
  const [first] = calls;
  if (first === undefined) return;
  if (calls.length === 1) return first.alone().then(first.resolve, first.reject);
  const keys: Argument[] = [];
  const args: Argument[] = [];
  for (const call of calls) {
    keys.push(...call.keys);
    args.push(call.script, call.keys.length, call.args.length, ...call.args);
  }
  try {
    deliver(calls, (await bundle()(keys.length, keys, args)) as BundleReply);
  } catch (error) {
    for (const { reject } of calls) reject(error);
  }
}

function deliver(calls: readonly Call[], replies: BundleReply): void {
  for (const [index, { resolve, reject }] of calls.entries()) {
    const [ran, reply] = replies[index] ?? [0, 'ERR the bundle has no reply for it'];
    if (reply instanceof Error) reject(reply);
    else if (ran === 1) resolve(reply);
    else reject(replyError(String(reply)));
  }
}
