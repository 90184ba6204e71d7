/** Limits by key under kills: of workers that hold them, by SIGKILL and by SIGSTOP past their lease. `FLOW_FAULTS`: how many.
 *  It must never take the service's word for what ran at once: the tool counts. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { keySpace } from '../../src/store/keys.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis/connection.ts';
import { untilHolds } from '../support/eventually.ts';
import { type AdjutantProcess, type Installation, install } from '../support/installation.ts';
import { startKeyedServer } from '../support/keyed-server.ts';

const FAULTS = Number(process.env['FLOW_FAULTS'] ?? 3);
const LEASE_MS = 1_000;
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
/** Calls of each key for each fault. */
const OF_KEY = 10;
const LIMIT = 2;
const LANE = 'tool.keyed';
/** Much shorter than a lease: the tool has answered before a lost slot is given on. */
const CALL_MS = 60;
/** With the starts of processes on a busy machine. */
const LONGEST_MS = 60_000 + FAULTS * 10_000;

async function leftInGate({ redis, prefix }: Installation): Promise<string[]> {
  const connection = connectRedis(redis.url, 'commands');
  const name = keySpace(prefix).gate(LANE);
  const found = await connection.keys(`${name.replaceAll(/[{}]/g, '?')}*`);
  await closeRedis(connection);
  return found.map((key) => key.slice(name.length)).filter((key) => !key.startsWith('starts:'));
}

/** By key in turns. */
function callsOf(fault: number) {
  return Array.from({ length: KEYS.length * OF_KEY }, (_, n) => {
    const key = KEYS[n % KEYS.length] ?? '';
    const id = `c${fault}.${n}`;
    return {
      type: 'tool_exec' as const,
      tool_name: 'keyed.work',
      request_id: `flow-${fault}`,
      id,
      arguments: { key, label: id, ms: CALL_MS },
      concurrency: { key, limit: LIMIT },
    };
  });
}

test(
  'as many calls of a key as it allows are under way, whichever worker is killed or frozen; each ends, and nothing is held',
  async () => {
    await using server = await startKeyedServer();
    await using installation = await install({
      config: {
        mcpServers: { keyed: { url: server.url, lane: { concurrency: 4 } } },
        worker: { lease_ms: LEASE_MS },
      },
    });
    const client = createHttpClient({ baseUrl: (await installation.start('api')).url });
    const start = (): Promise<AdjutantProcess> => installation.start('worker');
    const workers = await Promise.all([start(), start(), start()]);
    const within = (check: () => void | Promise<void>): Promise<void> => untilHolds(check);
    const begun = (more: number): Promise<void> => {
      const count = server.calls.length + more;
      return within(() => expect(server.calls.length).toBeGreaterThanOrEqual(count));
    };
    const calls = Array.from({ length: FAULTS }, (_, fault) => callsOf(fault));
    for (const [fault, batch] of calls.entries()) {
      await client.submit(batch);
      await begun(10);
      const worker = workers[fault % workers.length] as AdjutantProcess;
      if (fault % 2 === 1) {
        // For longer than its lease: others go on with what it had.
        process.kill(worker.pid, 'SIGSTOP');
        await delay(1.5 * LEASE_MS);
        process.kill(worker.pid, 'SIGCONT');
      } else {
        await worker.kill9();
        if (fault + workers.length < FAULTS) workers[fault % workers.length] = await start();
      }
    }
    const ended = async (): Promise<void> => {
      for (const fault of calls.keys()) {
        const view = await client.request(`flow-${fault}`);
        expect(view?.directives.filter(({ status }) => status !== 'succeeded').map(({ id }) => id)).toEqual(
          [],
        );
      }
    };
    await within(ended);
    expect(Math.max(...server.calls.map(({ underWay }) => underWay))).toBeLessThanOrEqual(LIMIT);
    expect(new Set(server.calls.map(({ label }) => label)).size).toBe(calls.flat().length);
    await within(async () => expect(await leftInGate(installation)).toEqual([]));
  },
  LONGEST_MS,
);
