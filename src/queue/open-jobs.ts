// Adds the jobs of directives that may have ended since the last check: released from a gate, or enqueued again. Never
// leaves the job of an ended one: without a worker it would stay for ever.
import type { KeySpace } from '../store/keys.ts';
import type { DirectiveStatus } from '../store/request/records.ts';
import { prepareScripts } from '../store/scripts.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { jobId, type JobData, jobOptionsOf } from './job.ts';
import type { LaneQueues } from './lane-queues.ts';

export const JOB_NAME = 'directive';

const ENDED: ReadonlySet<string | null> = new Set<DirectiveStatus>(['succeeded', 'failed']);

export function createOpenJobs(
  connection: RedisConnection,
  keys: Pick<KeySpace, 'request'>,
  { queue, scriptedBase }: Pick<LaneQueues, 'queue' | 'scriptedBase'>,
) {
  const run = prepareScripts(connection);

  /** Before those that wait, whether it has ended or not. */
  async function addFirst(lane: string, data: JobData): Promise<void> {
    await queue(lane).add(JOB_NAME, data, {
      jobId: jobId(data.request_id, data.id),
      ...jobOptionsOf(data),
      lifo: true,
    });
  }

  /** Before those that wait. */
  async function enqueueFirst(lane: string, data: JobData): Promise<void> {
    const base = scriptedBase(lane);
    const id = jobId(data.request_id, data.id);
    if (base !== null)
      return void (await run(
        'job-add',
        [base],
        [id, JOB_NAME, JSON.stringify(data), JSON.stringify(jobOptionsOf(data)), Date.now(), 'first'],
      ));
    await addFirst(lane, data);
    // @guard first-job-looked-at
    await removeEnded(lane, [data]);
  }

  async function addAll(lane: string, jobs: readonly JobData[]): Promise<void> {
    await queue(lane).addBulk(
      jobs.map((data) => ({
        name: JOB_NAME,
        data,
        opts: { jobId: jobId(data.request_id, data.id), ...jobOptionsOf(data) },
      })),
    );
  }

  /** Behind those that wait. */
  async function enqueueOpen(lane: string, jobs: readonly JobData[]): Promise<void> {
    await addAll(lane, jobs);
    // @guard open-job-looked-at
    if (scriptedBase(lane) === null) await removeEnded(lane, jobs);
  }

  /** Removes jobs that BullMQ's own scripts have added without a check. A job that a worker has stays with it. */
  async function removeEnded(lane: string, jobs: readonly JobData[]): Promise<void> {
    await Promise.all(
      jobs.map(async ({ request_id: requestId, id }) => {
        const status = await connection.hget(keys.request(requestId)[0], `${id}|status`);
        if (ENDED.has(status)) await queue(lane).remove(jobId(requestId, id));
      }),
    );
  }

  return { addAll, addFirst, enqueueFirst, enqueueOpen };
}
