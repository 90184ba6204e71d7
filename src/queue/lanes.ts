// The lanes: one BullMQ queue for each MCP server, model provider and the runs.
// Must never decide whether a directive runs; it only jobs for it.
import { Queue } from 'bullmq';
import type { RedisConnection } from '../redis/connection.ts';
import { jobId, type JobData } from './job.ts';
import { createLaneRegistry, lanePrefix } from './lane-registry.ts';

/** Nobody listens to BullMQ's own events, so their stream is kept short. */
const EVENT_STREAM_ENTRIES = 100;
const JOB_NAME = 'directive';
/** A rate that nothing reaches: present only so that pauses are honoured. */
const NO_RATE = 1_000_000;

/** Jobs of a lane by what they wait for. */
export interface LaneCounts {
  waiting: number;
  active: number;
  delayed: number;
  paused: boolean;
  /** Calls at once over all workers; null = no such limit. */
  globalConcurrency: number | null;
  workers: number;
}

export type Lanes = ReturnType<typeof createLanes>;

export function createLanes(connection: RedisConnection, prefix: string) {
  const queues = new Map<string, Queue>();
  const registry = createLaneRegistry(connection, prefix);
  /** Until when a lane is paused, as far as this process paused it; milliseconds since the epoch. */
  const pausedUntil = new Map<string, number>();

  function queue(lane: string): Queue {
    const known = queues.get(lane);
    const isUsable = known !== undefined && !registry.mayBeGone(lane);
    // Before the lane has a key.
    registry.note([lane]);
    if (isUsable) return known;
    // Opening it writes what others may have removed.
    known?.close().catch(() => {});
    const opened = new Queue(lane, {
      connection,
      prefix: lanePrefix(prefix, lane),
      streams: { events: { maxLen: EVENT_STREAM_ENTRIES } },
      skipWaitingForReady: true,
      // BullMQ asks once for the version, and a queue whose question got no answer refuses everything ever after.
      skipVersionCheck: true,
    });
    opened.on('error', () => {});
    queues.set(lane, opened);
    return opened;
  }

  /** Rings for a directive, now or after `delayMs`; ringing again while its job exists changes nothing. */
  async function enqueue(lane: string, data: JobData, delayMs = 0): Promise<void> {
    const delay = delayMs > 0 ? { delay: delayMs } : {};
    await queue(lane).add(JOB_NAME, data, { jobId: jobId(data.request_id, data.id), ...delay });
  }

  /**
   * Rings for a directive that is due and nobody comes for: its job may lie where a worker died, or wait for an instant by a
   * wrong clock. One that waits in its lane stays there, one that a living worker holds stays with it.
   */
  async function requeue(lane: string, data: JobData): Promise<void> {
    const id = jobId(data.request_id, data.id);
    const state = await queue(lane).getJobState(id);
    if (state === 'waiting' || state === 'prioritized') return;
    // Refused while BullMQ's lock holds; then adding it changes nothing either.
    await queue(lane).remove(id);
    await queue(lane).add(JOB_NAME, data, { jobId: id, lifo: true });
  }

  async function enqueueAll(lane: string, jobs: readonly JobData[]): Promise<void> {
    await queue(lane).addBulk(
      jobs.map((data) => ({ name: JOB_NAME, data, opts: { jobId: jobId(data.request_id, data.id) } })),
    );
  }

  /** Takes the job of an ended directive out of the queue; a running one stays with its worker. */
  async function removeJob(lane: string, requestId: string, directiveId: string): Promise<void> {
    await queue(lane).remove(jobId(requestId, directiveId));
  }

  async function setGlobalConcurrency(lane: string, limit: number | null): Promise<void> {
    if (limit === null) await queue(lane).removeGlobalConcurrency();
    else await queue(lane).setGlobalConcurrency(limit);
  }

  /** How many directives start in a period over all workers; null = as many as there are. */
  async function setRate(lane: string, rate: { max: number; per_ms: number } | null): Promise<void> {
    const opened = queue(lane);
    if (rate !== null) await opened.setGlobalRateLimit(rate.max, rate.per_ms);
    // Workers say each minute that a lane has no rate: a pause that one of them asked for stands.
    else if ((await opened.getGlobalRateLimit())?.max !== NO_RATE) await opened.removeGlobalRateLimit();
  }

  /** Nobody takes a job of the lane for `ms`. BullMQ looks at the pause only where a rate is set. */
  async function pauseFor(lane: string, ms: number): Promise<void> {
    pausedUntil.set(lane, Date.now() + ms);
    const opened = queue(lane);
    if ((await opened.getGlobalRateLimit()) === null) await opened.setGlobalRateLimit(NO_RATE, 1_000);
    await opened.rateLimit(ms);
  }

  /** Whether this process has paused the lane; of the pauses of others BullMQ knows. */
  function isPaused(lane: string): boolean {
    return (pausedUntil.get(lane) ?? 0) > Date.now();
  }

  /** Directives of the lane that wait to be taken. */
  async function queued(lane: string): Promise<number> {
    const jobs = await queue(lane).getJobCounts('wait', 'prioritized', 'delayed');
    return (jobs['wait'] ?? 0) + (jobs['prioritized'] ?? 0) + (jobs['delayed'] ?? 0);
  }

  async function counts(lane: string): Promise<LaneCounts> {
    const opened = queue(lane);
    const [jobs, paused, globalConcurrency, workers] = await Promise.all([
      opened.getJobCounts('wait', 'prioritized', 'active', 'delayed'),
      opened.isPaused(),
      opened.getGlobalConcurrency(),
      opened.getWorkersCount(),
    ]);
    const waiting = (jobs['wait'] ?? 0) + (jobs['prioritized'] ?? 0);
    return {
      waiting,
      active: jobs['active'] ?? 0,
      delayed: jobs['delayed'] ?? 0,
      paused,
      globalConcurrency,
      workers,
    };
  }

  async function close(): Promise<void> {
    await Promise.allSettled([...queues.values()].map((opened) => opened.close()));
    queues.clear();
  }

  return {
    enqueue,
    requeue,
    enqueueAll,
    removeJob,
    setGlobalConcurrency,
    setRate,
    pauseFor,
    isPaused,
    queued,
    counts,
    /** Says that these lanes are used, whether or not anything waits in them. */
    note: registry.note,
    forgetIdle: registry.forgetIdle,
    close,
  };
}
