// Which scripts the lanes of a connection use, BullMQ's or ours: ours once they have shown, on lanes of their own, that they fit.
// Must never use ours on a cluster, beside another version of BullMQ than they were written for, or after a check that failed.
import { randomUUID } from 'node:crypto';
import { createRedisBackend, type RedisQueueBackend } from 'bullmq';
import { Cluster, type Redis } from 'ioredis';
import { prepareScripts, type RunScript, type ScriptReply } from '../store/scripts.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { settledWithin } from '../platform/lifecycle.ts';
import { askFor, foundIn } from './lane-take.ts';
import { laneBackend, type LaneBackend } from './lane-backend.ts';
import { lanePrefix, LANE_KEYS } from './lane-registry.ts';

export interface LaneScripts {
  readonly backend: LaneBackend;
  /** Whether ours are used. */
  fit(): boolean;
  /** Once for a connection; until then, and when it fails, BullMQ's are used. Returns why ours are not used; null: they are, or need no word. */
  check(): Promise<string | null>;
  /** A check that is under way has ended, if Redis answers: before its connection closes. */
  settled(): Promise<void>;
}

/** The version of BullMQ that include-lane.lua and include-take.lua are written for. */
const KNOWN_VERSION = '6.7.0';
/** Whether ours may be used on the structures of one lane, also on a cluster. */
export function isKnown(backend: RedisQueueBackend): boolean {
  return backend['version'] === KNOWN_VERSION;
}

/** As long as a connection is given to close. */
const SETTLE_MS = 500;
/** Lock of the lane that the check makes; it does not hold a job any longer. */
const LOCK_MS = 10_000;
/** Time before another check when Redis did not answer: the first one, doubled with each, and the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/** Its name on the connection, and what it is given. */
type Command = readonly [name: string, args: readonly unknown[]];
type Argument = string | number | Buffer;
/** As the client keeps what was defined; null: the number of keys is the first argument. */
interface Script {
  readonly lua: string;
  readonly numberOfKeys: number | null;
}

const opened = new WeakMap<RedisConnection, Map<string, LaneScripts>>();

/** The same for everybody who uses the lanes of `prefix` on the connection. */
export function laneScriptsOn(connection: RedisConnection, prefix: string): LaneScripts {
  const byPrefix = opened.get(connection) ?? new Map<string, LaneScripts>();
  opened.set(connection, byPrefix);
  const scripts = byPrefix.get(prefix) ?? createLaneScripts(connection, prefix);
  byPrefix.set(prefix, scripts);
  return scripts;
}

function createLaneScripts(connection: RedisConnection, prefix: string): LaneScripts {
  let fits = false;
  let checking: Promise<string | null> | undefined;
  let isLooking = false;
  let pauseMs = FIRST_PAUSE_MS;

  async function look(): Promise<string | null> {
    if (connection instanceof Cluster) return null;
    isLooking = true;
    try {
      const reason = await misfit(connection, prefix);
      fits = reason === null;
      return reason && `lanes use BullMQ's own scripts, which cost more: ${reason}`;
    } catch (error) {
      lookLater();
      return `lanes use BullMQ's own scripts for now, which cost more: ${(error as Error).message}`;
    } finally {
      isLooking = false;
    }
  }

  /** Checks again later: Redis may not have answered. Until then, every caller gets the same answer. */
  function lookLater(): void {
    const again = (): void => {
      if (connection.status !== 'end') checking = look();
    };
    setTimeout(again, pauseMs).unref();
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }

  return {
    backend: laneBackend(() => fits, prepareScripts(connection)),
    fit: () => fits,
    check: () => (checking ??= look()),
    async settled() {
      if (checking === undefined || !isLooking || connection.status !== 'ready') return;
      await settledWithin(checking, SETTLE_MS);
    },
  };
}

/** Jobs that one of them adds and takes are taken and ended by the other. Returns what is wrong; null = nothing. */
async function misfit(connection: Redis, prefix: string): Promise<string | null> {
  const removeOnComplete = { count: 0 };
  const worker = { prefix: lanePrefix(prefix, 'check'), lockDuration: LOCK_MS, removeOnComplete };
  const options = { ...worker, connection, skipVersionCheck: true, skipWaitingForReady: true };
  const commands: Command[] = [];
  const [theirs, ours] = recording(`check-${randomUUID()}`, options, commands);
  try {
    if (!isKnown(theirs)) return `BullMQ is ${theirs['version']}, not ${KNOWN_VERSION}`;
    await record(theirs, ours, commands);
    return fault(await together(connection, commands));
  } finally {
    await Promise.allSettled([theirs.close(), ours.close()]);
  }
}

