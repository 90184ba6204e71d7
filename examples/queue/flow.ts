/** A flow: two tool calls as children in the queue `directives`, and a parent in a queue of this program that reads their results.
 *  REDIS_URL names the Redis of a running service. */
import { FlowProducer, QueueEvents, Worker } from 'bullmq';

const place = {
  connection: { url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379', maxRetriesPerRequest: null },
  prefix: '{adjutant:queue}',
};

const sum = (a: number, b: number) => ({
  name: 'sum',
  queueName: 'directives',
  data: { type: 'tool_exec', tool_name: 'everything.get-sum', arguments: { a, b } },
});

const worker = new Worker<unknown, string[]>(
  'reports',
  async (job) => {
    const results = await job.getChildrenValues<{ payload: string }>();
    return Object.values(results)
      .map(({ payload }) => payload)
      .toSorted();
  },
  place,
);
const flows = new FlowProducer(place);
const events = new QueueEvents('reports', place);

const { job } = await flows.add({ name: 'report', queueName: 'reports', children: [sum(2, 3), sum(20, 30)] });
console.log(await job.waitUntilFinished(events));
await Promise.all([worker.close(), flows.close(), events.close()]);
