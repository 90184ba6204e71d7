// How BullMQ's queues and workers reach a lane in Redis: by BullMQ's own scripts, or by ours, which do what our jobs need of them.
// Must never use ours for what they do not know: they name it, and BullMQ's do it.
import { type BackendFactory, createRedisBackend, type RedisQueueBackend } from 'bullmq';
import { prepareScripts, type RunScript, type ScriptReply } from '../journal/scripts.ts';
import type { RedisConnection } from '../redis/connection.ts';

/** What BullMQ's worker is given: a job, its id, for how long the lane is limited, when its next delayed job is due. */
type Taken = Awaited<ReturnType<RedisQueueBackend['moveToActive']>>;
type AddedJob = Parameters<RedisQueueBackend['addJob']>[0];
type DoneJob = Parameters<RedisQueueBackend['moveToCompleted']>[0];

export type LaneBackend = BackendFactory<RedisQueueBackend>;

/** Options of a job that ask for nothing; nor does one that is 0 or absent, as BullMQ's default delay. */
const PLAIN_OPTIONS: ReadonlySet<string> = new Set(['attempts', 'jobId']);

/** `usesOurs`: asked at each call, since it is known only after a check of this Redis. */
export function laneBackend(
  connection: RedisConnection,
  usesOurs: () => boolean,
  run: RunScript = prepareScripts(connection),
): LaneBackend {
  return (name, options, flags) => {
    const backend = createRedisBackend(name, options, flags);
    // Of a queue, which takes none: any.
    const { lockDuration = 30_000 } = options as { lockDuration?: number };
    const taken = taking(backend, run, usesOurs, lockDuration);
    return Object.assign(backend, adding(backend, run, usesOurs), taken);
  };
}

function adding(backend: RedisQueueBackend, run: RunScript, usesOurs: () => boolean) {
  const plain = { addJob: backend.addJob.bind(backend), addJobs: backend.addJobs.bind(backend) };
  const add = async (job: AddedJob, id: string): Promise<string> => {
    const { name, data, opts, timestamp } = job;
    await run('job-add', [backend.toKey('')], [id, name, data, JSON.stringify(opts), timestamp]);
    return id;
  };
  return {
    addJob: (...args: Parameters<RedisQueueBackend['addJob']>) =>
      usesOurs() && isPlainAdd(args[0], args[1]) ? add(args[0], args[1]) : plain.addJob(...args),
    addJobs: (entries: Parameters<RedisQueueBackend['addJobs']>[0]) =>
      usesOurs() && entries.every(({ job, jobId }) => isPlainAdd(job, jobId))
        ? Promise.all(entries.map(({ job, jobId }) => add(job, jobId)))
        : plain.addJobs(entries),
  };
}

/** With an id of its own, to be taken in its turn, and on its own. */
function isPlainAdd({ opts, parentKey, deduplicationId, repeatJobKey }: AddedJob, id: string): boolean {
  const isAlone = parentKey === undefined && deduplicationId === undefined && repeatJobKey === undefined;
  const isPlain = Object.entries(opts).every(([name, value]) => !value || PLAIN_OPTIONS.has(name));
  return Boolean(id) && isAlone && isPlain;
}

function taking(backend: RedisQueueBackend, run: RunScript, usesOurs: () => boolean, lockMs: number) {
  const plain = {
    moveToActive: backend.moveToActive.bind(backend),
    moveToCompleted: backend.moveToCompleted.bind(backend),
    waitForJob: backend.waitForJob.bind(backend),
  };
  const known = createKnownEmpty();
  /** 'plain': BullMQ's script has to. `more`: what the script takes beside the lock. */
  async function ask(name: 'job-take' | 'job-done', token: string, more: readonly (string | number)[] = []) {
    const learn = known.asked();
    const reply = await run(name, [backend.toKey('')], [token, lockMs, Date.now(), ...more]);
    return learn(reply);
  }
  async function moveToActive(token: string, workerName?: string): Promise<Taken> {
    if (!usesOurs()) return plain.moveToActive(token, workerName);
    const dueAt = known.take();
    if (dueAt !== null) return [null, 0, 0, dueAt];
    const reply = await ask('job-take', token);
    return reply[0] === 'slow' ? plain.moveToActive(token, workerName) : takenOf(reply);
  }
  async function moveToCompleted(...args: Parameters<RedisQueueBackend['moveToCompleted']>) {
    const [job, , , token, fetchNext] = args;
    if (!usesOurs() || !isPlainEnd(job)) return plain.moveToCompleted(...args);
    const finishedOn = Date.now();
    const reply = await ask('job-done', token, [job.id ?? '', fetchNext ? 1 : 0]);
    if (reply[0] === 'lost') return plain.moveToCompleted(...args);
    if (reply[0] === 'slow') return { result: await plain.moveToActive(token), finishedOn };
    return { result: reply[0] === 'done' ? undefined : takenOf(reply), finishedOn };
  }
  async function waitForJob(blockTimeout: number) {
    const woken = await plain.waitForJob(blockTimeout);
    known.forget();
    return woken;
  }
  return {
    moveToActive,
    moveToCompleted: moveToCompleted as RedisQueueBackend['moveToCompleted'],
    waitForJob,
  };
}

/**
 * Whether the last take left nothing behind: BullMQ's worker asks for another job at once, and is answered from here. What is
 * added later sets the marker, so it is right until a marker was seen, also for takes that were asked before and answer after.
 */
function createKnownEmpty() {
  let dueAt: number | null = null;
  let seen = 0;
  return {
    /** When the next delayed job is due, 0 = there is none; null: it is not known that nothing waits. Said once. */
    take(): number | null {
      const said = dueAt;
      dueAt = null;
      return said;
    },
    /** Before a script is asked; its result takes the reply and returns it. */
    asked() {
      const before = seen;
      return (reply: ScriptReply): ScriptReply => {
        const left = reply[0] === 'job' && before === seen ? Number(reply[7]) : -1;
        dueAt = left < 0 ? null : left;
        return reply;
      };
    },
    /** A marker was seen: something was added. */
    forget(): void {
      seen += 1;
      dueAt = null;
    },
  };
}

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
    opts: JSON.parse(String(opts)) as object,
    timestamp: Number(timestamp),
    attemptsMade: Number(attempts),
    delay: 0,
    priority: 0,
  };
  return [job, job.id, 0, 0];
}