/** Both kinds of a lane. What they would send is added to `commands`, and they go on as if it had been answered. */
function recording(
  name: string,
  options: Parameters<LaneBackend>[1],
  commands: Command[],
): [RedisQueueBackend, RedisQueueBackend] {
  const theirs = createRedisBackend(name, options);
  theirs.execCommand = (_client, command, args) => {
    commands.push([`${command}:${theirs['version']}`, args]);
    return Promise.resolve(0);
  };
  const run: RunScript = async (script, keys, args) => {
    commands.push([`adjutant:${script}`, [keys.length, ...keys, ...args]]);
    return [];
  };
  const ours = laneBackend(() => true, run)(name, options);
  // The connection's own; without a listener they end the process.
  for (const backend of [theirs, ours]) backend.on('error', () => {});
  return [theirs, ours];
}

/** Where job-take.lua remembers a take of the check. */
const PLACE = 'check';

/** The records that `fault` checks, in its order, and at last the removal of all of them. */
async function record(
  theirs: RedisQueueBackend,
  ours: RedisQueueBackend,
  commands: Command[],
): Promise<void> {
  const base = theirs.toKey('');
  const ask = askFor({ lane: '', lockMs: LOCK_MS, sweep: '' }, null).words('');
  const take = (): void => void commands.push(['adjutant:job-take', [1, base, ...ask, PLACE, 1]]);
  await theirs.addJob(jobOf('a'), 'a');
  await ours.addJob(jobOf('b'), 'b');
  take();
  await theirs.moveToActive('t2');
  await theirs.getCounts(['wait', 'active']);
  await theirs.moveToCompleted(endOf('a'), null, undefined as never, String(ask[0]), false);
  commands.push(['adjutant:job-done', [1, base, 'b', 't2', '']]);
  await theirs.getCounts(['wait', 'active']);
  commands.push(['del', [`${base}taken:${PLACE}`]], ['hset', [theirs.toKey('meta'), 'paused', 1]]);
  await ours.addJob(jobOf('c'), 'c');
  take();
  const jobKeys = ['a', 'b', 'c'].flatMap((id) => [id, `${id}:lock`]);
  const left = [...LANE_KEYS, ...jobKeys, `taken:${PLACE}`].map((part) => theirs.toKey(part));
  commands.push(['del', left]);
}

/** Redis does all of it or nothing, so that nothing is left when this process or its connection ends meanwhile. */
async function together(connection: Redis, commands: readonly Command[]): Promise<readonly unknown[]> {
  const transaction = connection.multi();
  for (const [name, args] of commands) transaction.call(...inFull(connection, name, args));
  const replies = (await transaction.exec()) ?? [];
  const failed = replies.find(([error]) => error !== null);
  if (failed?.[0]) throw failed[0];
  return replies.map(([, reply]) => reply);
}

/** A script with its text: the client sends the text once, and a transaction that Redis refuses has not brought it there. */
function inFull(connection: Redis, name: string, args: readonly unknown[]): [string, ...Argument[]] {
  const given = args.map((arg) => (arg ?? '') as Argument);
  const defined: Readonly<Record<string, Script>> = connection.scriptsSet;
  const script = defined[name];
  if (script === undefined) return [name, ...given];
  const keys = script.numberOfKeys === null ? [] : [script.numberOfKeys];
  return ['eval', script.lua, ...keys, ...given];
}

/** `replies`: of what `record` asks. */
function fault(replies: readonly unknown[]): string | null {
  const [, , first, second, taken, , , ended, , , , paused] = replies as unknown[][];
  const found = foundIn(first as ScriptReply);
  const isFirst = found.kind === 'jobs' && found.jobs[0]?.data === jobOf('a').data;
  // BullMQ's reply begins with all fields of a job.
  if (!isFirst || !String(second?.[0]).includes(jobOf('b').data)) return 'a job is not as it was added';
  if (String(taken) !== '0,2') return 'jobs are not where they should be';
  if (String(ended) !== '0,0') return 'jobs that were done are still there';
  return foundIn(paused as ScriptReply).kind === 'slow' ? null : 'a job of a paused lane was taken';
}

function jobOf(id: string): Parameters<RedisQueueBackend['addJob']>[0] {
  const counts = { progress: 0, attemptsMade: 0, attemptsStarted: 0, stalledCounter: 0, timestamp: 1 };
  const opts = { attempts: 0, jobId: id };
  return { id, name: 'check', data: `{"id":"${id}"}`, opts, ...counts, failedReason: '', returnvalue: '' };
}

function endOf(id: string): Parameters<RedisQueueBackend['moveToCompleted']>[0] {
  return { ...jobOf(id), opts: {} } as never;
}
