/** A process that has closed its connections ends, with or without Redis.
 *  It must not end because something ends it. */
import { describe, expect, test } from 'vitest';
import { freePort, spawnNode } from '../../../support/process.ts';
import { startRedis } from '../../../support/redis.ts';

const IMPORT = `import { closeRedis, connectRedis } from '${new URL('../../../../src/platform/redis/connection.ts', import.meta.url).href}';`;

const CODE = `
  ${IMPORT}
  const [url, way] = process.argv.slice(1);
  const connection = connectRedis(url, 'commands');
  const another = connection.duplicate();
  another.on('error', () => {});
  // Like BullMQ when it closes: a blocking command waits in the queue, and QUIT waits behind it.
  another.blpop('never', 0).catch(() => {});
  await new Promise((resolve) => another.once('error', resolve));
  another.quit().catch(() => {});
  await closeRedis(connection);
`;

describe('while Redis is away', () => {
  test.each(['redis', 'redis+sentinel', 'redis+cluster'])('on %s://', async (scheme) => {
    const port = await freePort();
    const child = spawnNode(
      ['--input-type=module', '-e', CODE, `${scheme}://127.0.0.1:${port}/mymaster`],
      {},
    );
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });
});

const ENDED_BEFORE = `
  ${IMPORT}
  const connection = connectRedis(process.argv[1], 'commands');
  const another = connection.duplicate();
  await Promise.all([connection.ping(), another.ping()]);
  const ended = new Promise((resolve) => another.once('end', resolve));
  another.disconnect();
  await ended;
  await closeRedis(connection);
  console.log(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length + ' timers');
`;

test('a duplicate that has ended before is left alone: disconnected once more, it would hold the process for 2 s', async () => {
  await using redis = await startRedis();
  const child = spawnNode(['--input-type=module', '-e', ENDED_BEFORE, redis.url], {});
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(child.lines).toEqual(['0 timers']);
});
