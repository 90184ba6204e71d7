/** A producer that knows BullMQ and the documented name and prefix of the queue, and nothing else of the service.
 *  It must not import anything of src. */
import type { EventEmitter } from 'node:events';
import { FlowProducer, type Job, Queue, QueueEvents } from 'bullmq';

export interface Producer extends AsyncDisposable {
  readonly queue: Queue;
  readonly events: QueueEvents;
  readonly flows: FlowProducer;
  /** The return value of the job, when it has completed. */
  returned(job: Job): Promise<Record<string, unknown>>;
  /** The error envelope of the job, when it has failed. */
  failed(job: Job): Promise<Record<string, unknown>>;
}

interface Place {
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
}

export async function startProducer({ port, ...login }: Place, installation: string): Promise<Producer> {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null, ...login };
  const place = { connection, prefix: `{${installation}:queue}` };
  const queue = new Queue('directives', place);
  const events = new QueueEvents('directives', place);
  const flows = new FlowProducer(place);
  // Each job that is waited for listens.
  for (const emitter of [queue, events] as EventEmitter[]) emitter.setMaxListeners(0);
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady(), flows.waitUntilReady()]);
  return {
    queue,
    events,
    flows,
    returned: async (job) => (await job.waitUntilFinished(events)) as Record<string, unknown>,
    failed: async (job) => {
      const failure: unknown = await job.waitUntilFinished(events).then(
        () => null,
        (error: unknown) => error,
      );
      if (!(failure instanceof Error)) throw new Error('the job has completed');
      return JSON.parse(failure.message) as Record<string, unknown>;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([queue.close(), events.close(), flows.close()]);
    },
  };
}
