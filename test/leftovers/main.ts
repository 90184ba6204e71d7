/** The long form of the leftovers test: `npm run test:leftovers -- [requests]`, 100 000 by default.
 *  It must never exit 0 when anything is left. */
import { leftoversOf } from '../support/leftover-load.ts';
import { startRedis } from '../support/redis.ts';

const DEFAULT_REQUESTS = 100_000;
const MOST_SHOWN = 50;

const requests = Number(process.argv[2] ?? DEFAULT_REQUESTS);
const redis = await startRedis();
const startedAt = performance.now();
const { before, left } = await leftoversOf(redis.url, requests);
const seconds = Math.round((performance.now() - startedAt) / 1_000);
await redis.stop();
const lines = [
  `${requests} requests in ${seconds} s: ${before} keys while they were readable, ${left.length} left`,
  ...left.slice(0, MOST_SHOWN),
];
process.stdout.write(`${lines.join('\n')}\n`);
process.exitCode = left.length === 0 ? 0 : 1;
