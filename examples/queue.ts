/** The same interface without the HTTP hop, for a program that may touch Redis.
 *  Run it beside a worker: REDIS_URL=… node --conditions=adjutant-source examples/queue.ts */
import { createDirectClient } from 'adjutant/queue';

const client = await createDirectClient({ redisUrl: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379' });

const ended = await client.execute({
  type: 'tool_exec',
  tool_name: 'everything.echo',
  arguments: { message: 'straight through the queue' },
});

console.log(ended.type, ended.data);
await client.close();
