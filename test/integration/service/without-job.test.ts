/** Calls over HTTP to a process of all roles: it executes them itself, and its lanes get no job.
 *  It must see what Redis is sent, not what is left afterwards. */
import { Queue } from 'bullmq';
import { expect, test } from 'vitest';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { startService } from '../../support/running-service.ts';
import { watchCommands } from '../../support/sent-commands.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

const directive = { type: 'tool_exec', tool_name: 'peer.echo', arguments: { text: 'x' } };

async function call(url: string, waitMs: number): Promise<unknown> {
  const answer = await fetch(`${url}/v1/directives?wait_ms=${waitMs}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(directive),
  });
  return answer.json();
}

test('a call that this process can execute needs no job; in a lane that somebody has paused it gets one, and waits', async () => {
  await using service = await startService({ redisUrl: redis.url });
  const enqueued: string[] = [];
  const endWatch = await watchCommands(redis.url, (line) => {
    if (/ "LPUSH" "[^"]*:tool\.peer:(?:wait|paused)"/i.test(line)) enqueued.push(line);
  });
  const queue = new Queue('tool.peer', {
    connection: { host: '127.0.0.1', port: redis.port },
    prefix: lanePrefix(service.prefix, 'tool.peer'),
  });
  try {
    const ended = { directives: [{ result: { data: { result: { ok: true } } } }] };
    expect(await call(service.url, 20_000)).toMatchObject(ended);
    await queue.pause();
    expect(enqueued).toEqual([]);
    // That nobody has paused it is asked for once a second.
    const next = async (): Promise<number> => {
      await call(service.url, 0);
      return enqueued.length;
    };
    await expect.poll(next, { timeout: 20_000, interval: 300 }).toBeGreaterThan(0);
    expect(await queue.getJobCounts('active')).toMatchObject({ active: 0 });
  } finally {
    await queue.close();
    endWatch();
  }
});
