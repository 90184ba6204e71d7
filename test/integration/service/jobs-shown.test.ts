/** The jobs of a running service in a real Bull Board: what an operator sees of a call before, while, between and after its attempts.
 *  It must never read a lane in another way than BullMQ's own queue does. */
import { Queue } from 'bullmq';
import { expect, test } from 'vitest';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import type { Roles } from '../../../src/service/roles/roles.ts';
import { openBoard } from '../../support/bull-board.ts';
import { eventually } from '../../support/eventually.ts';
import { startService } from '../../support/running-service.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

const LANE = 'tool.peer';
const config = { mcpServers: { peer: { ...ownServerEntry('legacy-peer.ts'), lane: { concurrency: 1 } } } };
const retry = {
  max_retries: 4,
  retry_backoff_ms: 600_000,
  backoff: 'exponential',
  max_backoff_ms: 900_000,
  jitter: 0.25,
};
const deadline_ms = 3_600_000;

interface Shown {
  data: Record<string, unknown>;
  opts: Record<string, unknown>;
  failedReason?: string;
}

async function submit(url: string, directive: object): Promise<number> {
  const sent = { type: 'tool_exec', effect: 'read', deadline_ms, ...directive };
  const answer = await fetch(`${url}/v1/directives`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(sent),
  });
  return answer.status;
}

/** Services with these roles; the first one has the API. */
const DEPLOYMENTS: readonly (readonly [string, readonly Roles[]])[] = [
  ['all roles in one process', [{ api: true, engine: true, worker: true }]],
  [
    'roles apart',
    [
      { api: true, engine: false, worker: false },
      { api: false, engine: false, worker: true },
    ],
  ],
];

test.for(DEPLOYMENTS)(
  '%s: a board shows tool, timeout, retries and backoff of each job',
  async ([, roles]) => {
    await using stack = new AsyncDisposableStack();
    const [first, ...others] = roles;
    const service = stack.use(await startService({ redisUrl: redis.url, roles: first as Roles, config }));
    for (const each of others)
      stack.use(await startService({ redisUrl: redis.url, roles: each, config, prefix: service.prefix }));
    const connection = { host: '127.0.0.1', port: redis.port };
    const queue = new Queue(LANE, { connection, prefix: lanePrefix(service.prefix, LANE) });
    stack.defer(async () => queue.close());
    const ask = openBoard(queue);
    const shown = async (status: string): Promise<readonly Shown[]> => {
      const query = { activeQueue: queue.name, status, page: '1', jobsPerPage: '10' };
      const { queues } = (await ask('get', '/api/queues', query)) as { queues: { jobs: Shown[] }[] };
      return queues[0]?.jobs ?? [];
    };

    const secret = 'sk-arguments-of-a-caller';
    const error = { tool_name: 'peer.say', arguments: { texts: [secret], isError: true } };
    expect(await submit(service.url, { ...error, id: 'bad', request_id: 'r', timeout_ms: 30_000 })).toBe(202);
    await eventually(() => shown('failed')).toMatchObject([
      {
        data: {
          request_id: 'r',
          id: 'bad',
          type: 'tool_exec',
          tool: 'peer.say',
          timeout_ms: 30_000,
          attempt: 1,
        },
        failedReason: expect.stringMatching(/^tool_error: /),
      },
    ]);
    const waits = { tool_name: 'peer.wait', arguments: { secret }, ...retry };
    expect(await submit(service.url, { ...waits, timeout_ms: 100 })).toBe(202);
    const facts = { type: 'tool_exec', tool: 'peer.wait', ...retry, priority: 4 };
    const opts = { attempts: 5, backoff: { type: 'exponential', delay: 600_000, jitter: 0.25 } };
    await eventually(() => shown('delayed')).toMatchObject([
      { data: { ...facts, timeout_ms: 100, attempt: 2 }, opts },
    ]);
    expect(await submit(service.url, { ...waits, timeout_ms: 600_000 })).toBe(202);
    await eventually(() => shown('active')).toMatchObject([
      { data: { ...facts, timeout_ms: 600_000, attempt: 1 }, opts },
    ]);
    const startedAt = Date.now();
    expect(await submit(service.url, { ...waits, timeout_ms: 700_000 })).toBe(202);
    const [waiting] = await shown('waiting');
    expect(waiting).toMatchObject({ data: { ...facts, timeout_ms: 700_000, attempt: 1 }, opts });
    expect(waiting?.data).toMatchObject({ traceparent: expect.stringMatching(/^00-/) });
    expect(Math.abs(Number(waiting?.data['deadline_at']) - startedAt - deadline_ms)).toBeLessThan(60_000);
    for (const status of ['active', 'delayed', 'waiting', 'failed'])
      expect(JSON.stringify((await shown(status)).map(({ data }) => data))).not.toContain(secret);
  },
);
