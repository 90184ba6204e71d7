/** Limits by key under kills: of workers that hold them, by SIGKILL and by SIGSTOP past their lease.
 *  It must never take the service's word for what ran at once: the tool counts. */
import { expect, test, vi } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { keySpace } from '../../src/journal/keys.ts';
import { closeRedis, connectRedis } from '../../src/redis/connection.ts';
import { type AdjutantProcess, type Installation, install } from '../support/installation.ts';
import { startKeyedServer } from '../support/keyed-server.ts';

const LEASE_MS = 1_000;
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const OF_KEY = 30;
const LIMIT = 2;
const LANE = 'tool.keyed';
/** Much shorter than a lease: the tool has answered before a lost slot is given on. */
const CALL_MS = 60;

async function leftInGate({ redis, prefix }: Installation): Promise<string[]> {
  const connection = connectRedis(redis.url, 'commands');
  const name = keySpace(prefix).gate(LANE);
  const found = await connection.keys(`${name.replaceAll(/[{}]/g, '?')}*`);
  await closeRedis(connection);
  return found.map((key) => key.slice(name.length)).filter((key) => !key.startsWith('starts:'));
}

/** A call every few; what comes between them is by key in turns. */
function callsOf() {
  return Array.from({ length: KEYS.length * OF_KEY }, (_, n) => {
    const key = KEYS[n % KEYS.length] ?? '';
    const id = `c${String(n).padStart(3, '0')}`;
    return {
      type: 'tool_exec' as const,
      tool_name: 'keyed.work',
      request_id: 'flow',
      id,
      arguments: { key, label: id, ms: CALL_MS },
      concurrency: { key, limit: LIMIT },
    };
  });
}

test('as many calls of a key as it allows are under way, whichever worker is killed or frozen; each ends, and nothing is held', async () => {
  await using server = await startKeyedServer();
  await using installation = await install({
    config: {
      mcpServers: { keyed: { url: server.url, lane: { concurrency: 4 } } },
      worker: { lease_ms: LEASE_MS },
    },
  });
  const api = await installation.start('api');
  const client = createHttpClient({ baseUrl: api.url });
  const workers: AdjutantProcess[] = await Promise.all([1, 2, 3].map(() => installation.start('worker')));
  const calls = callsOf();
  await client.submit(calls);
  const begun = (count: number): Promise<void> =>
    vi.waitFor(() => expect(server.calls.length).toBeGreaterThanOrEqual(count), {
      timeout: 30_000,
      interval: 5,
    });
  await begun(15);
  await workers[0]?.kill9();
  await begun(30);
  // Its lease runs out while it is frozen, and others go on with what it had.
  process.kill(workers[1]?.pid ?? 0, 'SIGSTOP');
  await begun(150);
  process.kill(workers[1]?.pid ?? 0, 'SIGCONT');
  await begun(155);
  await workers[2]?.kill9();
  const ended = async (): Promise<void> => {
    const view = await client.request('flow');
    expect(view?.directives.filter(({ status }) => status !== 'succeeded').map(({ id }) => id)).toEqual([]);
  };
  await vi.waitFor(ended, { timeout: 40_000, interval: 100 });
  expect(Math.max(...server.calls.map(({ underWay }) => underWay))).toBeLessThanOrEqual(LIMIT);
  expect(new Set(server.calls.map(({ label }) => label)).size).toBe(calls.length);
  await vi.waitFor(async () => expect(await leftInGate(installation)).toEqual([]), {
    timeout: 20_000,
    interval: 50,
  });
});
