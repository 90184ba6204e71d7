/** The baseline of runs: three queues of plain BullMQ, each job adding its successor to the next queue.
 *  It must use nothing of the product. Arguments: port of Redis, queue, concurrency. */
import { Queue, Worker } from 'bullmq';
import { CHAIN_JOB_OPTIONS, chainQueues } from './transports/chain.ts';

const [port, queue = '', concurrency] = process.argv.slice(2);
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
const names = chainQueues(queue);
const queues = names.map((name) => new Queue(name, { connection }));
const workers = names.map(
  (name, index) =>
    new Worker(
      name,
      async ({ id = '', data }) => {
        await queues[index + 1]?.add('step', data, { ...CHAIN_JOB_OPTIONS, jobId: id });
        return 0;
      },
      { connection, concurrency: Number(concurrency) },
    ),
);
for (const worker of workers) worker.on('error', (error) => console.error(error));
await Promise.all(workers.map((worker) => worker.waitUntilReady()));
console.log('ready');

process.once('SIGTERM', () => void Promise.all([...workers, ...queues].map((each) => each.close())));
