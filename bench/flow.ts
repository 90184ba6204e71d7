/** `node --conditions=adjutant-source bench/flow.ts [directives]`: what a directive costs that passes the gate of its lane, beside one that does not.
 *  It must not measure a tool: the server answers at once. */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { openKeyedLane } from './keyed-lane.ts';
import { processorTimeMs } from './processor-time.ts';

const DEFAULT_COUNT = 2_000;
const BATCH = 200;
const ROUNDS = 3;
const MANY_KEYS = 50;
const count = Number(process.argv[2] ?? DEFAULT_COUNT);

await using lane = await openKeyedLane({ concurrency: 16 });
const { client, redisPid } = lane;

type Fields = (nth: number) => Readonly<Record<string, unknown>>;

const SORTS: Readonly<Record<string, Fields>> = {
  plain: () => ({}),
  'its turn only': () => ({ priority: 4 }),
  'a limit with room': () => ({ concurrency: { key: 'wide', limit: 1_000 } }),
  'a limit of 2 under each of 50 keys': (nth) => ({
    concurrency: { key: `k${nth % MANY_KEYS}`, limit: 2 },
  }),
};

function callsOf(request_id: string, fields: Fields) {
  return Array.from({ length: count }, (_, nth) => ({
    type: 'tool_exec' as const,
    tool_name: 'keyed.work',
    request_id,
    id: `c${nth}`,
    arguments: { key: `k${nth % MANY_KEYS}`, label: '' },
    ...fields(nth),
  }));
}

/** Milliseconds of time, and of Redis' processor, for each directive. */
async function measure(fields: Fields): Promise<{ ms: number; redisMs: number }> {
  const request = `bench-${randomUUID()}`;
  const calls = callsOf(request, fields);
  const [begunAt, redisAt] = [performance.now(), processorTimeMs(redisPid)];
  for (let first = 0; first < count; first += BATCH) await client.submit(calls.slice(first, first + BATCH));
  for await (const _signal of client.signals(request));
  const ms = (performance.now() - begunAt) / count;
  return { ms, redisMs: (processorTimeMs(redisPid) - redisAt) / count };
}

for (let round = 0; round < ROUNDS; round += 1)
  for (const [sort, fields] of Object.entries(SORTS)) {
    const { ms, redisMs } = await measure(fields);
    if (round > 0)
      process.stdout.write(
        `${sort}: ${Math.round(1_000 / ms)} a second, ${Math.round(redisMs * 1_000)} µs of Redis each\n`,
      );
  }
