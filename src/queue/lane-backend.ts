// How BullMQ's queues and workers reach a lane in Redis: by BullMQ's own scripts, or by ours, which do what our jobs need of them.
// Must never use ours for what they do not know: they name it, and BullMQ's do it.
import { type BackendFactory, createRedisBackend, type RedisQueueBackend } from 'bullmq';
import { isObject } from '../contract/json-object.ts';
import { prepareScripts, type RunScript, type ScriptReply } from '../journal/scripts.ts';
import { pause } from '../lifecycle.ts';
import type { RedisConnection } from '../redis/connection.ts';
import type { LaneClaims } from './lane-claims.ts';
import { createKnownEmpty, type KnownEmpty } from './known-empty.ts';
import { createLaneTaker, type LaneTaker } from './lane-taker.ts';
import { createMarkerWait } from './marker-wait.ts';

/** What BullMQ's worker is given: a job, its id, for how long the lane is limited, when its next delayed job is due. */
type Taken = Awaited<ReturnType<RedisQueueBackend['moveToActive']>>;
type AddedJob = Parameters<RedisQueueBackend['addJob']>[0];
/** A job, and its id. */
type AddedEntry = Parameters<RedisQueueBackend['addJobs']>[0][number];
type DoneJob = Parameters<RedisQueueBackend['moveToCompleted']>[0];
type Completed = Awaited<ReturnType<RedisQueueBackend['moveToCompleted']>>;

export type LaneBackend = BackendFactory<RedisQueueBackend>;

/** Options of a job that ask for nothing; nor does one that is 0 or absent, as BullMQ's default delay. */
const PLAIN_OPTIONS: ReadonlySet<string> = new Set(['attempts', 'backoff', 'jobId']);

/** Of one script: Redis does nothing else while it adds them. */
const MOST_ADDED = 64;

/** `usesOurs`: asked at each call, since it is known only after a check of this Redis. `claims`: of a worker that claims as it takes. */
export function laneBackend(
  connection: RedisConnection,
  usesOurs: () => boolean,
  run: RunScript = prepareScripts(connection),
  claims: LaneClaims | null = null,
): LaneBackend {
  return (name, options, flags) => {
    const backend = createRedisBackend(name, options, flags);
    // Of a queue, which takes none: any.
    const { lockDuration = 30_000 } = options as { lockDuration?: number };
    const known = createKnownEmpty();
    const taker = createLaneTaker({ base: backend.toKey(''), run, lockMs: lockDuration, known, claims });
    claims?.offers?.join?.(name, (handed) => void taker.takeHanded(handed).catch(claims.onError));
    const takes = taking(backend, { connection, usesOurs, taker, known });
    return Object.assign(backend, adding(backend, run, usesOurs), underOwnLocks(backend, taker), takes);
  };
}

function adding(backend: RedisQueueBackend, run: RunScript, usesOurs: () => boolean) {
  const plain = { addJob: backend.addJob.bind(backend), addJobs: backend.addJobs.bind(backend) };
  const add = async (entries: readonly AddedEntry[]): Promise<string[]> => {
    await run('job-add', [backend.toKey('')], entries.flatMap(addedArguments));
    return entries.map(({ jobId }) => jobId);
  };
  return {
    async addJob(...args: Parameters<RedisQueueBackend['addJob']>): Promise<string> {
      const [job, jobId] = args;
      if (!usesOurs() || !isPlainAdd(job, jobId)) return plain.addJob(...args);
      await add([{ job, jobId }]);
      return jobId;
    },
    async addJobs(entries: Parameters<RedisQueueBackend['addJobs']>[0]): Promise<string[]> {
      if (!usesOurs() || !entries.every(({ job, jobId }) => isPlainAdd(job, jobId)))
        return plain.addJobs(entries);
      const ids = await Promise.all(partsOf(entries, MOST_ADDED).map(add));
      return ids.flat();
    },
  };
}

/** As job-add.lua reads them. */
function addedArguments({ job, jobId }: AddedEntry): (string | number)[] {
  const { name, data, opts, timestamp } = job;
  return [jobId, name, data, JSON.stringify(opts), timestamp, ''];
}

function partsOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, part) =>
    list.slice(part * size, (part + 1) * size),
  );
}

/** With an id of its own, to be taken in its turn, and on its own. */
function isPlainAdd({ opts, parentKey, deduplicationId, repeatJobKey }: AddedJob, id: string): boolean {
  const isAlone = parentKey === undefined && deduplicationId === undefined && repeatJobKey === undefined;
  const isPlain = Object.entries(opts).every(([name, value]) => !value || PLAIN_OPTIONS.has(name));
  return Boolean(id) && isAlone && isPlain;
}

/** What BullMQ does with a job under its lock, where that is not the token of its worker. */
function underOwnLocks(backend: RedisQueueBackend, { lockOf, forgetLock }: LaneTaker) {
  const plain = {
    extendLock: backend.extendLock.bind(backend),
    extendLocks: backend.extendLocks.bind(backend),
    moveToDelayed: backend.moveToDelayed.bind(backend),
    moveToFailed: backend.moveToFailed.bind(backend),
    retryJob: backend.retryJob.bind(backend),
    moveJobFromActiveToWait: backend.moveJobFromActiveToWait.bind(backend),
  };
  const locked: typeof plain = {
    extendLock: async (id, token, ...rest) => plain.extendLock(id, lockOf(token), ...rest),
    extendLocks: async (ids, tokens, ...rest) => plain.extendLocks(ids, tokens.map(lockOf), ...rest),
    moveToDelayed: async (id, at, delay, token = '0', ...rest) =>
      plain.moveToDelayed(id, at, delay, lockOf(token), ...rest),
    async moveToFailed(job, reason, remove, token, ...rest) {
      const failed = await plain.moveToFailed(job, reason, remove, lockOf(token), ...rest);
      if (!failed.result?.[0]) forgetLock(token);
      return failed;
    },
    retryJob: async (id, lifo, token = '0', ...rest) => plain.retryJob(id, lifo, lockOf(token), ...rest),
    moveJobFromActiveToWait: async (id, token = '0') => plain.moveJobFromActiveToWait(id, lockOf(token)),
  };
  return locked;
}

interface TakingParts {
  connection: RedisConnection;
  usesOurs: () => boolean;
  taker: LaneTaker;
  known: KnownEmpty;
}

function taking(backend: RedisQueueBackend, { connection, usesOurs, taker, known }: TakingParts) {
  const plain = {
    moveToActive: backend.moveToActive.bind(backend),
    moveToCompleted: backend.moveToCompleted.bind(backend),
  };
  const waits = waiting(backend, { connection, taker, known });
  /** By BullMQ's own script. While it knows of a limit its worker asks for nothing, and what is ready would lose its lock and its lease. */
  async function takePlainly(...args: Parameters<RedisQueueBackend['moveToActive']>): Promise<Taken> {
    const [token, ...rest] = args;
    const taken = await plain.moveToActive(taker.lockOf(token), ...rest);
    const [, , limitedMs] = taken;
    return limitedMs > 0 && (await taker.willHaveReady()) ? [null, 0, 0, AT_ONCE] : taken;
  }
  async function moveToActive(token: string, workerName?: string): Promise<Taken> {
    try {
      return forgetting(token, await taken(token, workerName));
    } catch (error) {
      if ((error as Error).name === REFUSED) await pause(REFUSED_PAUSE_MS);
      throw error;
    }
  }
  /** Nothing is under the lock of the token any more where no job came. */
  function forgetting<T extends Taken | undefined>(token: string, reply: T): T {
    if (!reply?.[0]) taker.forgetLock(token);
    return reply;
  }
  async function taken(token: string, workerName?: string): Promise<Taken> {
    // What was taken with another is handed on, whatever the scripts are now.
    if (taker.hasReady()) return takenOf(await taker.take(token));
    if (!usesOurs()) return takePlainly(token, workerName);
    const dueAt = known.take();
    if (dueAt !== null) return [null, 0, 0, dueAt];
    // While the worker waits for a job, it asks for no others.
    const reply = await taker.take(token, waits.isWaiting());
    return reply[0] === 'slow' ? takePlainly(token, workerName) : takenOf(reply);
  }
  async function moveToCompleted(...args: Parameters<RedisQueueBackend['moveToCompleted']>) {
    const [job, value, remove, token, fetchNext] = args;
    const id = job.id ?? '';
    const ended = taker.endedWith(id);
    const plainly = async () =>
      plain.moveToCompleted(job, value, remove, taker.lockOf(token), fetchNext) as Promise<Completed>;
    if (ended === undefined && (!usesOurs() || !isPlainEnd(job))) return plainly();
    const finishedOn = Date.now();
    const reply = ended ?? (await taker.done(token, { id }, fetchNext));
    if (reply[0] === 'lost') return plainly();
    if (reply[0] === 'slow') return { result: await takePlainly(token), finishedOn };
    return { result: reply[0] === 'done' ? undefined : takenOf(reply), finishedOn };
  }
  return {
    moveToActive,
    async moveToCompleted(...args: Parameters<RedisQueueBackend['moveToCompleted']>) {
      const completed = await moveToCompleted(...args);
      forgetting(args[3], completed.result as Taken | undefined);
      return completed;
    },
    waitForJob: waits.waitForJob,
  };
}

