/** The worker of the baseline: plain BullMQ, an empty processor.
 *  It must use nothing of the product. Arguments: port of Redis, queue, concurrency. */
import { Worker } from 'bullmq';

const [port, queue = '', concurrency] = process.argv.slice(2);
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
const options = { connection, concurrency: Number(concurrency) };
const worker = new Worker(queue, async () => 0, options);
worker.on('error', (error) => console.error(error));
await worker.waitUntilReady();
console.log('ready');

process.once('SIGTERM', () => void worker.close());
