// The lanes: one BullMQ queue for each MCP server, model provider and the runs.
// Must never decide whether a directive runs; it only enqueues its job.
import type { KeySpace } from '../store/keys.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { prepareScripts } from '../store/scripts.ts';
import { type JobData, jobId, jobOptionsOf } from './job.ts';
import { createLaneQueues } from './lane-queues.ts';
import { createLaneThrottle } from './lane-throttle.ts';
import { createOpenJobs, JOB_NAME } from './open-jobs.ts';
import type { Queue } from 'bullmq';

/** Jobs of a lane by what they wait for. */
export interface LaneCounts {
  waiting: number;
  active: number;
  delayed: number;
  paused: boolean;
  /** Calls at once over all workers; null = no such limit. */
  globalConcurrency: number | null;
}

export type LaneLoad = Pick<LaneCounts, 'waiting' | 'active' | 'globalConcurrency'>;

export type Lanes = ReturnType<typeof createLanes>;

export function createLanes(connection: RedisConnection, keys: KeySpace) {
  const queues = createLaneQueues(connection, keys);
  const { queue } = queues;
  const run = prepareScripts(connection);
  const throttle = createLaneThrottle(queue);
  const { addAll, addFirst, enqueueFirst, enqueueOpen } = createOpenJobs(connection, keys, queues);

  /** Adds the job of a directive, to be taken now or after `delayMs`. Changes nothing while the directive has a job. */
  async function enqueue(lane: string, data: JobData, delayMs = 0): Promise<void> {
    const delay = delayMs > 0 ? { delay: delayMs } : {};
    const id = jobId(data.request_id, data.id);
    if (queues.scriptedBase(lane) === null && (await isKept(lane, id))) await queue(lane).remove(id);
    await queue(lane).add(JOB_NAME, data, { jobId: id, ...jobOptionsOf(data), ...delay });
  }

  /**
   * Replaces the job of a directive that is due and not taken: the job may belong to a dead worker, or be delayed by a wrong
   * clock. A job that waits in its lane stays, and so does one that a living worker holds. `evenEnded`: a worker has something to do for it
   * after its end.
   */
  async function requeue(lane: string, data: JobData, { evenEnded = false } = {}): Promise<void> {
    const id = jobId(data.request_id, data.id);
    const state = await queue(lane).getJobState(id);
    if (state === 'waiting' || state === 'prioritized') return;
    // While a worker holds the job's lock, BullMQ refuses to remove it, and adding it again changes nothing.
    if (state !== 'unknown') await queue(lane).remove(id);
    // @guard job-of-left-task
    await (evenEnded ? addFirst : enqueueFirst)(lane, data);
  }

  /**
   * Takes the job of an ended directive out of the queue; a running one stays with its worker, and a failed one is kept. Most have none any
   * more, and BullMQ walks through all that waits to find that out. `failure`: asked for type and message of the error in which the directive
   * ended, with which its job is kept as failed; null: it succeeded. Default: it is removed.
   */
  async function removeJob(
    lane: string,
    requestId: string,
    directiveId: string,
    failure?: () => Promise<string | null>,
  ): Promise<void> {
    const id = jobId(requestId, directiveId);
    const isThere = (await connection.exists(queue(lane).toKey(id))) === 1;
    if (!isThere || (await isKept(lane, id))) return;
    const base = queues.failingBase(lane);
    const reason = base === null ? null : ((await failure?.()) ?? null);
    if (base === null || reason === null) await queue(lane).remove(id);
    else await run('job-fail', [base], [id, reason]);
  }

  /** Writes into the job of a directive which attempt runs: BullMQ gives the job of a dead worker on as it was. */
  async function noteAttempt(lane: string, { request_id, id }: JobData, attempt: number): Promise<void> {
    const job = await queue(lane).getJob(jobId(request_id, id));
    await job?.updateData({ ...job.data, attempt });
  }

  async function isKept(lane: string, id: string): Promise<boolean> {
    return (await connection.zscore(queue(lane).toKey('failed'), id)) !== null;
  }

  /** Directives of the lane that wait to be taken. */
  async function queued(lane: string): Promise<number> {
    const jobs = await queue(lane).getJobCounts('wait', 'prioritized', 'delayed');
    return (jobs['wait'] ?? 0) + (jobs['prioritized'] ?? 0) + (jobs['delayed'] ?? 0);
  }

  /** As `counts`, in one cheap question. */
  async function load(lane: string): Promise<LaneLoad> {
    const [jobs, globalConcurrency] = await Promise.all([
      queue(lane).getJobCounts('wait', 'prioritized', 'active'),
      queue(lane).getGlobalConcurrency(),
    ]);
    const waiting = (jobs['wait'] ?? 0) + (jobs['prioritized'] ?? 0);
    return { waiting, active: jobs['active'] ?? 0, globalConcurrency };
  }

  async function counts(lane: string): Promise<LaneCounts> {
    const opened = queue(lane);
    const [jobs, paused, globalConcurrency] = await Promise.all([
      opened.getJobCounts('wait', 'prioritized', 'active', 'delayed'),
      opened.isPaused(),
      opened.getGlobalConcurrency(),
    ]);
    const waiting = (jobs['wait'] ?? 0) + (jobs['prioritized'] ?? 0);
    return {
      waiting,
      active: jobs['active'] ?? 0,
      delayed: jobs['delayed'] ?? 0,
      paused,
      globalConcurrency,
    };
  }

  return {
    enqueue,
    requeue,
    enqueueFirst,
    enqueueOpen,
    enqueueAll: addAll,
    removeJob,
    noteAttempt,
    queued,
    load,
    counts,
    ...createLaneAges(connection, keys, queue),
    ...throttle,
    scriptedBase: queues.scriptedBase,
    /** Lists these lanes as in use, also while they are empty. */
    note: queues.note,
    forgetIdle: queues.forgetIdle,
    close: queues.close,
  };
}

function createLaneAges(
  connection: RedisConnection,
  keys: Pick<KeySpace, 'limits'>,
  queueOf: (lane: string) => Pick<Queue, 'getJobs'>,
) {
  return {
    /** When the job that waits longest was made, milliseconds since the epoch; null: none waits. */
    async oldestAt(lane: string): Promise<number | null> {
      const [job] = await queueOf(lane).getJobs(['wait', 'prioritized'], 0, 0, true);
      return job === undefined || !Number.isFinite(job.timestamp) ? null : job.timestamp;
    },
    /** How long none of a provider's models is asked, milliseconds; 0 = they are asked. */
    async coolsForMs(provider: string): Promise<number> {
      const [, block] = keys.limits({ provider, model: '' });
      return Math.max(0, await connection.pttl(block));
    },
  };
}