/** The wait for a marker, or for what is ready without one. */
function waiting(backend: RedisQueueBackend, { connection, taker, known }: Omit<TakingParts, 'usesOurs'>) {
  const marker = createMarkerWait(backend.waitForJob.bind(backend), async ({ member, score }) => {
    known.forget();
    // Of two instants the earlier one counts.
    await connection.zadd(backend.toKey('marker'), 'LT', score, member);
  });
  let isWaiting = false;
  return {
    isWaiting: () => isWaiting,
    async waitForJob(blockTimeout: number) {
      isWaiting = true;
      let isHanded = false;
      try {
        // The last end found the lane empty; what is ready was taken before, or handed over.
        isHanded = await taker.willHaveReady();
        const seen = isHanded || (await marker.seen(blockTimeout, taker.handed()));
        isHanded ||= seen === 'handed';
        return seen === true || seen === 'handed' ? SEEN : seen;
      } finally {
        if (isHanded) known.sayAgain();
        else known.forget();
        isWaiting = false;
      }
    },
  };
}

/** Redis has answered that it does not take the command, as while its memory is full. */
const REFUSED = 'ReplyError';
/** BullMQ's worker asks again at once after a refusal; after a lost connection it waits as long by itself. */
const REFUSED_PAUSE_MS = 500;

/** As if a marker had come. */
const SEEN: Awaited<ReturnType<RedisQueueBackend['waitForJob']>> = { member: '0', score: 0 };

/** Nothing waits for its end, and nothing is kept of it. */
function isPlainEnd(job: DoneJob): boolean {
  const { parentKey, deduplicationId, repeatJobKey, opts } = job as DoneJob & Partial<AddedJob>;
  const isAlone = !parentKey && !deduplicationId && !repeatJobKey;
  return isAlone && (opts as { removeOnComplete?: unknown }).removeOnComplete === undefined;
}

function takenOf([kind, id, name, data, opts, timestamp, attempts]: ScriptReply): Taken {
  if (kind === 'none') return [null, 0, 0, Number(id)];
  const job = {
    id: String(id),
    name: String(name),
    data: String(data),
    opts: optionsIn(String(opts)),
    timestamp: Number(timestamp),
    attemptsMade: Number(attempts),
    delay: 0,
    priority: 0,
  };
  return [job, job.id, 0, AT_ONCE];
}

/** What somebody has broken counts as none: the job is taken, and a slot is held for it. */
function optionsIn(text: string): object {
  try {
    const options: unknown = JSON.parse(text);
    return isObject(options) ? options : {};
  } catch {
    return {};
  }
}

/** BullMQ's worker begins a job before it asks for the next one only where a delayed one is due at some time, also one that has passed. */
const AT_ONCE = 1;
