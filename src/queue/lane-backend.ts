// How BullMQ's queues add jobs to a lane: by BullMQ's own scripts, or by job-add.lua, which refuses what has ended.
// Must never use job-add.lua for what it does not know: delays, priorities, parents and deduplication are BullMQ's.
import { type BackendFactory, createRedisBackend, type RedisQueueBackend } from 'bullmq';
import type { RunScript } from '../store/scripts.ts';

type AddedJob = Parameters<RedisQueueBackend['addJob']>[0];
/** A job, and its id. */
type AddedEntry = Parameters<RedisQueueBackend['addJobs']>[0][number];

export type LaneBackend = BackendFactory<RedisQueueBackend>;

/** Options of a job that ask BullMQ for nothing; nor does one that is 0 or absent, as BullMQ's default delay. */
const PLAIN_OPTIONS: ReadonlySet<string> = new Set(['attempts', 'backoff', 'jobId']);

/** Maximum number of one script: Redis is blocked while it adds them. */
const MOST_ADDED = 64;

/** `usesOurs`: asked at each call, since it is known only after a check of this Redis. */
export function laneBackend(usesOurs: () => boolean, run: RunScript): LaneBackend {
  return (name, options, flags) => {
    const backend = createRedisBackend(name, options, flags);
    return Object.assign(backend, adding(backend, run, usesOurs));
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
