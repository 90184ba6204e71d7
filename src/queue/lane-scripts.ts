// Which scripts the lanes of a connection use, BullMQ's or ours: ours once they have shown, on lanes of their own, that they fit.
// Must never use ours on a cluster, beside another version of BullMQ than they were written for, or after a check that failed.
import { randomUUID } from 'node:crypto';
import { createRedisBackend, type RedisQueueBackend } from 'bullmq';
import type { RedisConnection } from '../redis/connection.ts';
import { settledWithin } from '../lifecycle.ts';
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

/** Whose structures include-job.lua knows. */
const KNOWN_VERSION = '6.7.0';
/** As long as a connection is given to close. */
const SETTLE_MS = 500;
/** What a process that dies meanwhile leaves behind. */
const LEFT_MS = 10_000;

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
  let isOver = false;

  async function look(): Promise<string | null> {
    if (connection.isCluster) return null;
    try {
      const reason = await misfit(connection, prefix);
      fits = reason === null;
      return reason && `lanes use BullMQ's own scripts, which cost more: ${reason}`;
    } catch (error) {
      // Redis may not have answered: whoever asks next looks again.
      checking = undefined;
      return `lanes use BullMQ's own scripts for now, which cost more: ${(error as Error).message}`;
    } finally {
      isOver = true;
    }
  }

  return {
    backend: laneBackend(connection, () => fits),
    fit: () => fits,
    check: () => (checking ??= look()),
    async settled() {
      if (checking === undefined || isOver || connection.status !== 'ready') return;
      await settledWithin(checking, SETTLE_MS);
    },
  };
}

/** Jobs that one of them adds and takes are taken and ended by the other. Returns what is wrong; null = nothing. */
async function misfit(connection: RedisConnection, prefix: string): Promise<string | null> {
  const name = `check-${randomUUID()}`;
  const removeOnComplete = { count: 0 };
  const worker = { prefix: lanePrefix(prefix, 'check'), lockDuration: LEFT_MS, removeOnComplete };
  const options = { ...worker, connection, skipVersionCheck: true, skipWaitingForReady: true };
  const theirs = createRedisBackend(name, options);
  const ours = laneBackend(connection, () => true)(name, options);
  // The connection's own; without a listener they end the process.
  for (const backend of [theirs, ours]) backend.on('error', () => {});
  if (theirs['version'] !== KNOWN_VERSION) return `BullMQ is ${theirs['version']}, not ${KNOWN_VERSION}`;
  const jobKeys = ['a', 'b', 'c', 'a:lock', 'b:lock', 'c:lock'];
  const keys = [...LANE_KEYS, ...jobKeys].map((part) => theirs.toKey(part));
  const expire = async (): Promise<void> =>
    void (await Promise.all(keys.map((key) => connection.pexpire(key, LEFT_MS))));
  try {
    return await compared(theirs, ours, expire);
  } finally {
    await connection.del(...keys).catch(() => {});
    await Promise.allSettled([theirs.close(), ours.close()]);
  }
}

async function compared(
  theirs: RedisQueueBackend,
  ours: RedisQueueBackend,
  expire: () => Promise<void>,
): Promise<string | null> {
  await Promise.all([theirs.addJob(jobOf('a'), 'a'), expire()]);
  await Promise.all([ours.addJob(jobOf('b'), 'b'), expire()]);
  const [first, second] = [await ours.moveToActive('t1'), await theirs.moveToActive('t2')];
  await expire();
  if (first[0]?.data !== jobOf('a').data || second[0]?.data !== jobOf('b').data)
    return 'a job is not as it was added';
  if (String(await theirs.getCounts(['wait', 'active'])) !== '0,2')
    return 'jobs are not where they should be';
  await theirs.moveToCompleted(endOf('a'), null, undefined as never, 't1', false);
  await ours.moveToCompleted(endOf('b'), null, undefined as never, 't2', false);
  if (String(await theirs.getCounts(['wait', 'active'])) !== '0,0')
    return 'jobs that were done are still there';
  await theirs.setQueueMeta({ paused: 1 });
  await Promise.all([ours.addJob(jobOf('c'), 'c'), expire()]);
  const [paused] = await ours.moveToActive('t3');
  return paused ? 'a job of a paused lane was taken' : null;
}

function jobOf(id: string): Parameters<RedisQueueBackend['addJob']>[0] {
  const counts = { progress: 0, attemptsMade: 0, attemptsStarted: 0, stalledCounter: 0, timestamp: 1 };
  const opts = { attempts: 0, jobId: id };
  return { id, name: 'check', data: `{"id":"${id}"}`, opts, ...counts, failedReason: '', returnvalue: '' };
}

function endOf(id: string): Parameters<RedisQueueBackend['moveToCompleted']>[0] {
  return { ...jobOf(id), opts: {} } as never;
}
