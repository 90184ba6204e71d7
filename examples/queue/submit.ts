/** Submits a tool call through the queue `directives` with BullMQ alone, and waits for its result.
 *  REDIS_URL names the Redis of a running service; a service that asks for keys gets ADJUTANT_API_KEY. */
import { Queue, QueueEvents } from 'bullmq';

const place = {
  connection: { url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379' },
  prefix: '{adjutant:queue}',
};
const token = process.env['ADJUTANT_API_KEY'];

const queue = new Queue('directives', place);
const events = new QueueEvents('directives', place);

const directive = { type: 'tool_exec', tool_name: 'everything.get-sum', arguments: { a: 2, b: 3 } };
const job = await queue.add(
  'sum',
  { ...directive, ...(token === undefined ? {} : { token }) },
  { attempts: 3, backoff: { type: 'exponential', delay: 200 } },
);

console.log(await job.waitUntilFinished(events));
await Promise.all([queue.close(), events.close()]);
