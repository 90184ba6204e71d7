/** Three plain BullMQ jobs, one after the other: what a run of model, tool, model would be without anything kept.
 *  It must cost BullMQ nothing extra: one listener for all jobs, no polling, no results. */
import { Queue, QueueEvents } from 'bullmq';
import { v7 as uuidv7 } from 'uuid';
import type { Target, Transport } from '../transport.ts';

export const CHAIN_JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 };

/** Model, tool, model. */
export function chainQueues(queue: string): readonly [string, string, string] {
  return [`${queue}-1`, `${queue}-2`, `${queue}-3`];
}

export async function openChain({ redisPort, queue }: Target): Promise<Transport> {
  const connection = { host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null };
  const [first, , last] = chainQueues(queue);
  const beginning = new Queue(first, { connection });
  const ends = new QueueEvents(last, { connection });
  const waiting = new Map<string, () => void>();
  ends.on('completed', ({ jobId }) => waiting.get(jobId)?.());
  await Promise.all([beginning.waitUntilReady(), ends.waitUntilReady()]);
  return {
    operation: async () => {
      const jobId = uuidv7();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(jobId, resolve);
      await beginning.add('step', { run_id: jobId, query: 'go' }, { ...CHAIN_JOB_OPTIONS, jobId });
      await promise;
      waiting.delete(jobId);
    },
    close: async () => void (await Promise.all([beginning.close(), ends.close()])),
  };
}
