/** The baseline: add a job to plain BullMQ and await its `completed` event.
 *  It must cost BullMQ nothing extra: one listener for all jobs, no polling, no results. */
import { Queue, QueueEvents } from 'bullmq';
import { v7 as uuidv7 } from 'uuid';
import type { Target, Transport } from '../transport.ts';

const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 };

export async function openBullmq({ redisPort, queue: name }: Target): Promise<Transport> {
  const connection = { host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null };
  const queue = new Queue(name, { connection });
  const events = new QueueEvents(name, { connection });
  const waiting = new Map<string, () => void>();
  events.on('completed', ({ jobId }) => waiting.get(jobId)?.());
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
  return {
    operation: async () => {
      const jobId = uuidv7();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(jobId, resolve);
      await queue.add('noop', noopData(jobId), { ...JOB_OPTIONS, jobId });
      await promise;
      waiting.delete(jobId);
    },
    close: async () => void (await Promise.all([queue.close(), events.close()])),
  };
}

/** As much data as a directive of a no-op tool has. */
function noopData(id: string) {
  return { type: 'tool_exec', id, request_id: id, tool_name: 'noop.noop', arguments: {}, metadata: {} };
}
