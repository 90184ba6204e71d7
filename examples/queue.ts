/** The same interface without the HTTP hop, for a program that may touch Redis.
 *  Run it beside `npm start`: node --conditions=adjutant-source examples/queue.ts */
import { createDirectClient, privateRedisUrl } from 'adjutant/queue';

/** `npm start` brings a Redis of its own, unless REDIS_URL names one; so it is for whoever runs in its folder. */
const redisUrl = process.env['REDIS_URL'] ?? (await privateRedisUrl('.'));
if (redisUrl === null) throw new Error('No Redis: set REDIS_URL, or run `npm start` in this folder.');

const client = await createDirectClient({ redisUrl });

const ended = await client.execute({
  type: 'tool_exec',
  tool_name: 'everything.echo',
  arguments: { message: 'straight through the queue' },
});

console.log(ended.type, ended.data);
await client.close();
